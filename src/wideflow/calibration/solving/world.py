"""One world: what stands still over time ties the moments together and gives each its scale.

Points of one moment, placed by the two cameras alone, are looked for at the next. Those that stand still
agree on where both cameras were then; those that move disagree, whatever their number in one picture: a voice
is a piece of the picture's area, not a match.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.keys import Keys
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.bundle import NOISE, Bundle, adjust, joined, parted, resect, residuals
from wideflow.calibration.solving.lens import LensPrior, plain_camera
from wideflow.calibration.solving.moments import Moments
from wideflow.calibration.solving.rigid import Around, area_weight, rigid_part, score, three_points
from wideflow.geometry import proper_pose, triangulate, unproject
from wideflow.types import View

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_NEAR = 2.0  # px of a picture 640 wide that a point may be off at first
_TRIALS = 200
_FEWEST = 12  # points that a camera must see to be placed
_SUPPORT = 0.15  # share of the area that must agree
_SEEDS = 3  # moments that are tried to begin with
_SCALES = (1.0, 0.5, 0.3)  # px of a picture 640 wide: less and less is forgiven
LAST_SCALE, _LAST_STEPS, _BOLD = 0.15, 40, 1e-9  # in the end: down the whole valley, with few outliers left
_SPREADS, _FINEST = 2.5, 0.2  # times the median, and px, that a sighting may be off
_UNKNOWN, _WRONG_WEIGHT = 0.3, 0.02  # voices of points that nothing is known of, and of those that move
_WRONG = 0.3  # share of its sightings that may be off before a point counts as moving
_ROUNDS = 2  # of asking all points again whether they stand still


@dataclass(frozen=True, eq=False)
class World:
    """Lenses, poses and points of all key moments.

    Attributes
    ----------
    bundle : Bundle
        Its points are those of the tracks; sightings of points that move have no weight.
    pairs : Bundle
        The moments each for itself, with the lenses of the world; a point for every one of the tracks.
    placed : (n,) bool
        Poses that were found.
    static : (P,) bool
        Points that stand still.
    sighting : (S,) int64
        Sighting of the tracks that each one of the bundle is.
    support : float
        Share of the picture's area that agrees with the cameras' motion, the median over key moments.
    """

    bundle: Bundle
    pairs: Bundle
    placed: Bools
    static: Bools
    sighting: Ints
    support: float


def build_world(tracks: Tracks, moments: Moments, keys: Keys, prior: LensPrior, seed: int) -> World | None:
    """The world that most of the picture agrees with; None if no two moments can be tied together.

    Parameters
    ----------
    tracks : Tracks
        Points and where they were seen.
    moments : Moments
        What the pairs of pictures say, each for itself.
    keys : Keys
        The key moments.
    prior : LensPrior
        What is known of the lenses.
    seed : int
        Where chance starts.
    """
    counts = {
        key: np.count_nonzero(np.isfinite(moments.points[tracks.moment == key, 0])) for key in moments.poses
    }
    order = sorted(counts, key=lambda key: -counts[key])[:_SEEDS]
    tried = (_link(tracks, moments, keys, prior, key, np.random.default_rng(seed)) for key in order)
    linked = [each for each in tried if each is not None]
    if not linked:
        return None
    poses, points, good, support = max(linked, key=lambda each: each[3].sum())
    first = _bundle(tracks, moments, keys, prior, poses, points)
    return _adjusted(first, moments.bundle, tracks, prior, good > 0.5, float(np.median(support)))


def _link(
    tracks: Tracks, moments: Moments, keys: Keys, prior: LensPrior, start: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Poses (n, 3, 4), points (P, 3), how well each point agrees (P,), and support of every key moment."""
    poses = np.full((len(keys.camera), 3, 4), np.nan)
    points = np.full((len(tracks.moment), 3), np.nan)
    a, b = keys.pose[:, start]
    poses[a], poses[b] = np.eye(3, 4), moments.poses[start]
    own = tracks.moment == start
    points[own] = moments.points[own]
    plain = np.empty_like(tracks.xy)
    for camera in (0, 1):
        mine = tracks.camera == camera
        plain[mine] = prior.plain(camera, tracks.xy[mine])
    together = rigid_part(
        _seen_around(tracks, plain, points, keys, poses, start), moments.lenses, prior.sizes, rng
    )
    if together is None:
        return None
    good = np.full(len(points), _UNKNOWN)
    good[own] = _WRONG_WEIGHT
    good[together] = 1.0
    hits = np.zeros((len(points), 2))
    support = np.zeros(len(keys))
    todo = sorted(set(range(len(keys))) - {start}, key=lambda key: abs(key - start))
    for key in todo:
        found = _locate(tracks, plain, moments, keys, poses, points, good, key, prior, rng)
        if found is None:
            continue
        views, support[key], agreed = found
        for camera in (0, 1):
            poses[keys.pose[camera, key]] = views[camera]
        for number, near in agreed:
            np.add.at(hits, (number, near.astype(np.int64)), 1)
        share = (hits[:, 1] + 0.5) / (hits.sum(axis=1) + 1)
        judged = hits.sum(axis=1) > 0
        good[judged & ~own] = np.where(share > 0.5, 1.0, _WRONG_WEIGHT)[judged & ~own]
        mine = tracks.moment == key
        if key in moments.poses:
            centres = [-view[:, :3].T @ view[:, 3] for view in views]
            length = float(np.linalg.norm(centres[1] - centres[0]))
            points[mine] = (length * moments.points[mine] - views[0][:, 3]) @ views[0][:, :3]
    share = (hits[:, 1] + 0.5) / (hits.sum(axis=1) + 1)
    share[hits.sum(axis=1) == 0] = 0.0
    return (poses, points, share, support[todo]) if (support > 0).any() else None


