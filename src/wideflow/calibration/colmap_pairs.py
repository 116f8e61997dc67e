"""Matches that agree with epipolar geometry, for COLMAP. Only its own process imports this.

Within a camera, what stands still follows one geometry and what moves does not. A moving point could still
match between the cameras, and many of them would bend the geometry between these; so only points that stood
still within their camera are taken across.
"""

from __future__ import annotations

from typing import Any

import numpy as np  # before pycolmap, or the first picture that it writes aborts the process
import pycolmap
from numpy.typing import NDArray

from wideflow.calibration.problem import Lenses

SHIFT = 0.5  # COLMAP's pixel coordinate minus ours
_MODELS = {True: "OPENCV", False: "SIMPLE_RADIAL"}  # of a lens that is known, and of one that is not
_STILL = 0.5  # share of its matches over time in which a point must have stood still
_FEWEST = 15  # matches of a pair that is worth a thought
_SHARES = (0.25, 0.5, 1.0)  # of the largest error, which one is tried
_MOST = 0.6  # of the matches that must still agree
_SAMPLES = 5  # pairs of pictures that this is tried on
_TRIALS = 1000  # of the geometry between the cameras, which has more wrong matches


def colmap_camera(lenses: Lenses, number: int) -> Any:
    """COLMAP's camera, whose id is ``number + 1``."""
    fx, fy, cx, cy, k1, k2, p1, p2 = lenses.parameters[number].tolist()
    known = bool(lenses.known[number])
    camera = pycolmap.Camera(
        camera_id=number + 1,
        model=_MODELS[known],
        width=int(lenses.size[number, 0]),
        height=int(lenses.size[number, 1]),
        params=[fx, fy, cx + SHIFT, cy + SHIFT, k1, k2, p1, p2]
        if known
        else [0.5 * (fx + fy), cx + SHIFT, cy + SHIFT, k1],
    )
    camera.has_prior_focal_length = known or bool(lenses.trusted[number])
    return camera


def write_verified(
    database: Any, lenses: Lenses, problem: dict[str, Any], error: float, seed: int
) -> dict[tuple[int, int], int]:
    """Write the matches that agree with a geometry, and return their number for each pair of pictures.

    Parameters
    ----------
    database : pycolmap.Database
        With the pictures and their points.
    lenses : Lenses
        As far as known.
    problem : dict
        ``match_pairs``, ``match_start``, ``matches``; see `wideflow.calibration.network`.
    error : float
        Pixels from the epipolar line.
    seed : int
        Where chance starts.
    """
    cameras = [colmap_camera(lenses, number) for number in range(2)]
    options = _options(error, seed)
    camera_of, counts = problem["image_camera"], {}
    pairs, start = problem["match_pairs"], problem["match_start"]
    across = camera_of[pairs[:, 0]] != camera_of[pairs[:, 1]]
    votes = np.zeros((2, len(problem["image_xy"])))  # matches over time of every point: all, and still ones
    still = np.ones(len(problem["image_xy"]), np.bool_)
    for done, pair in enumerate(np.argsort(across, kind="stable").tolist()):
        print(done, 2 * len(pairs), "comparing matches with epipolar geometry", flush=True)
        matches = problem["matches"][start[pair] : start[pair + 1]]
        first = problem["image_start"][pairs[pair]]
        if across[pair]:
            options.ransac.min_num_trials = _TRIALS
            if done == np.count_nonzero(~across):
                still = _standing(votes, problem["image_start"])
            matches = matches[still[matches + first].all(axis=1)]
        one, two = pairs[pair].tolist()
        if len(matches) < _FEWEST:
            continue
        found = _geometry(cameras, problem, pairs[pair], matches, options)
        inlier = np.asarray(found.inlier_matches).reshape(-1, 2)
        if not across[pair]:
            np.add.at(votes[0], matches + first, 1)
            np.add.at(votes[1], inlier + first, 1)
        database.write_matches(one + 1, two + 1, matches.astype(np.uint32))
        database.write_two_view_geometry(one + 1, two + 1, found)
        counts[one, two] = len(inlier)
    return counts


def tight_error(lenses: Lenses, problem: dict[str, Any], error: float, seed: int) -> float:
    """The smallest share of ``error`` that still lets most matches between the cameras agree.

    Patterns that repeat give wrong matches that agree with each other up to a pixel or two; a narrow limit
    leaves them out, where the pictures are sharp enough for one.
    """
    cameras = [colmap_camera(lenses, number) for number in range(2)]
    pairs, start = problem["match_pairs"], problem["match_start"]
    rows = [np.flatnonzero((pairs == pair).all(axis=1)) for pair in problem["same_moment"]]
    chosen = np.concatenate([np.zeros(0, np.int64), *rows])
    chosen = chosen[:: max(1, len(chosen) // _SAMPLES)]
    counts = [
        sum(
            len(_geometry(cameras, problem, pairs[k], matches, _options(share * error, seed)).inlier_matches)
            for k in chosen.tolist()
            if len(matches := problem["matches"][start[k] : start[k + 1]]) >= _FEWEST
        )
        for share in _SHARES
    ]
    for share, count in zip(_SHARES, counts, strict=True):
        if count >= _MOST * counts[-1]:
            return share * error
    return error


def _options(error: float, seed: int) -> Any:
    options = pycolmap.TwoViewGeometryOptions()
    options.ransac.max_error, options.ransac.random_seed = error, seed
    return options


def _geometry(
    cameras: list[Any],
    problem: dict[str, Any],
    pair: NDArray[np.int64],
    matches: NDArray[np.int64],
    options: Any,
) -> Any:
    """Epipolar geometry of two pictures, and which matches agree with it."""
    start = problem["image_start"]
    one, two = (cameras[number] for number in problem["image_camera"][pair])
    x, y = (problem["image_xy"][start[image] : start[image + 1]] + SHIFT for image in pair.tolist())
    # unknown lenses get a fundamental matrix, which has more freedom to follow wrong matches
    known = one.model_name == two.model_name == _MODELS[True]
    estimate = (
        pycolmap.estimate_calibrated_two_view_geometry if known else pycolmap.estimate_two_view_geometry
    )
    return estimate(one, x, two, y, matches.astype(np.uint32), options)


def _standing(votes: NDArray[np.float64], start: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Points that stood still in most of their matches over time; all of a picture without such matches.

    Parameters
    ----------
    votes : (2, N) float64
        Matches over time of each point, and those in which it stood still.
    start : (n + 1,) int64
        First point of every picture.
    """
    judged = np.add.reduceat(np.append(votes[0], 0.0), start[:-1]) > 0
    return (votes[1] > _STILL * votes[0]) | ~np.repeat(judged, np.diff(start))
