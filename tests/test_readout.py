"""The read-out of rolling shutters, from sightings of points whose cameras are known."""

from dataclasses import replace

import numpy as np
import pytest

from solver_scenes import LENS as TRUE
from solver_scenes import SIZE, filmed, unknown_lenses
from wideflow.calibration.sightings.crossing import Crossing, unrolled
from wideflow.calibration.sightings.matches import Pixels
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.lens import LensPrior, plain_camera
from wideflow.calibration.solving.moments import solve_moments
from wideflow.calibration.solving.readout import settle_readouts
from wideflow.calibration.solving.world import World, build_world


def rolled_sightings(
    readouts: tuple[float, float], shake: float = 1.0
) -> tuple[Tracks, dict[int, Pixels], Crossing]:
    """Sightings of a rolling shutter, made from those of one that opens at once, and how they cross."""
    matches, tracks, keys, *_ = filmed(0.3, 0.12)
    rng = np.random.default_rng(1)
    pan = shake * rng.normal(0, 250, (2, len(keys), 2))  # px a second, of each picture
    turn = shake * rng.normal(0, 0.4, (2, len(keys)))  # radians a second, about its middle
    arm = tracks.xy - np.array(SIZE) / 2
    spin = turn[tracks.camera, tracks.key][:, None] * np.stack([-arm[:, 1], arm[:, 0]], axis=1)
    speed = pan[tracks.camera, tracks.key] + spin
    xy, readout = tracks.xy.copy(), np.array(readouts)[tracks.camera]
    for _ in range(4):
        row = (xy[:, 1] + 0.5) / SIZE[1] - 0.5
        xy = tracks.xy + (readout * row)[:, None] * speed
    crossing = Crossing(speed, np.zeros_like(speed), (xy[:, 1] + 0.5) / SIZE[1] - 0.5, np.zeros(len(xy)))
    rolled = replace(tracks, xy=xy)
    moved = xy - tracks.xy
    parts, first = {}, 0
    both = [moved[tracks.matched & (tracks.camera == camera)] for camera in (0, 1)]
    for key, (a, b) in matches.items():
        own = slice(first, first + len(a))
        parts[key] = a + both[0][own], b + both[1][own]
        first += len(a)
    return rolled, parts, crossing


def world_of(tracks: Tracks, matches: dict[int, Pixels], prior: LensPrior | None = None) -> World:
    keys, prior = filmed(0.3, 0.12)[2], prior or unknown_lenses()
    moments = solve_moments(matches, prior)
    assert moments is not None
    world = build_world(tracks, moments, keys, prior, 0)
    assert world is not None
    return world


def test_read_outs_are_found_and_sightings_brought_to_one_time() -> None:
    readouts = 0.02, 0.013
    tracks, matches, crossing = rolled_sightings(readouts)
    found = settle_readouts(tracks, matches, unknown_lenses(), [0, 1], lambda: crossing, world_of)
    assert found.readout.seconds == pytest.approx(readouts, abs=0.001)
    assert max(found.readout.spread) < 0.002
    true = filmed(0.3, 0.12)[1]
    assert np.abs(found.tracks.xy - true.xy).mean() < 0.05 * np.abs(tracks.xy - true.xy).mean()
    for key, pair in filmed(0.3, 0.12)[0].items():
        assert np.abs(np.subtract(found.matches[key], pair)).max() < 0.5


def test_without_a_rolling_shutter_nothing_changes_and_none_is_said() -> None:
    tracks, matches, crossing = rolled_sightings((0.0, 0.0))
    built: list[World] = []

    def build(tracks: Tracks, matches: dict[int, Pixels]) -> World:
        built.append(world_of(tracks, matches))
        return built[-1]

    found = settle_readouts(tracks, matches, unknown_lenses(), [0, 1], lambda: crossing, build)
    assert found.readout.seconds == (0.0, 0.0)
    assert max(found.readout.spread) < 0.002
    assert found.tracks is tracks
    assert found.matches is matches
    assert found.world is built[0]
    assert len(built) == 1


def test_cameras_that_hardly_move_and_those_not_asked_tell_nothing() -> None:
    tracks, matches, crossing = rolled_sightings((0.02, 0.02), shake=0.001)
    found = settle_readouts(tracks, matches, unknown_lenses(), [0], lambda: crossing, world_of)
    assert found.readout.seconds == (0.0, 0.0)
    assert found.readout.spread[0] > 0.05
    assert np.isinf(found.readout.spread[1])
    nobody = settle_readouts(tracks, matches, unknown_lenses(), [], lambda: pytest.fail("asked"), world_of)
    assert np.isnan(nobody.readout.spread).all()


def test_a_lens_file_may_tell_the_read_out() -> None:
    tracks, matches, crossing = rolled_sightings((0.02, 0.02))
    given = replace(plain_camera("b", SIZE, TRUE[1]), readout=0.02)
    free = unknown_lenses()
    prior = replace(
        free,
        given=(None, given),
        mean=np.stack([free.mean[0], [*TRUE[1, :3], 0.0]]),
        spread=np.stack([free.spread[0], np.zeros(4)]),
    )
    built: list[Tracks] = []

    def build(tracks: Tracks, matches: dict[int, Pixels]) -> World:
        built.append(tracks)
        return world_of(tracks, matches, prior)

    found = settle_readouts(tracks, matches, prior, [1], lambda: crossing, build)
    assert found.readout.seconds == (0.0, 0.02)
    assert found.readout.spread[1] == 0.0
    assert np.isnan(found.readout.spread[0])
    assert len(built) == 1
    np.testing.assert_array_equal(built[0].xy, unrolled(tracks, matches, crossing, (0.0, 0.02))[0].xy)
