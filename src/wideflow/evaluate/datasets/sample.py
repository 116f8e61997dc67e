"""What every data set gives an evaluation: pictures with true flow, of one pair or of one time step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.files.disk import AnyPath
from wideflow.types import Camera, RigFrame, View

Picture = NDArray[np.float32]
Field = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sample:
    """Pictures and what is true of every pixel of the first.

    Attributes
    ----------
    name : str
    pictures : 2 or 4 of (H, W, 3) float32
        RGB in 0..1: a pair, or A and B at t, then A and B at t + 1.
    frames : tuple of RigFrame
        Of t, and of t + 1 for four pictures; none for the optical flow of a pair. Ideal cameras.
    stereo, optical, loop : (H, W, 2) float32, optional
        True flow to B at t, to A at t + 1, to B at t + 1, in px; NaN where unknown.
    depth, motion : (H, W) and (H, W, 3) float32, optional
        z in A, and the 3D displacement to t + 1; NaN where unknown.
    visible : dict of str to (H, W) bool
        For each flow, the pixels that the other picture shows; all where the flow is not named.
    """

    name: str
    pictures: tuple[Picture, ...]
    frames: tuple[RigFrame, ...] = ()
    stereo: Field | None = None
    optical: Field | None = None
    loop: Field | None = None
    depth: Field | None = None
    motion: Field | None = None
    visible: dict[str, Mask] = field(default_factory=dict)

    @property
    def is_step(self) -> bool:
        """Whether it has the four pictures of a time step."""
        return len(self.pictures) == 4

    def seen(self, *flows: str) -> Mask:
        """(H, W): the pixels that all the pictures show that these flows lead to."""
        seen = np.ones(self.pictures[0].shape[:2], bool)
        for flow in flows:
            seen &= self.visible.get(flow, True)
        return seen


@dataclass(frozen=True)
class Source:
    """A sample that has not been read yet."""

    name: str
    load: Callable[[], Sample]


def require_folder(root: AnyPath, kind: str) -> Path:
    """The folder of a data set; ``kind`` says what it should hold."""
    folder = Path(root)
    if not folder.is_dir():
        raise FileError(f"'{root}' is not a folder; give one with {kind}")
    return folder


def require_sources(sources: list[Source], root: AnyPath, kind: str, wanted: str) -> list[Source]:
    """The samples that were found, if any; ``wanted`` names the files that a scene must have."""
    if not sources:
        raise FileError(f"'{root}' holds no {wanted}; give a folder with {kind}")
    return sources


def require_size(shape: tuple[int, ...], path: AnyPath, *arrays: NDArray[np.float32]) -> None:
    """Check that all that belongs to a picture of this shape is of its size."""
    for array in arrays:
        if array.shape[:2] != shape[:2]:
            raise FileError(f"'{path}' is of another size than what belongs to it; fetch the scene again")


def rectified_frame(
    size: tuple[int, int], focal: float, centre: tuple[float, float], baseline: float
) -> RigFrame:
    """Two equal parallel cameras; ``baseline`` > 0 puts B to the right of A."""
    K = np.array([[focal, 0, centre[0]], [0, focal, centre[1]], [0, 0, 1]])
    a, b = Camera("a", *size, K), Camera("b", *size, K)
    views = View(a, np.eye(3, 4)), View(b, np.column_stack([np.eye(3), [-baseline, 0, 0]]))
    return RigFrame(0, (0.0, 0.0), views)


def from_disparity(disparity: Field) -> Field:
    """(H, W, 2) stereo flow of a rectified pair from (H, W) disparity."""
    return np.stack([-disparity, np.where(np.isfinite(disparity), 0, np.nan)], axis=-1).astype(np.float32)


def visible_of(flow: Field, nearness: Field, slack: float = 1.0) -> Mask:
    """Pixels that keep their place in the target picture: inside it, and nothing nearer lands there.

    Parameters
    ----------
    flow : (H, W, 2)
        True flow, px.
    nearness : (H, W)
        Grows towards the camera, in the target picture, such as disparity in px.
    slack : float
        How much nearer something must be to hide a pixel.
    """
    height, width = nearness.shape
    known = np.isfinite(flow).all(axis=2) & np.isfinite(nearness)
    y, x = np.nonzero(known)
    to_x, to_y = np.rint(flow[known].T + np.stack([x, y])).astype(int)
    inside = (to_x >= 0) & (to_x < width) & (to_y >= 0) & (to_y < height)
    near = nearness[known]
    nearest = np.full((height, width), -np.inf, np.float32)
    np.maximum.at(nearest, (to_y[inside], to_x[inside]), near[inside])
    visible = np.zeros((height, width), bool)
    visible[y[inside], x[inside]] = near[inside] >= nearest[to_y[inside], to_x[inside]] - slack
    return visible
