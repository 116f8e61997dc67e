"""Flows that users bring along: from files, from a network, or from a function. They propose to the matches.

A flow from elsewhere is one more voice: the cameras, the pictures and the refinement correct it, and where it
is no better than what else is known, it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import FileError, InputError, MissingExtraError
from wideflow.files import read_flow
from wideflow.files.disk import AnyPath
from wideflow.files.fingerprint import content_hash
from wideflow.geometry.picture import checked_picture
from wideflow.geometry.pyramid import resized_flow, scale_between
from wideflow.matching import Proposal
from wideflow.types import Camera

Floats = NDArray[np.float32]
Propose = Callable[[Floats, Floats, str], ArrayLike | None]

FLOWS = ("stereo", "optical_a", "optical_b")
HEARD = {f"heard_{flow}": flow for flow in FLOWS}  # by the names that stages need them under
_MULTIPLE = 64  # px: what networks that take any size want their sides to be multiples of


class Voice(Protocol):
    """Somebody who may know a flow of a moment."""

    def key(self, flow: str, t: int) -> str:
        """A text that changes with what is said."""

    def say(self, flow: str, t: int, first: Floats, second: Floats) -> Floats | None:
        """A flow (H, W, 2) from the first picture, RGB in 0..1, to the second; None if nothing is known."""


class Heard(NamedTuple):
    """What a voice, if there is one, says of one of the `FLOWS` at one moment."""

    voice: Voice | None
    flow: str
    t: int

    @property
    def key(self) -> str:
        """A text that changes with what is said; empty for nothing."""
        return "" if self.voice is None else self.voice.key(self.flow, self.t)

    def proposals(self, first: Floats, second: Floats) -> list[Proposal]:
        """Between these pictures."""
        said = None if self.voice is None else self.voice.say(self.flow, self.t, first, second)
        return [] if said is None else [Proposal(said)]


@dataclass(frozen=True)
class FlowFiles:
    """Flows in a folder, named as ``wideflow export --to flo`` writes them.

    Attributes
    ----------
    folder : str
    contents : dict
        The hash of each file, by its name below the folder.
    """

    folder: str
    contents: dict[str, str]

    def key(self, flow: str, t: int) -> str:
        """The hash of the file, if there is one."""
        return self.contents.get(_name(flow, t), "")

    def say(self, flow: str, t: int, first: Floats, second: Floats) -> Floats | None:
        """What the file holds."""
        return read_flow(Path(self.folder) / _name(flow, t)) if self.key(flow, t) else None


@dataclass(frozen=True)
class Network:
    """An ONNX model of optical flow, such as an export of RAFT or GMFlow.

    It takes two pictures, (1, 3, h, w) float32, RGB in 0..255, and its last output is the flow (1, 2, h, w)
    in pixels. Pictures are resized to the size that it wants.

    Attributes
    ----------
    path : str
    content : str
        The hash of the file.
    """

    path: str
    content: str

    def key(self, flow: str, t: int) -> str:
        """The hash of the model."""
        return self.content

    def say(self, flow: str, t: int, first: Floats, second: Floats) -> Floats | None:
        """What the network finds."""
        session = _session(self.path, self.content)
        inputs = session.get_inputs()
        height, width = _size(inputs[0].shape, first.shape)
        given = {
            each.name: np.ascontiguousarray(
                255 * cv2.resize(picture, (width, height)).transpose(2, 0, 1)[None], np.float32
            )
            for each, picture in zip(inputs, (first, second), strict=True)
        }
        found = np.asarray(session.run(None, given)[-1], np.float32)
        if found.ndim != 4 or found.shape[:2] != (1, 2):
            raise InputError(
                f"the last output of '{self.path}' has shape {found.shape}, not (1, 2, height, width); "
                "export the network with its flow as the last output"
            )
        return between(np.ascontiguousarray(found[0].transpose(1, 2, 0)), first.shape, second.shape)


@dataclass(frozen=True)
class Function:
    """A function of the user's, called with two pictures and "stereo" or "optical"."""

    propose: Propose

    def key(self, flow: str, t: int) -> str:
        """Its name; it serves one step in memory, of which nothing is kept."""
        return repr(self.propose)

    def say(self, flow: str, t: int, first: Floats, second: Floats) -> Floats | None:
        """What it returns."""
        said = self.propose(first, second, flow.partition("_")[0])
        return None if said is None else np.asarray(said, np.float32)


def open_voice(path: AnyPath, cameras: tuple[Camera, Camera], moments: int) -> Voice:
    """Who speaks from a folder of flows, or from an ONNX file.

    Parameters
    ----------
    path : path
        Of either.
    cameras : pair of Camera
        Of the pictures between which the flows lead.
    moments : int
        How many there are.

    Raises
    ------
    FileError
        Nothing there that could speak.
    """
    place = Path(path)
    if place.is_file() and place.suffix.lower() == ".onnx":
        network = Network(str(place.resolve()), content_hash(place))
        _session(network.path, network.content)
        return network
    if not place.is_dir():
        raise FileError(f"'{path}' is neither a folder of flows nor an .onnx file; give one of them")
    names = [_name(flow, t) for flow in FLOWS for t in range(moments)]
    there = [name for name in names if (place / name).is_file()]
    if not there:
        raise FileError(
            f"'{path}' holds no {names[0]} nor any other flow of these {moments} moments; name them as "
            "'wideflow export --to flo' does"
        )
    for name in there:
        camera = cameras[name.startswith("optical_b")]
        height, width = read_flow(place / name).shape[:2]
        if (width, height) != camera.size:
            wanted = f"{camera.width}x{camera.height}"
            raise FileError(f"'{place / name}' is of {width}x{height} pixels, not {wanted}; resize it")
    return FlowFiles(str(place.resolve()), {name: content_hash(place / name) for name in there})


def one_flow(path: AnyPath, first: ArrayLike, second: ArrayLike) -> list[Proposal]:
    """What a flow file, or an ONNX file, says of two pictures of any form."""
    one, two = checked_picture(first), checked_picture(second)
    place = Path(path)
    if place.suffix.lower() != ".onnx":
        return [Proposal(read_flow(place))]
    return Heard(Network(str(place), content_hash(place)), "stereo", 0).proposals(one, two)


def _name(flow: str, t: int) -> str:
    return f"{flow}/{t:06d}.flo"


def _onnxruntime() -> Any:
    try:
        return import_module("onnxruntime")
    except ImportError as error:
        raise MissingExtraError(
            "a network needs the package onnxruntime: install it with pip install 'wideflow[onnx]'"
        ) from error


@lru_cache(maxsize=1)
def _session(path: str, content: str) -> Any:
    """The model, ready to run; it stays loaded."""
    runtime = _onnxruntime()
    try:
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes are private
        raise FileError(f"'{path}' is no ONNX model that can be run; export it anew") from error
    if len(session.get_inputs()) != 2:
        count = len(session.get_inputs())
        raise FileError(f"'{path}' takes {count} inputs instead of two pictures; export it for two")
    return session


def _size(wanted: list[Any], shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns that a network gets: its own, or those of the picture, rounded."""
    height, width = (
        side if isinstance(side, int) else max(1, round(own / _MULTIPLE)) * _MULTIPLE
        for side, own in zip(wanted[2:], shape[:2], strict=True)
    )
    return height, width


def between(flow: Floats, source: tuple[int, ...], target: tuple[int, ...]) -> Floats:
    """A flow of two pictures that were resized to one size, for the pictures as they were."""
    to_source, to_target = (scale_between(flow.shape, shape) for shape in (source, target))
    return resized_flow(flow, to_source, to_target, (source[0], source[1]))
