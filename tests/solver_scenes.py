"""Points whose cameras are known, and where two cameras in hands see them."""

import numpy as np
from scipy.spatial.transform import Rotation

from wideflow.calibration.sightings.keys import Keys, number_poses
from wideflow.calibration.sightings.tracks import Tracks, join_tracks
from wideflow.calibration.solving.lens import LensPrior

SIZE = (640, 360)
LENS = np.array([[np.log(600.0), 322, 175, -0.05], [np.log(570.0), 317, 184, 0.02]])
KEYS = 8


def pixels(lens: np.ndarray, pose: np.ndarray, points: np.ndarray) -> np.ndarray:
    """A projection of its own, to hold the solver's against."""
    local = points @ pose[:, :3].T + pose[:, 3]
    flat = local[:, :2] / local[:, 2:]
    return np.exp(lens[0]) * flat * (1 + lens[3] * (flat**2).sum(axis=1, keepdims=True)) + lens[1:3]


def hands(rng: np.random.Generator, count: int) -> np.ndarray:
    """Poses (count, 2, 3, 4) of two cameras 14 degrees and 1.2 apart, held in the hand."""
    poses = np.empty((count, 2, 3, 4))
    for k in range(count):
        for camera in (0, 1):
            turn = Rotation.from_rotvec(rng.normal(0, 0.04, 3) + (0, 0.25 * camera, 0)).as_matrix()
            centre = rng.normal(0, 0.08, 3) + (1.2 * camera, 0, 0)
            poses[k, camera] = np.column_stack([turn, -turn @ centre])
    return poses


def seen(xy: np.ndarray) -> np.ndarray:
    return ((xy > 0) & (xy < np.array(SIZE))).all(axis=1)


def filmed(moving: float, speed: float) -> tuple[dict, Tracks, Keys, np.ndarray, np.ndarray]:
    """Matches and tracks of a scene, a part of which slides as one board; true poses; who moves."""
    rng = np.random.default_rng(3)
    poses = hands(rng, KEYS)
    number = 500
    points = rng.uniform((-2.2, -1.2, 4), (2.2, 1.2, 8), (number, 3))
    mover = np.zeros(number, bool)
    mover[: int(moving * number)] = True
    points[mover, 2] = 4.5  # a board
    matches, followed, who = {}, {}, []
    for key in range(0, KEYS, 2):
        at = points + np.where(mover[:, None], (speed * key, 0, 0), 0)
        xy = [pixels(LENS[c], poses[key, c], at) for c in (0, 1)]
        both = seen(xy[0]) & seen(xy[1])
        matches[key] = tuple(each[both] + rng.normal(0, 0.15, (both.sum(), 2)) for each in xy)
        who.append(mover[both])
        for camera in (0, 1):
            followed[key, camera] = {}
            for other in range(KEYS):
                if other == key:
                    continue
                then = points[both] + np.where(mover[both][:, None], (speed * other, 0, 0), 0)
                there = pixels(LENS[camera], poses[other, camera], then)
                good = np.flatnonzero(seen(there))
                followed[key, camera][other] = good, there[good] + rng.normal(0, 0.1, (len(good), 2))
    frames = np.arange(KEYS)
    keys = number_poses(frames, (frames, frames), ([], []), (False, False))
    return matches, join_tracks(matches, followed), keys, poses, np.concatenate(who)


def unknown_lenses() -> LensPrior:
    mean = np.array([[np.log(512.0), 319.5, 179.5, 0.0]] * 2)
    spread = np.array([[0.25, 6.4, 6.4, 0.06]] * 2)
    return LensPrior((None, None), (SIZE, SIZE), mean, spread, ("self-calibrated", "self-calibrated"))
