"""Rolling shutters: pictures, sightings and results brought to the time of the middle row."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from wideflow import scene_flow
from wideflow.calibration.sightings.crossing import find_crossings
from wideflow.calibration.sightings.keys import number_poses
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.calibration.solving.placing import _crossed
from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.rolled import as_rolled, rolls
from wideflow.evaluate.stage_result import StageResult
from wideflow.files import write_image
from wideflow.geometry import ideal_camera, pixel_grid, project, unproject
from wideflow.geometry.flows import truth_flows
from wideflow.geometry.rolling import row_delay
from wideflow.geometry.undistorter import Undistorter
from wideflow.geometry.unrolled import find_crossing
from wideflow.pipeline.step.flows import ideal_picture
from wideflow.pipeline.tasks.do import _film
from wideflow.pipeline.tasks.plan import Plan
from wideflow.synth import SynthConfig
from wideflow.synth.studio import Studio
from wideflow.types import Camera, Rig, RigFrame, View
from wideflow.verdict.judge import calibration_findings
from wideflow.video.read import Video

LENS = Camera("a", 160, 96, np.array([[130.0, 0, 80], [0, 130, 47], [0, 0, 1]]), readout=0.02)
FPS = 30.0
SPEED, CHANGE = np.array([240.0, -90.0]), np.array([-420.0, 300.0])  # px a second, and in a second


@pytest.fixture(scope="module")
def wall() -> np.ndarray:
    """Texture without end to film, (h, w, 3) uint8."""
    noise = np.random.default_rng(0).uniform(0, 255, (400, 500, 3)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 2.5)
    return np.clip(128 + 6 * (smooth - 128), 0, 255).astype(np.uint8)


def shown(wall: np.ndarray, time: np.ndarray, camera: Camera = LENS) -> np.ndarray:
    """The wall as pixels exposed at their own times (H, W) show it: it slides across, ever differently."""
    way = time[..., None] * SPEED + 0.5 * time[..., None] ** 2 * CHANGE
    places = (pixel_grid(*camera.size) + (160, 140) - way).astype(np.float32)
    return np.asarray(cv2.remap(wall, places, None, cv2.INTER_CUBIC))


def taken(wall: np.ndarray, frame: int, camera: Camera = LENS) -> np.ndarray:
    late = row_delay(camera, np.arange(camera.height))[:, None]
    return shown(wall, np.broadcast_to(frame / FPS + late, (camera.height, camera.width)), camera)


def off(one: np.ndarray, two: np.ndarray) -> float:
    """Mean difference within the picture."""
    return float(np.abs(one[10:-10, 12:-12].astype(float) - two[10:-10, 12:-12]).mean())


def test_rows_are_brought_to_the_time_of_the_middle_one(wall: np.ndarray) -> None:
    at_once = shown(wall, np.zeros((96, 160)))
    lens = Undistorter(LENS, replace(LENS, readout=0.0))
    assert lens.rolls
    assert lens.known.all()
    rolled, around = taken(wall, 0), [(step / FPS, taken(wall, step)) for step in (-1, 1)]
    still = lens(rolled)
    np.testing.assert_array_equal(still, rolled)  # nothing tells how it moves
    both, one = lens(rolled, around), lens(rolled, around[1:])
    assert off(still, at_once) > 10
    assert off(both, at_once) < 0.06 * off(still, at_once)
    # from one side the change of speed is not known
    assert off(both, at_once) < off(one, at_once) < 0.1 * off(still, at_once)


def test_a_shutter_that_opens_at_once_needs_no_neighbours(wall: np.ndarray) -> None:
    plain = replace(LENS, readout=0.0)
    lens = Undistorter(plain, plain)
    assert not lens.rolls
    asked: list[int] = []

    def read(step: int) -> tuple[float, np.ndarray]:
        asked.append(step)
        return 0.0, taken(wall, step, plain)

    np.testing.assert_array_equal(ideal_picture(lens, read), taken(wall, 0, plain))
    assert asked == [0]


def test_a_lens_is_taken_out_together_with_the_shutter(wall: np.ndarray) -> None:
    bent = replace(LENS, distortion=np.array([-0.12, 0, 0, 0]))
    ideal = replace(ideal_camera(bent), readout=0.0)
    plain = Undistorter(replace(bent, readout=0.0), ideal)
    rows = row_delay(bent, np.arange(96))[:, None] + np.zeros((96, 160))

    def through(time: np.ndarray) -> np.ndarray:
        # the ideal picture of any time, drawn through the lens
        places = project(ideal, unproject(bent, pixel_grid(160, 96))).astype(np.float32)
        way = time[..., None] * SPEED + 0.5 * time[..., None] ** 2 * CHANGE
        return np.asarray(
            cv2.remap(wall, (places + (160, 140) - way).astype(np.float32), None, cv2.INTER_CUBIC)
        )

    lens = Undistorter(bent, ideal)
    found = lens(through(rows), [(step / FPS, through(step / FPS + rows)) for step in (-1, 1)])
    true = shown(wall, np.zeros((96, 160)))
    assert off(found, true) < 0.15 * off(plain(through(rows)), true)
    np.testing.assert_array_equal(lens.known, plain.known)


def test_crossing_tells_speed_and_its_change(wall: np.ndarray) -> None:
    grey = [cv2.cvtColor(taken(wall, step), cv2.COLOR_RGB2GRAY) for step in (0, -1, 1)]
    speed, change = find_crossing(grey[0], [(-1 / FPS, grey[1]), (1 / FPS, grey[2])], LENS.readout)
    late = row_delay(LENS, np.arange(96))[:, None, None]
    true = SPEED + late * CHANGE + np.zeros((96, 160, 2))
    inner = slice(12, -12), slice(14, -14)
    assert np.abs(speed - true)[inner].mean() < 4
    assert np.median(change[inner], axis=(0, 1)) == pytest.approx(CHANGE, abs=250)
    nothing = find_crossing(grey[0], [], LENS.readout)
    assert not np.any(nothing)


def test_crossing_has_the_same_bits_for_any_number_of_threads(wall: np.ndarray) -> None:
    grey = [cv2.cvtColor(taken(wall, step), cv2.COLOR_RGB2GRAY) for step in (0, 1)]
    threads, found = cv2.getNumThreads(), []
    for number in (1, 3):
        cv2.setNumThreads(number)
        found.append(find_crossing(grey[0], [(1 / FPS, grey[1])], LENS.readout)[0])
    cv2.setNumThreads(threads)
    np.testing.assert_array_equal(*found)


@pytest.fixture(scope="module")
def clip(wall: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five pictures of the wall."""
    folder = tmp_path_factory.mktemp("clip")
    for frame in range(5):
        write_image(folder / f"{frame}.png", taken(wall, frame - 2))
    return folder


