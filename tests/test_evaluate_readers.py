"""Readers of other data sets: small files in their layouts, and the sets themselves where present."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from evaluation_sets import (
    BASELINE,
    FOCAL,
    HEIGHT,
    WIDTH,
    constant,
    sheet,
    write_four_frames,
    write_kitti,
    write_middlebury_stereo,
)
from shared_data import shared
from wideflow.errors import FileError
from wideflow.evaluate.datasets import steps_of
from wideflow.evaluate.datasets.carpetball import read_carpetball
from wideflow.evaluate.datasets.daimler import read_daimler
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.datasets.kitti import read_kitti
from wideflow.evaluate.datasets.middlebury_flow import read_middlebury_flow
from wideflow.evaluate.datasets.middlebury_stereo import read_middlebury_stereo
from wideflow.evaluate.datasets.sample import Sample, visible_of
from wideflow.evaluate.datasets.sintel import sintel_samples
from wideflow.files import write_flow, write_image
from wideflow.geometry import baseline, pixel_grid, points_from_depth, project, world_to_camera


def colour_difference(sample: Sample, flow: str, target: int) -> float:
    """Median difference of colours between where the flow starts and where it ends, over seen pixels."""
    uv, picture = getattr(sample, flow), sample.pictures[target]
    places = pixel_grid(uv.shape[1], uv.shape[0]).astype(np.float32) + np.nan_to_num(uv)
    there = cv2.remap(picture, places, None, cv2.INTER_LINEAR)
    known = sample.seen(flow) & np.isfinite(uv).all(axis=2)
    return float(np.median(np.abs(there - sample.pictures[0]).mean(axis=2)[known]))


def test_kitti(tmp_path: Path) -> None:
    write_kitti(tmp_path / "training")
    (source,) = read_kitti(tmp_path)
    sample = source.load()
    assert (source.name, sample.is_step) == ("000007", True)
    assert sample.stereo[10, 10] == pytest.approx([-6, 0])
    assert np.isnan(sample.stereo[0]).all()
    assert sample.optical[10, 10] == pytest.approx([3, 1])
    assert sample.loop[10, 10] == pytest.approx([-1, 1])
    assert not sample.seen("stereo")[10, :6].any()
    assert sample.seen("stereo")[10, 6:].all()
    assert sample.seen("optical").all()  # no flow_noc: nothing is known to be hidden
    for flow, target in (("stereo", 1), ("optical", 2), ("loop", 3)):
        assert colour_difference(sample, flow, target) < 0.01
    views = sample.frames[0].views
    assert baseline(*views) == pytest.approx(BASELINE)
    assert views[0].camera.K[0, 0] == FOCAL
    # a point at the depth of disparity 6 lies 6 px further left in the right camera
    depth = FOCAL * BASELINE / 6
    points = points_from_depth(views[0], np.full((HEIGHT, WIDTH), depth))
    right = project(views[1].camera, world_to_camera(views[1], points))
    assert np.allclose(right - pixel_grid(WIDTH, HEIGHT), [-6, 0])


@pytest.mark.parametrize("distributed", [False, True])
def test_middlebury_flow(tmp_path: Path, distributed: bool) -> None:
    pictures = tmp_path / ("other-data/Toy" if distributed else "Toy")
    truth = tmp_path / ("other-gt-flow/Toy" if distributed else "Toy")
    for folder in {pictures, truth}:
        folder.mkdir(parents=True)
    write_image(pictures / "frame10.png", sheet(0))
    write_image(pictures / "frame11.png", sheet(3, -2))
    flow = constant(3.0, -2.0)
    flow[0, 0] = np.nan
    write_flow(truth / "flow10.flo", flow)
    (source,) = read_middlebury_flow(tmp_path)
    sample = source.load()
    assert (source.name, sample.is_step, sample.stereo) == ("Toy", False, None)
    assert np.isnan(sample.optical[0, 0]).all()
    assert colour_difference(sample, "optical", 1) < 0.01
    if not distributed:
        assert read_middlebury_flow(pictures)[0].name == "Toy"


def test_middlebury_stereo_knows_its_scale(tmp_path: Path) -> None:
    write_middlebury_stereo(tmp_path / "Toy")
    (source,) = read_middlebury_stereo(tmp_path)
    sample = source.load()
    assert sample.stereo[5, 20] == pytest.approx([-5, 0])
    assert np.isnan(sample.stereo[:, 30]).all()
    assert not sample.seen("stereo")[:, :5].any()  # leaves the picture
    assert sample.seen("stereo")[:, 6:30].all()
    assert colour_difference(sample, "stereo", 1) < 0.01


def test_daimler(tmp_path: Path) -> None:
    disparity = constant(4.0)
    tables = {"Z": 1225 * 0.3 / disparity, "u": constant(0.0), "v": constant(0.0), "w": constant(1.0)}
    write_four_frames(tmp_path / "Toy", "Toy", "pgm", 2, tables)
    (source,) = read_daimler(tmp_path)
    sample = source.load()
    assert np.allclose(sample.stereo, [-4, 0], atol=1e-4)
    assert np.allclose(sample.loop, [-5, 0], atol=1e-4)
    assert not sample.seen("stereo")[:, :3].any()
    assert colour_difference(sample, "stereo", 1) < 0.01
    assert steps_of(tmp_path)[0].name == "Toy"


def test_carpetball(tmp_path: Path) -> None:
    tables = {"Z": constant(100.0), "u": constant(5.0), "v": constant(0.0), "w": constant(0.0)}
    folder = tmp_path / "Toy"
    write_four_frames(folder, "Toy", "png", 3, tables)
    cv2.imwrite(str(folder / "GroundTruth/Occlusions.png"), np.zeros((HEIGHT, WIDTH), np.uint8))
    (folder / "ProjMat").mkdir()
    (folder / "ProjMat/CMat0.txt").write_text("80 0 32\n0 80 20\n0 0 1")
    for view, shift in ((1, -5.0), (2, -10.0)):
        (folder / f"ProjMat/TMat{view}.txt").write_text(f"{shift}\n0\n0\n")
    assert [source.name for source in read_carpetball(tmp_path)] == ["Toy-1", "Toy-2"]
    sample = read_carpetball(tmp_path)[1].load()
    assert np.allclose(sample.stereo, [-8, 0], atol=1e-4)  # f t / Z
    assert np.allclose(sample.optical, [4, 0], atol=1e-4)
    assert colour_difference(sample, "stereo", 1) < 0.01
    with pytest.raises(FileError, match="holds no picture"):
        read_daimler(tmp_path)  # five views are another kind of set


def test_what_something_nearer_covers_is_not_seen() -> None:
    disparity = constant(2.0)
    disparity[10:20, 30:40] = 8.0  # a near square lands 6 px further left than what is behind it
    flow = np.stack([-disparity, 0 * disparity], axis=-1)
    seen = visible_of(flow, disparity)
    assert seen[10:20, 30:40].all()
    assert not seen[10:20, 24:30].any()
    assert seen[10:20, 2:24].all()
    assert seen[:10, 2:].all()
    assert not seen[:, :2].any()


@pytest.mark.parametrize(
    ("read", "part"),
    [
        (read_kitti, "image_2"),
        (read_middlebury_flow, "flow10.flo"),
        (read_middlebury_stereo, "disp1.png"),
        (read_daimler, "NAME_t0_0"),
        (read_carpetball, "NAME_t0_0"),
        (sintel_samples, "folder gt"),
        (handheld_samples, "cam0_0000.png"),
    ],
)
def test_a_folder_of_something_else_is_said_so(tmp_path: Path, read: object, part: str) -> None:
    with pytest.raises(FileError, match=part):
        read(tmp_path)
    with pytest.raises(FileError, match="is not a folder"):
        read(tmp_path / "none")


def test_damaged_sets_are_one_sentence(tmp_path: Path) -> None:
    write_kitti(tmp_path)
    calibration = tmp_path / "calib_cam_to_cam/000007.txt"
    calibration.write_text("P_rect_02: 1 2 3\n")
    with pytest.raises(FileError, match="no 3 x 4 matrix P_rect_02"):
        read_kitti(tmp_path)[0].load()
    write_image(tmp_path / "image_3/000007_10.png", np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(FileError, match="another size"):
        read_kitti(tmp_path)[0].load()
    tables = {key: constant(1.0) for key in "Zuvw"}
    write_four_frames(tmp_path / "Toy", "Toy", "pgm", 2, tables)
    (tmp_path / "Toy/GroundTruth/u/u_0000.txt").write_text("1 2 3\n4 5\n")
    with pytest.raises(FileError, match="not a table of numbers"):
        read_daimler(tmp_path / "Toy")[0].load()


@pytest.mark.parametrize(
    ("read", "name", "samples", "limit"),
    [
        (read_daimler, "sceneflow/Daimler", 1, 0.004),
        (read_carpetball, "sceneflow/CarpetBall", 4, 0.02),
        (read_middlebury_flow, "flow", 3, 0.02),
        (read_middlebury_stereo, "stereo", 3, 0.02),
        (sintel_samples, "sintel", 4, 0.02),
    ],
)
def test_the_truth_of_the_real_sets_fits_their_pictures(
    read: object, name: str, samples: int, limit: float
) -> None:
    sources = read(shared(name))
    assert len(sources) == samples
    sample = sources[0].load()
    targets = {"stereo": 1, "optical": 2, "loop": 3} if sample.is_step else {"stereo": 1, "optical": 1}
    for flow, target in targets.items():
        if getattr(sample, flow) is not None:
            assert colour_difference(sample, flow, target) < limit, flow
