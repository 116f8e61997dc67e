"""Writing an ``.mp4``: H.264 pictures and an AAC sound track."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files import atomic_path

_BT709 = 1  # number of ITU-R BT.709 in the H.264 standard, for primaries, curve and matrix
_LIMITED = 1  # number of the 16..235 range
_AUDIO_CHUNK = 1024
_AUDIO_BITS = 128_000  # per second


def write_video(
    path: str | os.PathLike[str],
    frames: Iterable[NDArray[np.uint8]],
    fps: float,
    sound: NDArray[np.float32] | None = None,
    rate: int = 48000,
) -> None:
    """Write pictures, one after the other as they come, and the sound that goes with them.

    Parameters
    ----------
    path : path
        Of the ``.mp4`` file; written beside it first, so an interrupted run leaves the old file.
    frames : iterable of (H, W, 3) uint8
        RGB, all of one even size.
    fps : float
        Pictures per second.
    sound : (n,) float32, optional
        Mono, -1..1, starting with the first picture.
    rate : int
        Sound samples per second.

    Raises
    ------
    InputError
        No picture, pictures of odd or changing size.
    FileError
        The file cannot be written.
    """
    pictures = iter(frames)
    first = next(pictures, None)
    if first is None:
        raise InputError(f"there is no picture to write to '{path}'")
    height, width = first.shape[:2]
    if height % 2 or width % 2:
        raise InputError(f"H.264 needs an even width and height, not {width} x {height}; crop the pictures")
    with atomic_path(path) as temporary:
        try:
            with av.open(str(temporary), "w", format="mp4") as container:
                _write(container, chain([first], pictures), (height, width, 3), fps, sound, rate)
        except av.FFmpegError as error:
            raise FileError(f"cannot write '{path}': {error.strerror}") from error


def _write(
    container: Any,
    pictures: Iterable[NDArray[np.uint8]],
    shape: tuple[int, int, int],
    fps: float,
    sound: NDArray[np.float32] | None,
    rate: int,
) -> None:
    per_second = Fraction(fps).limit_denominator(1001)
    video = container.add_stream("libx264", rate=per_second, options={"crf": "15"})
    video.height, video.width = shape[:2]
    video.pix_fmt = "yuv420p"
    context = video.codec_context
    context.color_range = _LIMITED
    context.color_primaries = context.color_trc = context.colorspace = _BT709
    audio = container.add_stream("aac", rate=rate, layout="mono") if sound is not None else None
    if audio is not None:
        audio.bit_rate = _AUDIO_BITS
    heard = 0
    for i, picture in enumerate(pictures):
        if picture.shape != shape:
            raise InputError(f"all pictures of a video must have one size, not {shape} and {picture.shape}")
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        frame = frame.reformat(format="yuv420p", dst_colorspace=_BT709, dst_color_range=_LIMITED)
        frame.pts, frame.time_base = i, 1 / per_second
        container.mux(video.encode(frame))
        if sound is not None:
            until = min(len(sound), int((i + 1) / fps * rate))
            heard = _mux_sound(container, audio, sound, heard, until, rate)
    container.mux(video.encode())
    if sound is not None and audio is not None:
        _mux_sound(container, audio, sound, heard, len(sound), rate)
        container.mux(audio.encode())


def _mux_sound(
    container: Any, audio: Any, sound: NDArray[np.float32], start: int, stop: int, rate: int
) -> int:
    """Encode samples ``start`` .. ``stop`` in whole chunks; returns where to go on."""
    while start < stop and (stop - start >= _AUDIO_CHUNK or stop == len(sound)):
        chunk = sound[start : min(start + _AUDIO_CHUNK, stop)]
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(chunk[None], np.float32), "fltp", "mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, start, Fraction(1, rate)
        container.mux(audio.encode(frame))
        start += len(chunk)
    return start
