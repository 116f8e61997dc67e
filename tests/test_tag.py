"""A printed tag: the page, its corners in a picture, and the length of its side against a known truth."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from wideflow.calibration.tag_length import Sightings, measure_tag
from wideflow.calibration.tag_page import tag_page
from wideflow.cli import main
from wideflow.config import Config
from wideflow.files import read_rig, write_rig
from wideflow.geometry import baseline, project, world_to_camera
from wideflow.geometry.tags import find_tags, side_length, tag_cells
from wideflow.pipeline.before.prepare import make_plan
from wideflow.pipeline.job import Job
from wideflow.pipeline.scale import KnownScale
from wideflow.progress import silent
from wideflow.types import Camera, Rig, RigFrame, View
from wideflow.verdict.judge import scale_findings, scale_words

SIZE = (240, 160)
SQUARE = np.array([(-1.0, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) / 2  # side 1, as the corners come
FOCAL, SIDE, WALL = 210.0, 0.48, 2.5


@pytest.mark.parametrize(("paper", "side", "number"), [("a4", 0.2, 0), ("letter", 0.12, 33)])
def test_the_page_has_the_tag_and_the_ruler_in_true_size(
    paper: str, side: float, number: int, tmp_path: Path
) -> None:
    data = tag_page(side, number, paper)
    for count, place in enumerate(re.findall(rb"(\d{10}) 00000 n", data), 1):
        assert data[int(place) :].startswith(b"%d 0 obj" % count)
    if shutil.which("pdftoppm") is None:
        pytest.skip("pdftoppm of poppler-utils is not installed")
    (tmp_path / "tag.pdf").write_bytes(data)
    dots = 72
    subprocess.run(["pdftoppm", "-r", str(dots), "-gray", "tag.pdf", "page"], cwd=tmp_path, check=True)
    page = cv2.imread(str(next(tmp_path.glob("page*.pgm"))), cv2.IMREAD_GRAYSCALE)
    found = find_tags(page)
    assert list(found) == [number]
    metre = dots / 0.0254
    assert side_length(found[number]) / metre == pytest.approx(side, rel=0.004)
    foot = round(page.shape[0] - 0.00815 * metre)  # of the ruler
    line = page[foot - 1 : foot + 2].min(axis=0)
    assert np.ptp(np.flatnonzero(line < 230)) / metre == pytest.approx(0.1, abs=0.001)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tag.png"], "goes into .pdf"),
        (["tag.pdf", "--size", "0.3"], "does not go on a4"),
        (["tag.pdf", "--id", "587"], "0 to 586"),
        (["tag.pdf", "--paper", "a3"], "a4 or letter"),
    ],
)
def test_a_page_that_cannot_be_is_one_sentence(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / words[0]
    assert main(["tag", "-o", str(out), *words[1:]]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not out.exists()


def wall(number: int | None) -> np.ndarray:
    """A wall of 4 x 4 m with texture and, in its middle, a tag; linear light, 200 px a metre."""
    rng = np.random.default_rng(5)
    out = cv2.resize(rng.uniform(0.05, 0.9, (100, 100)).astype(np.float32), (800, 800))
    if number is not None:
        cell = round(SIDE * 200 / 8)
        tag = np.kron(np.pad(tag_cells(number), 1, constant_values=True), np.ones((cell, cell)))
        low = 400 - 5 * cell
        out[low : low + 10 * cell, low : low + 10 * cell] = 0.05 + 0.8 * tag
    return out


def view(centre: tuple[float, float, float], turn: float, gain: float = 1.0) -> View:
    """A camera near the origin that looks at the wall z = WALL, turned by radians about y."""
    K = np.array([[FOCAL * gain, 0, 119.5], [0, FOCAL * gain, 79.5], [0, 0, 1]])
    R = cv2.Rodrigues(np.array([0.02, turn, 0.03]))[0]
    return View(Camera("a", *SIZE, K), np.column_stack([R, -R @ np.array(centre)]))


def rig() -> Rig:
    frames = []
    for k in range(3):
        views = view((-0.4 + 0.05 * k, 0.03 * k, 0), -0.16), view((0.4, 0.05 * k, 0.1), 0.14 + 0.01 * k)
        frames.append(RigFrame(k, (k / 10, k / 10), views))
    return Rig((frames[0].views[0].camera, frames[0].views[1].camera), tuple(frames))


def picture(seen: View, surface: np.ndarray) -> np.ndarray:
    """What a view shows of the wall, (H, W) uint8 with a gamma of 2.2."""
    big = 4
    K = np.diag([big, big, 1]) @ (seen.camera.K + [[0, 0, 0.5], [0, 0, 0.5], [0, 0, 0]])
    # texels to metres on the wall, to pixels of a picture four times as large
    metres = np.array([[0.005, 0, 0.0025 - 2], [0, 0.005, 0.0025 - 2], [0, 0, WALL], [0, 0, 1]])
    H = np.array([[1, 0, -0.5], [0, 1, -0.5], [0, 0, 1]]) @ K @ seen.cam_from_world @ metres
    size = SIZE[0] * big, SIZE[1] * big
    light = cv2.resize(cv2.warpPerspective(surface, H, size), SIZE, interpolation=cv2.INTER_AREA)
    return (np.clip(light, 0, 1) ** (1 / 2.2) * 255 + 0.5).astype(np.uint8)


def test_corners_are_found_below_the_pixel() -> None:
    seen = rig().frames[1].views[0]
    found = find_tags(picture(seen, wall(9)))
    true = project(seen.camera, world_to_camera(seen, SIDE * SQUARE + [0, 0, WALL]))
    assert list(found) == [9]
    assert np.abs(found[9] - true).max() < 0.06
    assert find_tags(picture(seen, wall(None))) == {}


@pytest.mark.parametrize("moves", [0.0, 0.2])
def test_the_side_is_measured_whether_the_tag_stands_or_moves(moves: float) -> None:
    cameras, rng = rig(), np.random.default_rng(2)
    rows = [
        (f.index, c, project(v.camera, world_to_camera(v, SIDE * SQUARE + [moves * f.index, 0, WALL])))
        for f in cameras.frames
        for c, v in enumerate(f.views)
    ]
    frame, camera, corners = (np.array(part) for part in zip(*rows, strict=True))
    found = measure_tag(cameras, Sightings(1, frame, camera, corners))
    assert found is not None
    assert found.still == (moves == 0)
    assert found.side == pytest.approx(SIDE, rel=1e-6)
    assert found.distance[1] == pytest.approx(2.4, rel=0.1)
    noisy = measure_tag(cameras, Sightings(1, frame, camera, corners + rng.normal(0, 0.1, corners.shape)))
    assert noisy is not None
    assert abs(noisy.side / SIDE - 1) < 3 * noisy.error < 0.05
    # of a tag that moves, pictures of different moments tell nothing together
    alone = np.array([0, 3])
    apart = measure_tag(cameras, Sightings(1, frame[alone], camera[alone], corners[alone]))
    assert (apart is None) == (moves > 0)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of two pictures with a tag, one without, and the cameras in a unit of 2 m."""
    out = tmp_path_factory.mktemp("tags")
    for name, camera, surface in (("a", 0, wall(9)), ("b", 1, wall(9)), ("b_plain", 1, wall(None))):
        (out / name).mkdir()
        for frame in rig().frames[:2]:
            cv2.imwrite(str(out / name / f"{frame.index}.png"), picture(frame.views[camera], surface))
    frames = tuple(
        replace(f, views=tuple(View(v.camera, v.cam_from_world * [1, 1, 1, 0.5]) for v in f.views))
        for f in rig().frames[:2]
    )
    write_rig(out / "rig.json", Rig(rig().cameras, frames))
    return out