def _seen_around(
    tracks: Tracks, plain: Floats, points: Floats, keys: Keys, poses: Floats, start: int
) -> list[Around]:
    """What each camera sees of the points of one moment at all other moments."""
    around = []
    for key in range(len(keys)):
        for camera in (0, 1):
            if key == start:
                continue
            here = (tracks.key == key) & (tracks.camera == camera) & (tracks.moment[tracks.point] == start)
            here = np.flatnonzero(here & np.isfinite(points[tracks.point, 0]))
            if len(here) >= _FEWEST:
                pose = poses[keys.pose[camera, key]]
                number = tracks.point[here]
                around.append(Around(camera, number, points[number], plain[here], pose))
    return around


def _locate(
    tracks: Tracks,
    plain: Floats,
    moments: Moments,
    keys: Keys,
    poses: Floats,
    points: Floats,
    good: Floats,
    key: int,
    prior: LensPrior,
    rng: np.random.Generator,
) -> tuple[list[Floats], float, list[tuple[Ints, Bools]]] | None:
    """Both cameras at a key moment from the same points of the world: their poses, support, who agreed."""
    unit = max(map(max, prior.sizes)) / 640
    here = [
        np.flatnonzero((tracks.key == key) & (tracks.camera == camera) & np.isfinite(points[tracks.point, 0]))
        for camera in (0, 1)
    ]
    if min(map(len, here)) < _FEWEST:
        return None
    number = [tracks.point[each] for each in here]
    weight = [area_weight(tracks.xy[here[c]], prior.sizes[c]) * good[number[c]] for c in (0, 1)]
    both, *place = np.intersect1d(number[0], number[1], return_indices=True)
    if len(both) < _FEWEST:
        return None
    rays = [
        unproject(plain_camera("", prior.sizes[c], moments.lenses[c]), plain[here[c]])[:, :2] for c in (0, 1)
    ]
    chance = weight[0][place[0]] * weight[1][place[1]] + 1e-9
    chance /= chance.sum()
    best: tuple[float, list[Floats]] = (0.0, [])
    known = [poses[keys.pose[c, key]] for c in (0, 1)]
    seen = [(points[number[c]], plain[here[c]], moments.lenses[c], weight[c], _NEAR * unit) for c in (0, 1)]
    for _ in range(_TRIALS):
        sample = rng.choice(len(both), 3, replace=False, p=chance)
        total, views = 0.0, []
        for c in (0, 1):
            options = (
                [known[c]]
                if np.isfinite(known[c]).all()
                else three_points(points[both[sample]], rays[c][place[c][sample]])
            )
            if not options:
                break
            scores = [score(view, *seen[c]) for view in options]
            total += max(scores)
            views.append(options[int(np.argmax(scores))])
        if len(views) == 2 and total > best[0]:
            best = total, views
    support = best[0] / sum(float(each.sum()) for each in weight)
    if len(best[1]) < 2 or support < _SUPPORT:
        return None
    views, agreed = [], []
    for c in (0, 1):
        view, off = resect(
            moments.lenses[c], best[1][c], points[number[c]], plain[here[c]], weight[c], _NEAR * unit / 2
        )
        if np.isfinite(known[c]).all():
            view = known[c]
        views.append(view)
        agreed.append((number[c], np.asarray(off < _NEAR * unit)))
    return views, support, agreed


