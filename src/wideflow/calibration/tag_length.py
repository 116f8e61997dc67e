"""How long the side of a printed tag is in the unit of the cameras, from all pictures that show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import ideal_camera, project, triangulate, undistort_points, unproject, world_to_camera
from wideflow.geometry.tags import find_tags, side_length
from wideflow.types import Rig, View
from wideflow.video.read import Video

Floats = NDArray[np.float64]

_PLACED = 0.15  # px that a side may be off by whatever many pictures agree on: tones, blur, an uneven print
_NEAR = 0.7  # px of a picture 640 wide within which a sighting of a tag that stands still lies
_STILL = 0.8  # of the sightings that must
_STEPS = 12


@dataclass(frozen=True, eq=False)
class Sightings:
    """Where one tag was seen.

    Attributes
    ----------
    number : int
        Of the tag.
    frame : (n,) int64
        Index of the rig's frame.
    camera : (n,) int64
        0 for A, 1 for B.
    corners : (n, 4, 2) float64
        Pixels of the picture as filmed.
    """

    number: int
    frame: NDArray[np.int64]
    camera: NDArray[np.int64]
    corners: Floats

    @property
    def counts(self) -> tuple[int, int]:
        """Pictures of A and of B that show it."""
        return int(np.sum(self.camera == 0)), int(np.sum(self.camera == 1))

    @property
    def together(self) -> list[tuple[int, int]]:
        """Numbers of the sightings by A and by B at the same moment."""
        own = {int(frame): i for i, frame in enumerate(self.frame) if self.camera[i] == 0}
        both = ((own.get(int(self.frame[i])), i) for i in np.flatnonzero(self.camera == 1))
        return [(a, int(b)) for a, b in both if a is not None]


@dataclass(frozen=True)
class TagLength:
    """A tag measured.

    Attributes
    ----------
    side : float
        Mean length of its sides, world units.
    error : float
        Relative standard error of that: how unlike the sides, and the moments, are.
    distance : (float, float)
        From A and from B, the median over its sightings, world units; NaN for one that never saw it.
    still : bool
        It stood still: all sightings count together, not only those of one moment.
    """

    side: float
    error: float
    distance: tuple[float, float]
    still: bool


def look_for_tags(videos: tuple[Video, Video], frames: Iterable[tuple[int, int, int]]) -> list[Sightings]:
    """Tags in the pictures of both videos.

    Parameters
    ----------
    videos : (Video, Video)
        A and B.
    frames : iterable of (int, int, int)
        Index of the rig's frame, A's frame and B's.

    Returns
    -------
    list of Sightings
        One for each tag; the one seen most often by the camera that sees it less comes first.
    """
    rows: dict[int, list[tuple[int, int, Floats]]] = {}
    for camera, video in enumerate(videos):
        wanted = [(each[1 + camera], each[0]) for each in frames]
        for index, grey in _pictures(video, [number for number, _ in wanted]):
            for number, corners in find_tags(grey).items():
                rows.setdefault(number, []).extend(
                    (frame, camera, corners) for own, frame in wanted if own == index
                )
    found = [
        Sightings(number, *(np.array(part) for part in zip(*each, strict=True)))
        for number, each in rows.items()
    ]
    return sorted(found, key=lambda each: (-min(each.counts), -max(each.counts), each.number))


def _pictures(video: Video, indices: list[int]) -> Iterable[tuple[int, NDArray[np.uint8]]]:
    wanted = set(indices)
    for index, grey in video.grey(max(video.size), min(wanted), max(wanted) + 1):
        if index in wanted:
            yield index, grey


def measure_tag(rig: Rig, seen: Sightings) -> TagLength | None:
    """Length of a tag's side; None if no two rays to it meet.

    Parameters
    ----------
    rig : Rig
        The cameras as filmed.
    seen : Sightings
        Of one tag, at frames of the rig.
    """
    views = [rig.frame(int(f)).views[c] for f, c in zip(seen.frame, seen.camera, strict=True)]
    moments = _by_moments(views, seen)
    corners, near = _as_one(views, seen.corners)
    unit = max(max(camera.size) for camera in rig.cameras) / 640
    still = bool(np.isfinite(corners).all() and np.mean(near < _NEAR * unit) >= _STILL)
    if not still and not moments:
        return None
    shapes = corners[None] if still else np.stack(moments)
    sides = np.array([side_length(shape) for shape in shapes])
    kept = np.abs(sides - np.median(sides)) <= 4 * np.median(np.abs(sides - np.median(sides))) + 1e-12
    side = float(sides[kept].mean())
    if not (np.isfinite(side) and side > 0):
        return None
    return TagLength(side, _error(shapes[kept], seen), _distance(shapes[kept].mean(0), views, seen), still)


def _error(shapes: Floats, seen: Sightings) -> float:
    """Relative standard error of the mean side of shapes (m, 4, 3)."""
    across = np.linalg.norm(shapes[:, [0, 1]] - shapes[:, [2, 3]], axis=2) / np.sqrt(2)
    along = np.linalg.norm(np.roll(shapes, -1, axis=1) - shapes, axis=2)
    lengths = np.concatenate([along, across], axis=1)
    unlike = float(np.std(lengths.mean(axis=0)) / np.sqrt(lengths.shape[1]))
    scatter = float(np.std(lengths.mean(axis=1)) / np.sqrt(len(shapes)))
    pixels = np.median([side_length(corners) for corners in seen.corners])
    return float(np.hypot(np.hypot(unlike, scatter) / lengths.mean(), _PLACED / pixels))


def _distance(shape: Floats, views: list[View], seen: Sightings) -> tuple[float, float]:
    away = np.array([np.linalg.norm(shape.mean(axis=0) - view.centre) for view in views])
    a, b = (float(np.median(away[seen.camera == c])) if (seen.camera == c).any() else np.nan for c in (0, 1))
    return a, b


def _by_moments(views: list[View], seen: Sightings) -> list[Floats]:
    """Corners (4, 3) at each moment at which both cameras see the tag."""
    found = []
    for a, b in seen.together:
        points = triangulate(views[a], views[b], seen.corners[a], seen.corners[b])
        if points.in_front.all() and np.isfinite(points.points).all():
            found.append(points.points)
    return found


def _as_one(views: list[View], corners: Floats) -> tuple[Floats, Floats]:
    """Corners (4, 3) that explain all sightings (n, 4, 2) at once, and how far off each is, (n,) px."""
    ideal = [View(ideal_camera(view.camera), view.cam_from_world) for view in views]
    pixels = np.stack([undistort_points(v.camera, xy) for v, xy in zip(views, corners, strict=True)])
    points = np.stack([_meeting(ideal, pixels[:, k]) for k in range(4)])
    off = np.stack([np.linalg.norm(_residuals(ideal, pixels[:, k], points[k]), axis=1) for k in range(4)])
    return points, np.nan_to_num(off, nan=np.inf).max(axis=0)


def _meeting(views: list[View], pixels: Floats) -> Floats:
    """The point (3,) with the least robust distance in the pictures from pixels (n, 2)."""
    rays = np.stack([unproject(view.camera, xy) @ view.R for view, xy in zip(views, pixels, strict=True)])
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    centres = np.stack([view.centre for view in views])
    across = np.eye(3) - rays[:, :, None] * rays[:, None, :]
    normal = across.sum(axis=0)
    if np.linalg.cond(normal) > 1e9:  # all rays are parallel
        return np.full(3, np.nan)
    point = np.linalg.solve(normal, np.einsum("nij,nj->i", across, centres))
    for _ in range(_STEPS):
        residual = _residuals(views, pixels, point)
        if not np.isfinite(residual).all():
            return np.full(3, np.nan)
        length = np.linalg.norm(residual, axis=1)
        scale = 1.5 * max(float(np.median(length)), 0.05)
        weight = np.minimum(1.0, scale / np.maximum(length, 1e-12))  # Huber
        J = _slopes(views, point)
        A = np.einsum("n,nki,nkj->ij", weight, J, J)
        step = np.linalg.solve(A, np.einsum("n,nki,nk->i", weight, J, residual))
        point = point - step
        if np.linalg.norm(step) < 1e-10 * np.linalg.norm(point - centres[0]):
            break
    return point


def _residuals(views: list[View], pixels: Floats, point: Floats) -> Floats:
    """Where each view shows the point less where it was seen, (n, 2) px."""
    return np.stack([project(v.camera, world_to_camera(v, point)) for v in views]) - pixels


def _slopes(views: list[View], point: Floats) -> Floats:
    """Change of the pixel with the point, (n, 2, 3)."""
    out = []
    for view in views:
        KR = view.camera.K @ view.R
        x, y, z = view.camera.K @ world_to_camera(view, point)
        out.append((KR[:2] - np.outer((x / z, y / z), KR[2])) / z)
    return np.stack(out)