def calibrated(clips: Path, b: str, *more: str) -> int:
    words = ["calibrate", str(clips / "a"), str(clips / b), "-o", str(clips / "found.json"), "--fps", "10"]
    return main([*words, "--rig", str(clips / "rig.json"), "--offset", "0", *more])


@pytest.mark.parametrize("size", [SIDE, 2 * SIDE])
def test_a_tag_in_the_videos_sets_the_scale_and_a_wrong_size_is_seen(
    size: float, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrated(clips, "b", "--tag-size", str(size)) == 0
    found = read_rig(clips / "found.json")
    for one, two in zip(found.frames, rig().frames[:2], strict=True):
        assert baseline(*one.views) == pytest.approx(baseline(*two.views) * size / SIDE, rel=0.005)
    report = json.loads((clips / "calibration.json").read_text())
    assert f"tag 9 of {size:g} m" in report["scale"]
    assert 0 < report["scale_error"] < 0.01
    apart = re.search(r"the cameras are ([0-9.]+) m apart .* ([0-9.]+) m from A", report["scale_means"])
    assert apart is not None
    true = np.mean([baseline(*frame.views) for frame in rig().frames[:2]]) * size / SIDE
    assert float(apart[1]) == pytest.approx(true, rel=0.01)
    assert float(apart[2]) == pytest.approx(2.53 * size / SIDE, rel=0.02)
    assert apart[0] in capsys.readouterr().out


def test_a_run_notices_another_size(clips: Path) -> None:
    apart = {}
    for size in (SIDE, None, SIDE):
        job = Job(
            clips / "a", clips / "b", str(clips / "run"), Config(), rig=read_rig(clips / "rig.json"),
            offset=0.0, scale=KnownScale(tag=size), fps=10.0,
        )  # fmt: skip
        plan, found = make_plan(job, silent)
        lengths = [baseline(*frame.views) for frame in plan.rig.frames]
        assert apart.setdefault(size, lengths) == lengths
        wanted = SIDE / 2 if size is None else size
        true = [baseline(*frame.views) * wanted / SIDE for frame in rig().frames[:2]]
        assert lengths == pytest.approx(true, rel=0.005)
        said = "the calibration given" if size is None else f"tag 9 of {size:g} m"
        assert said in found["calibration"]["scale"]


def test_a_tag_that_is_not_there_is_one_sentence(clips: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calibrated(clips, "b_plain", "--tag-size", "0.48", "-q") == 2
    error = capsys.readouterr().err
    assert "seen by A only" in error
    assert "wideflow tag" in error
    assert error.count("\n") == 1


def test_the_verdict_says_where_the_scale_comes_from() -> None:
    (unknown,) = scale_findings({"scale": "unknown", "scale_error": None})
    assert "unknown" in unknown.sentence
    assert scale_findings({"scale": "free"}) == ()  # of a result of before
    given = {"scale": "tag 3 of 0.2 m", "scale_error": 0.0042, "scale_means": "the cameras are 0.8 apart"}
    assert scale_words(given) == "tag 3 of 0.2 m, known to 0.4 %; the cameras are 0.8 apart"
    assert [finding.grade for finding in scale_findings(given)] == ["good"]
    assert [finding.grade for finding in scale_findings(given | {"scale_error": 0.05})] == ["weak"]