def test_sightings_know_how_they_cross_their_pictures(wall: np.ndarray, clip: Path) -> None:
    with Video(clip, FPS) as video:
        shown_at, every = np.array([0, 2, 4]), np.arange(5)
        grey = [cv2.cvtColor(taken(wall, frame - 2), cv2.COLOR_RGB2GRAY) for frame in shown_at]
        keys = number_poses(shown_at, (every, every), (grey, grey), (False, True))
        xy = np.tile([[60.0, 30.0], [90.0, 70.0]], (6, 1))
        camera, key = np.repeat([0, 1], 6), np.tile(np.repeat([0, 1, 2], 2), 2)
        tracks = Tracks(np.zeros(12, np.int64), np.arange(12), camera, key, xy)
        found = find_crossings((video, video), keys, tracks, lambda *_: None)
    late = (shown_at[key] - 2) / FPS + row_delay(LENS, xy[:, 1])
    true = SPEED + late[:, None] * CHANGE
    assert found.speed[:6] == pytest.approx(true[:6], abs=20)  # from one side at the ends of the clip
    assert found.speed[2:4] == pytest.approx(true[2:4], abs=8)
    assert not found.speed[6:].any()  # B stands
    assert found.row == pytest.approx((xy[:, 1] + 0.5) / 96 - 0.5)
    moved = found.shift(camera, (LENS.readout, 0.0))[2:4]
    late = row_delay(LENS, xy[2:4, 1])[:, None]
    assert moved == pytest.approx(-late * SPEED - 0.5 * late**2 * CHANGE, abs=0.1)


def test_a_path_tells_how_points_cross_the_picture(clip: Path) -> None:
    point = np.array([[0.3, -0.2, 4.0]])
    path = {t: np.column_stack([np.eye(3), [0.1 * t + 0.02 * t**2, 0, 0]]) for t in range(3)}
    with Video(clip, FPS) as video:
        speed, change = _crossed(LENS, path, 1, video, point)
        one = _crossed(LENS, {1: path[1], 2: path[2]}, 1, video, point)
        nothing = _crossed(LENS, {1: path[1]}, 1, video, point)
    scale = 130 / 4.0
    assert speed[0] == pytest.approx([scale * 0.14 * FPS, 0])
    assert change[0] == pytest.approx([scale * 0.04 * FPS**2, 0])
    assert one[0][0] == pytest.approx([scale * 0.16 * FPS, 0])
    assert not np.any([one[1], *nothing])


