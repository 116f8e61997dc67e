"""A plane at every pixel: depth and slope that several pictures agree on, whatever the angle they look from.

Seen from far apart, a window of one picture is sheared and stretched in another. Inverse depth is linear
over the picture of a plane, so a window laid along a slope is drawn exactly. Each pixel keeps one plane,
takes over those of its neighbours where pictures agree better with them, and varies its own (PatchMatch, as
M. Bleyer, C. Rhemann and C. Rother, "PatchMatch Stereo", BMVC 2011, have it). Pixels of one colour of a
chessboard are done at a time: they look at the other colour only, so that the result does not depend on
threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import njit
from wideflow.evidence.glimpse import Floats, Glimpse
from wideflow.evidence.plane_search import lands, sweep
from wideflow.geometry import transfer


@dataclass(frozen=True)
class Patches:
    """How windows are compared and planes are sought.

    Attributes
    ----------
    reach : int
        Half the side of a window, px; every other pixel of it counts, as on a chessboard.
    contrast : float
        Step of brightness, 0..1, beyond which a pixel of the window hardly counts.
    noise : float
        Brightness, 0..1: structure below it tells nothing.
    best_share : float
        Share of the pictures that counts, those that agree best.
    smooth, jump : float
        Price of a pixel of depth between neighbours, and the pixels from which it does not grow.
    opposed : float
        Price of a pixel by which another picture's own depth differs.
    rounds, tries : int
        Rounds over the picture, and variations in each.
    """

    reach: int = 3
    contrast: float = 0.05
    noise: float = 0.005
    best_share: float = 0.4
    smooth: float = 0.01
    jump: float = 2.0
    opposed: float = 0.1
    rounds: int = 3
    tries: int = 3


@dataclass(frozen=True, eq=False)
class PlaneMap:
    """What is found of every pixel.

    Attributes
    ----------
    planes : (H, W, 3) float32
        Inverse depth, and its change a pixel to the right and down.
    cost : (H, W) float32
        How unlike the pictures that count are; 0 alike, 1 nothing in common.
    """

    planes: Floats
    cost: Floats

    @property
    def inverse(self) -> Floats:
        """(H, W), 1 / world units."""
        return self.planes[..., 0]


def starting_planes(inverse: Floats) -> Floats:
    """Planes (H, W, 3) of a map of inverse depth (H, W): slopes are those of the map without its outliers."""
    calm = cv2.GaussianBlur(cv2.medianBlur(inverse.astype(np.float32), 5), (0, 0), 2.0)
    down, across = np.gradient(calm)
    down, across = (cv2.medianBlur(slope.astype(np.float32), 5) for slope in (down, across))
    return np.stack([inverse, across, down], axis=-1).astype(np.float32)


def find_pixel_planes(
    here: Glimpse,
    others: list[Glimpse],
    planes: Floats,
    ends: tuple[float, float],
    settings: Patches,
    known: list[Floats] | None = None,
) -> PlaneMap:
    """The plane of every pixel, beginning with a guess.

    Parameters
    ----------
    here : Glimpse
        The picture.
    others : list of Glimpse
        Those that it is compared with, of any size.
    planes : (H, W, 3) float32
        Inverse depth, and its change a pixel to the right and down.
    ends : (float, float)
        Least and greatest inverse depth.
    settings : Patches
        How to compare and to seek.
    known : list of (h, w) float32, optional
        Inverse depth of the others' own pixels, each in its own camera: what they found is proposed, and what
        contradicts it costs more.
    """
    shape = here.grey.shape[0], here.grey.shape[1]
    sizes = np.array([other.grey.shape for other in others])
    pictures = np.zeros((len(others), *sizes.max(axis=0)), np.float32)
    depths = np.zeros((len(others), *(sizes.max(axis=0) if known else (1, 1))), np.float32)
    for v, other in enumerate(others):
        pictures[v, : sizes[v, 0], : sizes[v, 1]] = other.brightness((sizes[v, 0], sizes[v, 1]))
        if known:
            depths[v, : sizes[v, 0], : sizes[v, 1]] = known[v]
    maps = [transfer(here.view, other.view) for other in others]
    H, e = np.stack([each[0] for each in maps]), np.stack([each[1] for each in maps])
    pixels = pixels_per_inverse(H, e, shape, float(np.median(planes[..., 0])))
    grey = here.brightness(shape)
    planes = np.ascontiguousarray(planes, np.float32)
    offsets, near = _window(settings)
    numbers = np.array(
        [
            settings.best_share, settings.contrast, settings.noise**2, settings.smooth, settings.jump,
            settings.opposed if known else 0.0, pixels, float(here.view.camera.K[0, 0]), *ends,
        ],
        np.float32,
    )  # fmt: skip
    cost = np.full(shape, -1, np.float32)
    proposed = np.zeros((0, *shape), np.float32)
    if known:
        proposed = np.stack([_seen_from_here(here, *pair) for pair in zip(others, known, strict=True)])
    nothing = np.zeros((0, *shape), np.float32)
    for number in range(settings.rounds):
        spread = np.float32(4.0 * 0.5**number)  # px
        for colour in (0, 1):
            sweep(
                grey, pictures, sizes, depths, H, e, offsets, near, numbers, planes, cost, colour, number,
                settings.tries, spread, nothing if number else proposed,
            )  # fmt: skip
    return PlaneMap(planes, cost)


def pixels_per_inverse(
    H: NDArray[np.float64], e: NDArray[np.float64], shape: tuple[int, int], inverse: float
) -> float:
    """How far a point in the middle moves in the other pictures, px for one unit of inverse depth; median."""
    middle = np.array([shape[1] / 2, shape[0] / 2, 1.0])
    q = H @ middle + inverse * e
    w = np.maximum(q[:, 2:], 1e-9)
    motion = (e[:, :2] - q[:, :2] / w * e[:, 2:]) / w
    return float(np.median(np.linalg.norm(motion, axis=1)))


def _window(settings: Patches) -> tuple[NDArray[np.float32], Floats]:
    """Offsets (n, 2) of the pixels of a window, the middle first, and their weights (n,) by distance."""
    steps = np.arange(-settings.reach, settings.reach + 1)
    offsets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    offsets = offsets[offsets.sum(axis=1) % 2 == 0]
    offsets = offsets[np.argsort((offsets**2).sum(axis=1), kind="stable")].astype(np.float32)
    near = np.exp(-(offsets**2).sum(axis=1) / (2 * settings.reach**2)).astype(np.float32)
    return offsets, near


def _seen_from_here(here: Glimpse, other: Glimpse, inverse: Floats) -> Floats:
    """Inverse depth (H, W) of here that another picture's depth says, the nearest counting; 0 where none."""
    H, e = transfer(other.view, here.view)
    seen = np.zeros(here.grey.shape[:2], np.float32)
    _splat(H, e, inverse, seen)
    return seen


@njit()
def _splat(H, e, inverse, seen):
    rows, columns = seen.shape
    for y in range(inverse.shape[0]):
        for x in range(inverse.shape[1]):
            depth = inverse[y, x]
            if depth <= 0:
                continue
            u, v, w = lands(H, e, x, y, depth)
            tx, ty = int(np.floor(u + 0.5)), int(np.floor(v + 0.5))
            if 0 <= tx < columns and 0 <= ty < rows:
                seen[ty, tx] = max(seen[ty, tx], np.float32(depth / w))
