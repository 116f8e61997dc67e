"""A video file: what its packets say without decoding, and decoding from any frame on."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError

# A title that is not UTF-8 must not keep a video from being opened. From version 19 on PyAV always lets it
# pass, and no longer knows the option.
_ANY_TITLE: dict[str, Any] = {"metadata_errors": "replace"} if int(av.__version__.split(".")[0]) < 19 else {}


@dataclass(frozen=True, eq=False)
class PacketTable:
    """What the container says about its frames, in the order of presentation.

    Attributes
    ----------
    pts : (N,) int64
        Presentation time stamps, in units of the stream, strictly increasing.
    key : (N,) bool
        Decoding can start here.
    """

    pts: NDArray[np.int64]
    key: NDArray[np.bool_]


def open_container(path: str | os.PathLike[str]) -> Any:
    """Open a media file; every way in which this fails is a `FileError` of one sentence."""
    if not Path(path).exists():
        raise FileError(f"'{path}' does not exist; check the path")
    if Path(path).is_file() and Path(path).stat().st_size == 0:
        raise FileError(f"'{path}' is empty; copy the video again")
    try:
        return av.open(str(path), **_ANY_TITLE)
    except av.FFmpegError as error:
        raise FileError(
            f"'{path}' cannot be opened as a video ({_reason(error)}); it is cut short, damaged or of "
            "another format, so copy or export it again"
        ) from error


def video_stream(container: Any, path: str | os.PathLike[str]) -> Any:
    """The first stream of moving pictures; a cover picture of a song is none."""
    for stream in container.streams.video:
        if not stream.disposition & av.stream.Disposition.attached_pic:
            stream.thread_type = "AUTO"
            return stream
    if container.streams.audio:
        raise FileError(f"'{path}' holds sound but no video; give a video file")
    raise FileError(f"'{path}' holds no video; it is cut short, damaged or of another format")


def scan_packets(path: str | os.PathLike[str]) -> PacketTable:
    """Read all packets of the video stream without decoding them."""
    found: dict[int, bool] = {}
    with open_container(path) as container:
        stream = video_stream(container, path)
        step = _frame_ticks(stream)
        last = -step
        try:
            for packet in container.demux(stream):
                if packet.size == 0 or packet.is_discard:
                    continue
                # raw streams carry no times: their frames follow each other at the stream's rate
                stamp = packet.pts if packet.pts is not None else packet.dts
                last = last + step if stamp is None else int(stamp)
                found[last] = found.get(last, False) or bool(packet.is_keyframe)
        except av.FFmpegError:
            pass  # a file cut short: what came before counts
    if not found:
        raise FileError(f"'{path}' holds no frames; it is cut short or damaged, so copy it again")
    pts = np.array(sorted(found), np.int64)
    return PacketTable(pts, np.array([found[int(stamp)] for stamp in pts]))


def _frame_ticks(stream: Any) -> int:
    rate = stream.average_rate or stream.guessed_rate or 25
    return max(1, round(1 / (rate * stream.time_base))) if stream.time_base else 1


class Decoder:
    """Decodes one stream of a file, from any frame on; ``damaged`` counts what could not be decoded."""

    def __init__(self, path: str | os.PathLike[str], table: PacketTable) -> None:
        self._path, self._table = path, table
        self._container = open_container(path)
        self._stream = video_stream(self._container, path)
        self._frames = self._decode()
        self._next = 0  # index of the frame that comes next, at the earliest
        self.damaged = 0

    def close(self) -> None:
        self._frames.close()
        self._container.close()

    def frame(self, index: int) -> Any | None:
        """The frame with this index, or None where it cannot be decoded."""
        keys = np.flatnonzero(self._table.key[: index + 1])
        key = int(keys[-1]) if keys.size else 0
        jump = index < self._next or key > self._next
        if jump:
            self._seek(key)
        found = self._advance(index)
        if found is None and jump and keys.size > 1:
            # the container promised a key frame that is none; the one before it serves
            self._seek(int(keys[-2]))
            found = self._advance(index)
        return found

    def _advance(self, index: int) -> Any | None:
        """Decode on until the frame with this index."""
        wanted = int(self._table.pts[index])
        for frame in self._frames:
            stamp = self._stamp(frame)
            self._next = int(np.searchsorted(self._table.pts, stamp, side="right"))
            if stamp >= wanted:
                return frame if stamp == wanted else None
        self._next = len(self._table.pts)
        return None

    def _stamp(self, frame: Any) -> int:
        return int(frame.pts) if frame.pts is not None else int(self._table.pts[self._next])

    def _seek(self, index: int) -> None:
        self._frames.close()
        try:
            self._container.seek(int(self._table.pts[index]), stream=self._stream, backward=True)
        except av.FFmpegError:  # not seekable: begin again
            self._container.close()
            self._container = open_container(self._path)
            self._stream = video_stream(self._container, self._path)
        self._frames = self._decode()
        self._next = index

    def _decode(self) -> Generator[Any, None, None]:
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    return
                frames = packet.decode()
            except av.FFmpegError:
                self.damaged += 1
                if self.damaged > len(self._table.pts):
                    return
                continue
            for frame in frames:
                if frame.is_corrupt:
                    self.damaged += 1
                else:
                    yield frame


def _reason(error: av.FFmpegError) -> str:
    return (error.strerror or "unknown error").lower()
