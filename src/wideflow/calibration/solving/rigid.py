"""Which points of a moment move as one body over time.

Three points that both cameras see at many moments give, at each of them, where the cameras are relative to
these points. Who agrees with that at all moments moves as they do. What stands still is such a body; so is a
board that is carried through the picture, and with a part of what stands still it can look like one body, if
only the cameras moved enough. The largest by its area in the picture wins, where a plane counts less, and any
body less the more the cameras would have moved about: hands move little.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.solving.lens import plain_camera
from wideflow.compiled import njit
from wideflow.geometry import unproject

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GRID = 12  # cells along the longer side of a picture, each of which has one voice
_NEAR = 1.2  # px of a picture 640 wide within which a point agrees
_TRIALS = 300
_FEWEST = 8  # points of a body
_SEEN = 0.5  # share of the views that must see a point for it to be drawn
_AGREE = 0.75  # share of its sightings that must agree
_RESTLESS = 0.15  # motion of the cameras, as a share of their distance, at which a body's area counts half
_FLAT, _PLANE = 0.02, 0.6  # thickness of a body over its extent that is none, and what a plane's area counts


@dataclass(frozen=True, eq=False)
class Around:
    """What one camera sees of some points at another moment.

    Attributes
    ----------
    camera : int
    number : (N,) int64
        Of the points.
    points : (N, 3) float64
    xy : (N, 2) float64
        Pixels.
    pose : (3, 4) float64
        Of the camera, if it stands still; else NaN.
    """

    camera: int
    number: Ints
    points: Floats
    xy: Floats
    pose: Floats


@dataclass(frozen=True, eq=False)
class _Body:
    area: float
    motion: float
    number: Ints
    flat: bool


def rigid_part(
    around: list[Around], lenses: Floats, sizes: tuple[tuple[int, int], ...], rng: np.random.Generator
) -> Ints | None:
    """Numbers of the points that most likely stand still; None if no body is found."""
    if not around:
        return None
    unit = max(map(max, sizes)) / 640
    numbers, count = np.unique(np.concatenate([view.number for view in around]), return_counts=True)
    places = {int(number): place for place, number in enumerate(numbers)}
    points = np.zeros((len(numbers), 3))
    where = [np.array([places[int(n)] for n in view.number]) for view in around]
    weight = np.zeros(len(numbers))
    for view, place in zip(around, where, strict=True):
        points[place] = view.points
        weight[place] = np.maximum(weight[place], area_weight(view.xy, sizes[view.camera]))
    cameras = [plain_camera("", size, lens) for size, lens in zip(sizes, lenses, strict=True)]
    rays = [unproject(cameras[view.camera], view.xy)[:, :2] for view in around]
    drawn = np.flatnonzero(count >= max(2, _SEEN * np.percentile(count, 90)))
    if len(drawn) < _FEWEST:
        return None
    bodies: list[_Body] = []
    for _ in range(_TRIALS):
        sample = rng.choice(drawn, 3, replace=False, p=weight[drawn] / weight[drawn].sum())
        votes = np.zeros((len(numbers), 2))
        motion = []
        for view, place, ray in zip(around, where, rays, strict=True):
            pose = _best_pose(view, place, ray, points, sample, lenses, weight, _NEAR * unit)
            if pose is None:
                continue
            off = distances(pose, view.points, view.xy, lenses[view.camera])
            np.add.at(votes, (place, (off < _NEAR * unit).astype(np.int64)), 1)
            motion.append(pose)
        if len(motion) < 2:
            continue
        seen = votes.sum(axis=1)
        with_them = (seen >= 2) & (votes[:, 1] >= _AGREE * seen)
        if np.count_nonzero(with_them) >= _FEWEST:
            bodies.append(_body(points, weight, with_them, numbers, motion))
    return _chosen(bodies)


def _best_pose(
    view: Around,
    place: Ints,
    rays: Floats,
    points: Floats,
    sample: Ints,
    lenses: Floats,
    weight: Floats,
    near: float,
) -> Floats | None:
    """Pose of a view from three points, None if it does not see all of them."""
    if np.isfinite(view.pose).all():
        return view.pose
    rows = [np.flatnonzero(place == one) for one in sample]
    if any(len(row) == 0 for row in rows):
        return None
    options = three_points(points[sample], rays[[int(row[0]) for row in rows]])
    scores = [score(pose, view.points, view.xy, lenses[view.camera], weight[place], near) for pose in options]
    return options[int(np.argmax(scores))] if scores else None


def _body(
    points: Floats, weight: Floats, inside: NDArray[np.bool_], numbers: Ints, poses: list[Floats]
) -> _Body:
    centred = points[inside] - points[inside].mean(axis=0)
    extent = np.linalg.svd(centred, compute_uv=False)
    centres = np.array([-pose[:, :3].T @ pose[:, 3] for pose in poses])
    spread = float(np.sqrt(((centres - np.median(centres, axis=0)) ** 2).sum(axis=1).mean()))
    return _Body(float(weight[inside].sum()), spread, numbers[inside], bool(extent[2] < _FLAT * extent[0]))


def _chosen(bodies: list[_Body]) -> Ints | None:
    if not bodies:
        return None

    def likely(body: _Body) -> float:
        return body.area * (_PLANE if body.flat else 1.0) / (1 + body.motion / _RESTLESS)

    return max(bodies, key=likely).number


def area_weight(xy: Floats, size: tuple[int, int]) -> Floats:
    """Weight of every point: the cells of a grid have one voice each, shared by their points."""
    cell = max(size) / _GRID
    names = (xy[:, 0] // cell).astype(np.int64) + 1000 * (xy[:, 1] // cell).astype(np.int64)
    _, inverse, count = np.unique(names, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[inverse])


def three_points(points: Floats, rays: Floats) -> list[Floats]:
    """Poses from which three points are seen along three rays."""
    _, turns, shifts = cv2.solveP3P(points, rays, np.eye(3), None, cv2.SOLVEPNP_P3P)
    poses = [np.column_stack([cv2.Rodrigues(r)[0], t]) for r, t in zip(turns, shifts, strict=True)]
    return [pose for pose in poses if np.isfinite(pose).all()]


@njit()
def distances(pose, points, xy, lens):
    """Pixels (N,) between points and where they were seen; infinite behind the camera."""
    focal, out = np.exp(lens[0]), np.empty(len(points))
    for p in range(len(points)):
        z = pose[2, 0] * points[p, 0] + pose[2, 1] * points[p, 1] + pose[2, 2] * points[p, 2] + pose[2, 3]
        if z <= 0:
            out[p] = np.inf
            continue
        x = pose[0, 0] * points[p, 0] + pose[0, 1] * points[p, 1] + pose[0, 2] * points[p, 2] + pose[0, 3]
        y = pose[1, 0] * points[p, 0] + pose[1, 1] * points[p, 1] + pose[1, 2] * points[p, 2] + pose[1, 3]
        x, y = x / z, y / z
        bent = focal * (1 + lens[3] * (x * x + y * y))
        out[p] = np.hypot(bent * x + lens[1] - xy[p, 0], bent * y + lens[2] - xy[p, 1])
    return out


@njit()
def score(pose, points, xy, lens, weight, near):
    """Weight of the points that are seen near their pixels, the nearer the more."""
    off = distances(pose, points, xy, lens)
    total = 0.0
    for p in range(len(points)):
        if off[p] < near:
            total += weight[p] * (1 - (off[p] / near) ** 2)
    return total
