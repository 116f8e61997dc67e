"""The report says what is there, in plain words, in one file of bounded size."""

import base64
import json
import math
import re
import zlib
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from result_scenes import perfect_result
from wideflow.demo.score import DemoScore
from wideflow.errors import FileError
from wideflow.report import write_report
from wideflow.report.cloud import moment_cloud, pack, point_stride
from wideflow.report.overview import camera_motion
from wideflow.report.panels import colour_fit, overlay
from wideflow.report.sections import truth_section
from wideflow.storage.result import Result, spread
from wideflow.verdict import Finding, Verdict

PANELS = ("a", "b", "stereo", "depth", "occluded", "confidence", "overlay", "source", "moving")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    perfect_result(place)
    return place / "out"


def moments_of(page: str) -> dict[int, dict]:
    found = re.findall(r'<script type="application/json" id="moment-(\d+)">(.*?)</script>', page, re.DOTALL)
    return {int(number): json.loads(text) for number, text in found}


def unpacked(text: str, width: int, height: int) -> np.ndarray:
    """What decode.js does, in Python."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).astype(np.int64)
    code = (planes[: width * height] << 8 | planes[width * height :]).reshape(height, width)
    change = (code >> 1) ^ -(code & 1)
    change[:, 0] = np.cumsum(change[:, 0])
    return np.cumsum(change, axis=1).astype(np.uint16)


def test_the_page_holds_every_part_and_nothing_from_elsewhere(folder: Path) -> None:
    page = Path(write_report(folder)).read_text()
    for words in (
        "It worked.",
        "B started 0.217 s after A, found by sound (97 % sure)",
        "Calibrated to 0.4 px by structure from motion; the cameras look 10° apart",
        "of the picture is trusted",
        "Errors against the truth",
        "Depth wrong by more than 1 %, where both see",
        "Median error of depth, where both see",
        "match stereo",
        "match.particles",
        "0.1.0",
        "Baseline",
    ):
        assert words in page
    moments = moments_of(page)
    assert list(moments) == [0, 1, 2]
    assert {*PANELS, "optical_a", "optical_b"} == set(moments[0]["images"])
    assert set(PANELS) == set(moments[2]["images"])
    # the only addresses are those of data inside the page
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    images = re.findall(r"<img[^>]*>", page)
    assert images
    assert all("alt=" in image for image in images)


def test_whatever_the_demo_measures_has_words_of_its_own() -> None:
    score = asdict(DemoScore(0.4, 0.02, (0.5, -0.25), 0.31, 5.0, 0.002, 63.0, 7.0))
    page = truth_section(json.loads(json.dumps(score)))
    assert page.count("<tr>") == len(score)
    assert "0.5, -0.25 %" in page
    for name in score:
        assert name.replace("_", " ") not in page


def test_points_come_back_from_the_page_where_they_were(folder: Path) -> None:
    result, centre = Result(folder), np.array([0.5, -1.0, 2.0])
    cloud = moment_cloud(result, 0, 10**6, centre)
    levels = unpacked(cloud["depth"], cloud["width"], cloud["height"]).astype(float)
    depth = np.where(levels > 0, np.exp(cloud["lowest"] + cloud["step"] * (levels - 1)), np.nan)
    view = cloud["views"][0]
    y, x = np.mgrid[: cloud["height"], : cloud["width"]] * cloud["stride"] + cloud["offset"]
    rays = np.stack([x, y, np.ones_like(x)], axis=2) @ np.array(view["ray"]).reshape(3, 3).T
    points = np.array(view["centre"]) + depth[..., None] * rays + centre
    truth, distance = result.points(0), result.depth(0)[..., None]
    np.testing.assert_array_equal(np.isnan(points), np.isnan(truth))
    assert np.nanmax(np.abs(points - truth) / distance) < 3e-4
    motion = cloud["motion"]
    levels = unpacked(motion["planes"][0], motion["width"], motion["height"]).view(np.int16)
    known = np.nan_to_num(result.motion(0)[2::5, 2::5])
    np.testing.assert_allclose(levels * motion["scale"], known[..., 0], atol=np.abs(known).max() / 1000)


@settings(max_examples=40, deadline=None)
@given(arrays(np.uint16, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_packing_loses_nothing(levels: np.ndarray) -> None:
    np.testing.assert_array_equal(unpacked(pack(levels), levels.shape[1], levels.shape[0]), levels)


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 10**6))
def test_points_are_thinned_to_the_limit_and_no_further(width: int, height: int, most: int) -> None:
    stride = point_stride((width, height), most)
    assert math.ceil(width / stride) * math.ceil(height / stride) <= most
    finer = stride - 1
    assert finer == 0 or math.ceil(width / finer) * math.ceil(height / finer) > most


@given(st.integers(1, 5000), st.integers(1, 300))
def test_moments_are_spread_from_the_first_to_the_last(count: int, most: int) -> None:
    chosen = spread(count, most)
    assert len(chosen) == min(count, most)
    assert chosen[0] == 0
    assert most == 1 or chosen[-1] == count - 1


def test_a_large_result_is_thinned_and_says_so(folder: Path) -> None:
    whole = Path(write_report(folder)).stat().st_size
    limited = Path(write_report(folder, budget=30_000))
    page = limited.read_text()
    assert limited.stat().st_size < whole
    assert sum(len(json.dumps(moment)) for moment in moments_of(page).values()) < 40_000
    assert 1 <= len(moments_of(page)) < 3
    assert "of 3 moments" in page
    assert "wideflow view" in page


def test_names_and_settings_cannot_become_markup(tmp_path: Path, folder: Path) -> None:
    evil = "<script>alert(1)</script>"
    for name in ("result.zarr", "checksums", "rig.json", "timings.json"):
        (tmp_path / name).symlink_to(folder / name)
    summary = json.loads((folder / "summary.json").read_text())
    summary["inputs"] = {"a": evil + ".mp4", "b": '"><img src=x onerror=alert(2)>'}
    summary["settings"] = {evil: evil}
    summary["sync"]["method"] = evil
    summary["calibration"]["weak"] = evil
    summary["calibration"]["doubts"] = [{"topic": evil, "grade": "weak", "sentence": evil, "remedy": evil}]
    summary["truth"] = {evil: evil}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    page = Path(write_report(tmp_path)).read_text()
    assert "<script>alert" not in page.lower()
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.mp4" in page


def test_the_report_shows_the_verdict_of_the_run_and_no_other(tmp_path: Path, folder: Path) -> None:
    for name in ("result.zarr", "checksums", "rig.json"):
        (tmp_path / name).symlink_to(folder / name)
    summary = json.loads((folder / "summary.json").read_text())
    kept = Verdict((Finding("Calibration", "poor", "The cameras contradict each other.", "Give --rig."),))
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "verdict": kept.as_dict()}))
    assert Result(tmp_path).verdict == kept
    page = Path(write_report(tmp_path)).read_text()
    assert "Do not trust this result yet." in page
    assert "The cameras contradict each other." in page
    assert "Calibrated to" not in page
    # a verdict that is damaged is judged anew
    damaged = kept.as_dict() | {"findings": [{"topic": "Calibration", "grade": "fine"}]}
    (tmp_path / "summary.json").write_text(json.dumps({**summary, "verdict": damaged}))
    assert Result(tmp_path).verdict.headline == "It worked."


@pytest.mark.parametrize("summary", [{}, {"sync": None, "calibration": 3, "truth": [], "inputs": "a"}])
def test_a_result_without_a_story_still_has_a_report(summary: dict, tmp_path: Path, folder: Path) -> None:
    for name in ("result.zarr", "checksums", "rig.json"):
        (tmp_path / name).symlink_to(folder / name)
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    page = Path(write_report(tmp_path)).read_text()
    assert "nothing to synchronise" in page
    assert "The cameras were given; they look 10° apart" in page
    assert "Errors against" not in page


def test_a_failing_write_leaves_the_old_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Path(write_report(folder)).read_bytes()

    def full(self: object, name: str, content: bytes) -> None:
        raise FileError("the disk is full")

    monkeypatch.setattr("wideflow.storage.place.Place.write", full)
    with pytest.raises(FileError, match="full"):
        write_report(folder)
    assert (folder / "report.html").read_bytes() == old


def test_no_result_no_report(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"holds no result\.zarr"):
        write_report(tmp_path)


def test_baseline_and_angle_follow_the_rig(folder: Path) -> None:
    result = Result(folder)
    distance, angle = camera_motion(result)
    a, b = result.rig.frames[1].views
    assert distance[1] == pytest.approx(np.linalg.norm(a.centre - b.centre))
    assert np.cos(np.radians(angle[1])) == pytest.approx(a.R[2] @ b.R[2])


def test_the_overlay_of_a_true_flow_is_the_picture(folder: Path) -> None:
    result = Result(folder)
    a, b, occluded = result.picture_a(0), result.picture_b(0), result.occluded(0)
    mixed = overlay(a, b, result.stereo_flow(0), ~occluded, occluded).astype(float)
    seen = ~occluded
    assert np.abs(mixed - a)[seen].mean() < 8
    wrong = overlay(a, b, result.stereo_flow(0) + 9, ~occluded, occluded).astype(float)
    assert np.abs(wrong - a)[seen].mean() > 2 * np.abs(mixed - a)[seen].mean()


def test_colours_are_corrected_by_an_affine_map() -> None:
    source = np.random.default_rng(2).integers(20, 120, (40, 50, 3)).astype(np.uint8)
    target = (1.5 * source[..., ::-1] + 10).astype(np.uint8)
    matrix = colour_fit(source, target, np.ones((40, 50), bool))
    np.testing.assert_allclose(matrix[:, :3], 1.5 * np.eye(3)[::-1], atol=0.02)
    np.testing.assert_allclose(matrix[:, 3], 10, atol=1.5)
