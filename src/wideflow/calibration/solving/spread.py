"""What the videos do not tell about the cameras: rigs that explain them about as well.

Everything is adjusted again with a part of the picture left out (the jackknife over parts of A's picture).
Neighbouring points err alike, as they are seen in the same light with the same lens, which this knows and a
covariance does not. But eight parts may agree by chance, or err alike; how steep the valley of the lenses is
tells the rest: the covariance of the adjustment, for sightings as bad as the lenses turn out to be.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from wideflow.calibration.sightings.keys import Keys
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.bundle import NOISE, Bundle, adjust, deviations, joined, parted
from wideflow.calibration.solving.lens import LensPrior
from wideflow.calibration.solving.world import LAST_SCALE, World
from wideflow.types import Rig, RigFrame, View

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_PARTS = (4, 2)  # of A's picture
_SCALE = 0.3  # px of a picture 640 wide
_STEPS = 5
_WIDER = 1.5  # true errors of focal lengths over those of the jackknife, on eleven clips


def alternative_rigs(
    rig: Rig, world: World, tracks: Tracks, keys: Keys, prior: LensPrior, frames: tuple[Ints, Ints]
) -> tuple[Rig, ...]:
    """Rigs that are one standard deviation from ``rig``, each in another direction."""
    parts, valley = _by_parts(world, tracks, prior), _by_valley(world, prior)
    lenses, steps = (np.concatenate(both) for both in zip(parts, valley, strict=True))
    return tuple(
        _moved_rig(rig, world.bundle.lenses + lens, step, keys, prior, frames)
        for lens, step in zip(lenses, steps, strict=True)
    )


def _by_parts(world: World, tracks: Tracks, prior: LensPrior) -> tuple[Floats, Floats]:
    """Steps (m, 2, 4) of the lenses and (m, n, 6) of the poses that the jackknife gives."""
    bundles = left_out(world, tracks, prior)
    lenses = np.stack([world.bundle.lenses, *(each.lenses for each in bundles)])[1:]
    poses = [world.bundle.poses, *(each.poses for each in bundles)]
    steps = np.stack([_steps(world.bundle.poses, each) for each in poses])[1:]
    if not bundles:
        return lenses, steps
    wide = _WIDER * np.sqrt((len(bundles) - 1) / len(bundles))
    return wide * (lenses - lenses.mean(axis=0)), wide * (steps - steps.mean(axis=0))


def _by_valley(world: World, prior: LensPrior) -> tuple[Floats, Floats]:
    """The same from the covariance of the adjustment; nothing where the lenses are known."""
    unit = max(map(max, prior.sizes)) / 640
    lenses, steps = deviations(joined(world.bundle, world.pairs), LAST_SCALE * unit, NOISE * unit)
    return lenses, steps[:, : len(world.bundle.poses)]


def left_out(world: World, tracks: Tracks, prior: LensPrior) -> list[Bundle]:
    """The world adjusted without each of some parts of A's picture in turn."""
    bundle = world.bundle
    own = tracks.matched & (tracks.camera == 0)
    where = np.zeros((len(tracks.moment), 2))
    where[tracks.point[own]] = tracks.xy[own]
    cell = np.clip((where * _PARTS / prior.sizes[0]).astype(np.int64), 0, np.array(_PARTS) - 1)
    part = cell[:, 0] + _PARTS[0] * cell[:, 1]
    unit = max(map(max, prior.sizes)) / 640
    found = []
    for number in range(_PARTS[0] * _PARTS[1]):
        kept = [np.where(part[each.point] == number, 0.0, each.weight) for each in (bundle, world.pairs)]
        if (kept[0] != bundle.weight).any():
            start = joined(replace(bundle, weight=kept[0]), replace(world.pairs, weight=kept[1]))
            start = adjust(start, _SCALE * unit, _STEPS, noise=NOISE * unit, damping=1e-9)
            found.append(parted(start, bundle, world.pairs)[0])
    return found


def _steps(poses: Floats, others: Floats) -> Floats:
    """Small turns and shifts (n, 6) in the cameras' frames from poses to others."""
    turn = np.einsum("nij,nkj->nik", others[:, :, :3], poses[:, :, :3])
    shift = others[:, :, 3] - np.einsum("nij,nj->ni", turn, poses[:, :, 3])
    return np.concatenate([Rotation.from_matrix(turn).as_rotvec(), shift], axis=1)


def _moved_rig(
    rig: Rig, lenses: Floats, steps: Floats, keys: Keys, prior: LensPrior, frames: tuple[Ints, Ints]
) -> Rig:
    """The rig with other lenses, and its poses moved as those of the key moments, between them by a line."""
    cameras = [prior.camera(camera, lenses[camera]) for camera in (0, 1)]
    partner = dict(zip(frames[0].tolist(), frames[1].tolist(), strict=True))
    rows = []
    for frame in rig.frames:
        views = []
        for camera, number in ((0, frame.index), (1, partner[frame.index])):
            at = keys.frames[camera]
            step = np.array([np.interp(number, at, steps[keys.pose[camera], i]) for i in range(6)])
            turn = Rotation.from_rotvec(step[:3]).as_matrix()
            pose = frame.views[camera].cam_from_world
            views.append(
                View(cameras[camera], np.column_stack([turn @ pose[:, :3], turn @ pose[:, 3] + step[3:]]))
            )
        rows.append(RigFrame(frame.index, frame.times, (views[0], views[1])))
    return Rig((cameras[0], cameras[1]), tuple(rows))
