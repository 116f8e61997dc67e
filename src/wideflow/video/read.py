"""Reading a video: true times, any frame at once, pictures one after the other in bounded memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.video.colour import frame_grey, frame_rgb
from wideflow.video.container import Decoder, open_container, scan_packets, video_stream
from wideflow.video.folder import list_pictures, read_picture
from wideflow.video.sound import has_sound, sound_chunks

_FIRST_TRIES = 100  # damaged frames at the beginning after which a video is given up


class Video:
    """A video file, or a folder of pictures; nothing but one frame is held in memory.

    Parameters
    ----------
    path : path
        Of a video file or of a folder with pictures.
    fps : float, optional
        Pictures per second of a folder; a file knows its own times.

    Attributes
    ----------
    path : pathlib.Path
    size : (int, int)
        Width and height in pixels, after the rotation that the phone noted.
    turned : bool
        It noted one, so that rows of the picture are no rows of the sensor.
    times : (N,) float64
        Seconds at which each frame is shown, the first at zero; exact also where the frame rate varies.
    has_sound : bool

    Raises
    ------
    FileError
        Missing, empty, damaged, without pictures, or of another format.
    InputError
        A folder without ``fps``, or a file with it.

    Notes
    -----
    Pictures come as (H, W, 3) RGB, uint8 or float32 in 0..1, HDR tone mapped to SDR. A frame that is
    damaged is left out with a warning. Not for use by several threads at once.
    """

    def __init__(self, path: str | os.PathLike[str], fps: float | None = None) -> None:
        self.path, self.turned = Path(path), False
        self._decoder: Decoder | None = None
        self._pictures = list_pictures(path) if self.path.is_dir() else None
        if self._pictures is not None:
            if fps is None:
                raise InputError(f"'{path}' is a folder of pictures; give their number per second with --fps")
            if not (np.isfinite(fps) and fps > 0):
                raise InputError(
                    f"a folder of pictures cannot have {fps} of them per second; give a number above 0"
                )
            self.times = np.arange(len(self._pictures)) / fps
            self.has_sound = False
            first = read_picture(self._pictures[0], None, np.uint8)
            self.size = (first.shape[1], first.shape[0])
            return
        if fps is not None:
            raise InputError(f"'{path}' is a video file with its own times; leave out fps")
        self._table = scan_packets(path)
        with open_container(path) as container:
            base = float(video_stream(container, path).time_base)
        self._start = int(self._table.pts[0]) * base
        self.times = (self._table.pts - self._table.pts[0]) * base
        self.times.flags.writeable = False
        self.has_sound = has_sound(path)
        self.size = self._first_size()

    def __len__(self) -> int:
        return len(self.times)

    def __enter__(self) -> Video:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; reading opens it again."""
        if self._decoder is not None:
            self._decoder.close()
            self._decoder = None

    @property
    def fps(self) -> float:
        """Frames per second: one over the usual time between two frames."""
        return float(1 / np.median(np.diff(self.times))) if len(self) > 1 else 30.0

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the last."""
        return float(self.times[-1]) + 1 / self.fps

    def frame(self, index: int, dtype: type[np.generic] = np.uint8) -> NDArray[Any]:
        """One picture (H, W, 3); decoding starts at the nearest key frame before it.

        Raises
        ------
        InputError
            There is no such frame.
        FileError
            The frame is damaged.
        """
        if not 0 <= index < len(self):
            raise InputError(f"'{self.path}' has frames 0 to {len(self) - 1}, but not {index}")
        if self._pictures is not None:
            return read_picture(self._pictures[index], self.size, dtype)
        frame = self._decoded(index)
        if frame is None:
            raise FileError(f"frame {index} of '{self.path}' is damaged; use another one")
        return _turned(frame_rgb(frame, dtype), frame.rotation)

    def frames(
        self, start: int = 0, stop: int | None = None, stride: int = 1, dtype: type[np.generic] = np.uint8
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Pictures ``start``, ``start + stride`` ... before ``stop``, one after the other.

        Yields
        ------
        index : int
        picture : (H, W, 3) uint8 or float32
        """
        for index, source in self._sources(start, stop, stride):
            if isinstance(source, Path):
                yield index, read_picture(source, self.size, dtype)
            else:
                yield index, _turned(frame_rgb(source, dtype), source.rotation)

    def grey(
        self, width: int, start: int = 0, stop: int | None = None, stride: int = 1
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Like `frames`, but brightness only, with the longer side scaled down to ``width`` pixels."""
        scale = min(1.0, width / max(self.size))
        size = max(1, round(self.size[0] * scale)), max(1, round(self.size[1] * scale))
        for index, source in self._sources(start, stop, stride):
            if isinstance(source, Path):
                import cv2

                grey = cv2.cvtColor(read_picture(source, self.size, np.uint8), cv2.COLOR_RGB2GRAY)
                yield index, cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
            else:
                stored = size if source.rotation % 180 == 0 else size[::-1]
                yield index, _turned(frame_grey(source, stored), source.rotation)

    def sound(self, rate: int = 48000) -> Iterator[NDArray[np.float32]]:
        """Mono samples (n,) float32, piece by piece, from the time of the first frame on; none if silent."""
        if self._pictures is None:
            yield from sound_chunks(self.path, self._start, rate)

    def _sources(self, start: int, stop: int | None, stride: int) -> Iterator[tuple[int, Any]]:
        """Decoded frames, or paths of pictures, that can be used; a warning tells of the others."""
        if stride < 1:
            raise InputError(f"the stride of frames must be 1 or more, not {stride}")
        indices = range(*slice(start, stop).indices(len(self)))[::stride]
        if self._pictures is not None:
            yield from ((index, self._pictures[index]) for index in indices)
            return
        decoder, lost = Decoder(self.path, self._table), 0
        try:
            for index in indices:
                frame = decoder.frame(index)
                if frame is None:
                    lost += 1
                else:
                    yield index, frame
        finally:
            decoder.close()
        if lost:
            warnings.warn(
                f"'{self.path}': {lost} of {len(indices)} frames are damaged and were left out",
                RuntimeWarning,
                stacklevel=3,
            )

    def _decoded(self, index: int) -> Any | None:
        if self._decoder is None:
            self._decoder = Decoder(self.path, self._table)
        return self._decoder.frame(index)

    def _first_size(self) -> tuple[int, int]:
        for index in range(min(len(self), _FIRST_TRIES)):
            frame = self._decoded(index)
            if frame is not None:
                size, self.turned = (frame.width, frame.height), frame.rotation % 360 != 0
                self.close()
                return size if frame.rotation % 180 == 0 else size[::-1]
        self.close()
        raise FileError(f"'{self.path}' holds no frame that can be decoded; it is damaged, so copy it again")


def _turned(picture: NDArray[Any], degrees: int) -> NDArray[Any]:
    """Counter-clockwise, by a multiple of 90 degrees."""
    turns = round(degrees / 90) % 4
    return np.ascontiguousarray(np.rot90(picture, turns)) if turns else picture
