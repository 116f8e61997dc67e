"""The sound of a video as mono samples, piece by piece, in step with the pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from wideflow.video.container import open_container

_GAP = 0.02  # seconds by which time stamps may drift from the count of samples before they are believed
_LONGEST_GAP = 3600.0  # a longer one is a damaged time stamp


def has_sound(path: str | os.PathLike[str]) -> bool:
    """Whether the file has a sound track."""
    with open_container(path) as container:
        return bool(container.streams.audio)


def sound_chunks(path: str | os.PathLike[str], start: float, rate: int) -> Iterator[NDArray[np.float32]]:
    """Mono samples from time ``start`` on, in pieces of at most some seconds.

    Parameters
    ----------
    path : path
        Of the media file.
    start : float
        Time of the first sample in seconds of the container; silence where the sound begins later.
    rate : int
        Samples per second.

    Yields
    ------
    (n,) float32
        In -1..1. Gaps in the time stamps are filled with silence.
    """
    with open_container(path) as container:
        if not container.streams.audio:
            return
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="flt", layout="mono", rate=rate)
        place = 0  # samples given out so far
        for time, samples in _resampled(container, stream, resampler):
            if time is not None:
                missing = round((time - start) * rate) - place
                if missing < 0 and place == 0:
                    samples = samples[-missing:]
                elif abs(missing) > _GAP * rate and missing > 0:
                    for silence in _silence(min(missing, round(_LONGEST_GAP * rate)), rate):
                        place += len(silence)
                        yield silence
                elif place == 0 and missing > 0:
                    place += missing
                    yield np.zeros(missing, np.float32)
            if len(samples):
                place += len(samples)
                yield samples


def _resampled(
    container: Any, stream: Any, resampler: Any
) -> Iterator[tuple[float | None, NDArray[np.float32]]]:
    """Time in seconds and samples of every piece; pieces that cannot be decoded are left out."""
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                break
            frames = packet.decode()
        except av.FFmpegError:
            continue
        for frame in frames:
            for piece in resampler.resample(frame):
                yield piece.time, piece.to_ndarray()[0]
    for piece in resampler.resample(None):
        yield piece.time, piece.to_ndarray()[0]


def _silence(count: int, rate: int) -> Iterator[NDArray[np.float32]]:
    for begin in range(0, count, rate):
        yield np.zeros(min(rate, count - begin), np.float32)
