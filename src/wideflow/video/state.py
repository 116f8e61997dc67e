"""What tells two states of the same clips apart."""

from __future__ import annotations

from typing import Any

from wideflow.video.read import Video


def video_state(videos: tuple[Video, Video]) -> list[Any]:
    """What a fingerprint tells two states of the videos' files apart by, without reading them whole."""
    state: list[Any] = []
    for video in videos:
        for path in sorted(video.path.iterdir()) if video.path.is_dir() else [video.path]:
            status = path.stat()
            state.append([str(path.resolve()), status.st_size, status.st_mtime_ns])
        state.append(video.times)
    return state