def _bundle(
    tracks: Tracks, moments: Moments, keys: Keys, prior: LensPrior, poses: Floats, points: Floats
) -> tuple[Bundle, Ints, Bools]:
    """All sightings of placed cameras, without weights yet."""
    pose = keys.pose[tracks.camera, tracks.key]
    placed = np.isfinite(poses[:, 0, 0])
    sighting = np.flatnonzero(placed[pose])
    xy = tracks.xy[sighting].copy()
    for camera in (0, 1):
        own = tracks.camera[sighting] == camera
        xy[own] = prior.plain(camera, xy[own])
    fixed = ~placed
    fixed[np.flatnonzero(placed)[0]] = True
    bundle = Bundle(
        moments.lenses,
        prior.mean,
        prior.spread,
        np.where(placed[:, None, None], poses, np.eye(3, 4)),
        keys.camera,
        fixed,
        np.where(np.isfinite(points), points, 0.0),
        pose[sighting],
        tracks.point[sighting],
        xy,
        np.zeros(len(sighting)),
    )
    return bundle, sighting, placed


def _adjusted(
    first: tuple[Bundle, Ints, Bools],
    pairs: Bundle,
    tracks: Tracks,
    prior: LensPrior,
    static: Bools,
    support: float,
) -> World:
    """Everything adjusted together, all points asked again whether they stand still.

    The pairs take part with all that they see, movers included, and hold the lenses where time says little.
    """
    bundle, sighting, placed = first
    unit = max(map(max, prior.sizes)) / 640
    matched = tracks.matched[sighting]
    weight = static[bundle.point].astype(np.float64)
    for number in range(_ROUNDS):
        for scale in _SCALES if number == 0 else _SCALES[-2:]:
            start = joined(replace(bundle, weight=weight), pairs)
            bundle, pairs = parted(adjust(start, scale * unit, 10, NOISE * unit), bundle, pairs)
            off = residuals(bundle)
            usual = float(np.median(off[weight > 0])) if (weight > 0).any() else unit
            limit = max(_SPREADS * usual, _FINEST * unit, 2 * scale * unit if number == 0 else 0.0)
            weight, static = _standing(bundle, off, static, limit)
        if number + 1 < _ROUNDS:
            bundle = _met_again(bundle, matched, ~static, prior)
            weight, static = _standing(bundle, residuals(bundle), np.ones_like(static), 2 * limit)
    bundle = replace(bundle, weight=_by_area(replace(bundle, weight=weight), prior))
    found = adjust(joined(bundle, pairs), LAST_SCALE * unit, _LAST_STEPS, NOISE * unit, _BOLD)
    bundle, pairs = parted(found, bundle, pairs)
    return World(bundle, pairs, placed, static, sighting, support)


def _by_area(bundle: Bundle, prior: LensPrior) -> Floats:
    """Weights of the same sum that give equal parts of each picture equal voices."""
    weight = np.zeros_like(bundle.weight)
    for pose in np.unique(bundle.pose):
        own = (bundle.pose == pose) & (bundle.weight > 0)
        if np.count_nonzero(own) > 0:
            weight[own] = area_weight(bundle.xy[own], prior.sizes[bundle.camera[pose]])
    total = float(weight.sum())
    return weight * (float(bundle.weight.sum()) / total) if total > 0 else weight


def _standing(bundle: Bundle, off: Floats, static: Bools, limit: float) -> tuple[Floats, Bools]:
    """Weights of the sightings that are near their point, and the points most of whose sightings are."""
    near = off < limit
    count = np.bincount(bundle.point, minlength=len(static))
    wrong = np.bincount(bundle.point, ~near, minlength=len(static))
    static = static & (count >= 3) & (wrong <= _WRONG * count)
    return (near & static[bundle.point]).astype(np.float64), static


def _met_again(bundle: Bundle, matched: Bools, which: Bools, prior: LensPrior) -> Bundle:
    """Points placed anew where the rays of the two cameras at the moment of their match meet."""
    rows = np.flatnonzero(matched & which[bundle.point])
    one = rows[bundle.camera[bundle.pose[rows]] == 0]
    two = rows[bundle.camera[bundle.pose[rows]] == 1]
    common, i, j = np.intersect1d(bundle.point[one], bundle.point[two], return_indices=True)
    one, two = one[i], two[j]
    points = bundle.points.copy()
    cameras = [plain_camera("", prior.sizes[c], bundle.lenses[c]) for c in (0, 1)]
    for a, b in np.unique(np.stack([bundle.pose[one], bundle.pose[two]], axis=1), axis=0):
        own = (bundle.pose[one] == a) & (bundle.pose[two] == b)
        views = View(cameras[0], proper_pose(bundle.poses[a])), View(cameras[1], proper_pose(bundle.poses[b]))
        made = triangulate(*views, bundle.xy[one[own]], bundle.xy[two[own]])
        good = made.in_front & np.isfinite(made.points).all(axis=1)
        points[common[own][good]] = made.points[good]
    return replace(bundle, points=points)