def test_a_run_reads_neighbours_where_rows_roll(wall: np.ndarray, clip: Path) -> None:
    ideal = replace(LENS, readout=0.0)
    views = (View(LENS, np.eye(3, 4)), View(ideal, np.eye(3, 4)))
    frames = tuple(RigFrame(t, (t / FPS, t / FPS), views) for t in (2, 3))
    rig = Rig((LENS, ideal), frames)
    plan = Plan("out", (str(clip),) * 2, FPS, ("1", "2"), ((2, 2), (4, 4)), rig, rig, Config())
    film, lens = _film(plan, 0), Undistorter(LENS, ideal)
    found = ideal_picture(lens, lambda step: film(0, step))
    around = [(step / FPS, taken(wall, step)) for step in (-1, 1)]
    np.testing.assert_array_equal(found, lens(taken(wall, 0), around))
    np.testing.assert_array_equal(film(1, 0)[1], taken(wall, 0))  # type: ignore[index]
    assert _film(plan, 1)(0, 1) is None  # the clip ends
    other = replace(plan, filmed=Rig((ideal, ideal), frames))
    assert plan.lenses[0] != other.lenses[0]
    assert plan.lenses[1] == other.lenses[1]


def test_pictures_of_one_time_cannot_tell_how_rows_roll(wall: np.ndarray) -> None:
    views = (View(LENS, np.eye(3, 4)), View(LENS, np.column_stack([np.eye(3), [-0.3, 0, 0]])))
    rig = Rig((LENS, LENS), tuple(RigFrame(t, (0.0, 0.0), views) for t in (0, 1)))
    with pytest.raises(InputError, match="rows of a rolling shutter need two frames at different times"):
        scene_flow(*[taken(wall, 0)] * 4, rig)


def test_a_right_result_of_one_time_is_right_for_rows_at_their_own() -> None:
    config = SynthConfig(
        seed=3, size=(64, 40), place="courtyard", photometric="off", angle=12, tremor=3.0, path="walk",
        rolling_shutter=0.02, frames=2, distortion=(0.0, 0.0),
    )  # fmt: skip
    studio = Studio(config, 1, None)
    rig, rolled = studio.rig(), studio.truth(0, 0)
    both = rig.frame(0), rig.frame(1)
    opened = Studio(replace(config, rolling_shutter=0.0), 1, None)
    true = opened.truth(0, 0)
    flows = truth_flows(true, opened.rig().frame(0), opened.rig().frame(1), 0)
    of_rows = truth_flows(rolled, *both, 0)
    seen = {"stereo": rolled.stereo_visible, "optical": rolled.optical_visible, "loop": rolled.loop_visible}
    pictures = (np.zeros((40, 64, 3), np.float32),) * 4
    sample = Sample(
        "s", pictures, both, of_rows.stereo, of_rows.optical, of_rows.loop, rolled.depth, rolled.motion, seen
    )
    assert rolls(sample)
    right = StageResult("refine", flows.stereo, flows.optical, flows.loop, true.depth, true.motion)
    found = as_rolled(sample, right)
    everywhere = sample.seen("stereo", "optical", "loop") & np.isfinite(rolled.depth)
    for name in ("stereo", "optical", "loop"):
        error, before = (
            np.linalg.norm(getattr(each, name) - getattr(sample, name), axis=2)[everywhere]
            for each in (found, right)
        )
        assert np.nanmedian(error) < 0.2 * np.nanmedian(before), name
    depth, before_depth = (np.abs(each.depth / rolled.depth - 1)[everywhere] for each in (found, right))
    assert np.nanmedian(depth) < 0.5 * np.nanmedian(before_depth)
    assert found.stage == "refine"


def test_the_report_says_how_long_rows_take() -> None:
    angles = np.array([12.0])
    (said,) = calibration_findings({"readout": [0.0203, 0.0], "source": "what stands still"}, angles)
    assert (
        "rows are exposed over 20.3 ms (A) and an unknown time (B) and brought to one time" in said.sentence
    )
    (quiet,) = calibration_findings({"readout": [0.0, 0.0]}, angles)
    assert "rows" not in quiet.sentence
    (standing,) = calibration_findings({"readout": [0.0, 0.0], "static": [True, True]}, angles)
    assert "cameras that stand still do not tell whether their rows are exposed at once" in standing.sentence
    (older,) = calibration_findings({}, angles)
    assert older.sentence == quiet.sentence
