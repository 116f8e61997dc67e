"""Writing an animated GIF with one palette for all of its pictures."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import Any

import av
import numpy as np
from av.filter import Graph
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files import atomic_path


def write_gif(path: str | os.PathLike[str], frames: Iterable[NDArray[np.uint8]], fps: float) -> None:
    """Write pictures as a GIF that is played for ever.

    All of them are held until the last one has come, as the 256 colours are chosen from all.

    Parameters
    ----------
    path : path
        Of the ``.gif`` file; written beside it first, so an interrupted run leaves the old file.
    frames : iterable of (H, W, 3) uint8
        RGB, all of one size.
    fps : float
        Pictures per second; the format counts hundredths of a second.

    Raises
    ------
    InputError
        No picture.
    FileError
        The file cannot be written.
    """
    pictures = iter(frames)
    first = next(pictures, None)
    if first is None:
        raise InputError(f"there is no picture to write to '{path}'")
    per_second = Fraction(fps).limit_denominator(1001)
    height, width = first.shape[:2]
    source, sink, graph = _palette(width, height, 1 / per_second)
    for i, picture in enumerate(chain([first], pictures)):
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
        frame.pts, frame.time_base = i, 1 / per_second
        source.push(frame)
    source.push(None)
    with atomic_path(path) as temporary:
        try:
            with av.open(str(temporary), "w", format="gif", options={"loop": "0"}) as container:
                stream: Any = container.add_stream("gif", rate=per_second)
                stream.width, stream.height, stream.pix_fmt = width, height, "pal8"
                while (frame := _pulled(sink)) is not None:
                    container.mux(stream.encode(frame))
                container.mux(stream.encode())
        except av.FFmpegError as error:
            raise FileError(f"cannot write '{path}': {error.strerror}") from error
    del graph  # its filters live as long as it does


def _palette(width: int, height: int, time_base: Fraction) -> tuple[Any, Any, Graph]:
    """A graph that gives each picture the colours chosen from all: where they go in and come out."""
    graph = Graph()
    rgb = av.VideoFormat("rgb24", width, height)
    source = graph.add_buffer(width=width, height=height, format=rgb, time_base=time_base)
    split, choose = graph.add("split"), graph.add("palettegen", "stats_mode=full")
    use, sink = graph.add("paletteuse", "dither=bayer:bayer_scale=4"), graph.add("buffersink")
    source.link_to(split)
    split.link_to(use, 0, 0)
    split.link_to(choose, 1, 0)
    choose.link_to(use, 0, 1)
    use.link_to(sink)
    graph.configure()
    return source, sink, graph


def _pulled(sink: Any) -> Any:
    try:
        return sink.pull()
    except av.EOFError:
        return None
