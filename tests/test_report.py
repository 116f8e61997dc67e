"""The report says what is there, in plain words, in one file of bounded size."""

import base64
import json
import math
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from result_scenes import perfect_result
from wideflow.errors import FileError
from wideflow.report import write_report
from wideflow.report.cloud import moment_cloud, pack, point_stride
from wideflow.report.overview import Shares, camera_motion, spread
from wideflow.report.panels import colour_fit, overlay
from wideflow.report.verdict import calibration_finding, overall, sync_finding, trust_finding, verdict
from wideflow.results import Result

PANELS = ("a", "b", "stereo", "depth", "occluded", "confidence", "overlay")


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
        "Depth wrong by more than 1 %",
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
    for name in ("result.zarr", "rig.json", "timings.json"):
        (tmp_path / name).symlink_to(folder / name)
    summary = json.loads((folder / "summary.json").read_text())
    summary["inputs"] = {"a": evil + ".mp4", "b": '"><img src=x onerror=alert(2)>'}
    summary["settings"] = {evil: evil}
    summary["sync"]["method"] = evil
    summary["calibration"]["weak"] = evil
    summary["truth"] = {evil: evil}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    page = Path(write_report(tmp_path)).read_text()
    assert "<script>alert" not in page.lower()
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.mp4" in page


@pytest.mark.parametrize("summary", [{}, {"sync": None, "calibration": 3, "truth": [], "inputs": "a"}])
def test_a_result_without_a_story_still_has_a_report(summary: dict, tmp_path: Path, folder: Path) -> None:
    for name in ("result.zarr", "rig.json"):
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

    monkeypatch.setattr("wideflow.files.place.Place.write", full)
    with pytest.raises(FileError, match="full"):
        write_report(folder)
    assert (folder / "report.html").read_bytes() == old


def test_no_result_no_report(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"holds no result\.zarr"):
        write_report(tmp_path)


def test_sync_in_words() -> None:
    good = {"offset_seconds": -0.5, "method": "sound", "confidence": 0.9, "pair_error_mean": 0.004}
    assert sync_finding(good).grade == "good"
    assert "A started 0.500 s after B, found by sound (90 % sure)" in sync_finding(good).sentence
    assert sync_finding(good).remedy == ""
    unsure = sync_finding({**good, "confidence": 0.4})
    assert unsure.grade == "weak"
    assert unsure.sentence.startswith("Perhaps synchronised")
    assert "--offset" in unsure.remedy
    assert sync_finding({**good, "confidence": 0.1}).grade == "poor"
    late = sync_finding({**good, "pair_error_mean": 0.015})
    assert late.grade == "weak"
    assert "60 frames" in late.remedy
    given = sync_finding({"offset_seconds": 0.2, "method": "given", "confidence": 1.0})
    assert given.sentence == "Synchronised as you said: B started 0.200 s after A."


def test_calibration_in_words() -> None:
    good = {
        "source": "structure from motion",
        "reprojection_error": 0.4,
        "frames": 10,
        "registered": [10, 10],
    }
    angles = np.array([14.0, 15.0, 16.0])
    found = calibration_finding(good, angles)
    assert found.sentence == "Calibrated to 0.4 px by structure from motion; the cameras look 15° apart."
    assert (found.grade, found.remedy) == ("good", "")
    weak = calibration_finding({**good, "weak": "the cameras share only 3 points; film closer"}, angles)
    assert weak.grade == "weak"
    assert weak.remedy == "The cameras share only 3 points; film closer."
    assert calibration_finding({**good, "reprojection_error": 2.0}, angles).grade == "weak"
    assert calibration_finding({**good, "reprojection_error": 9.0}, angles).grade == "poor"
    assert "8 of 10 frames" in calibration_finding({**good, "registered": [10, 8]}, angles).sentence
    assert "closer together" in calibration_finding(good, np.array([70.0])).remedy


def shares(*trusted: float, known: float = 1.0) -> Shares:
    count = len(trusted)
    return Shares(np.arange(count), np.array(trusted), np.full(count, 0.2), np.full(count, known))


def test_trust_in_words() -> None:
    good = trust_finding(shares(0.5, 0.6, 0.9))
    assert good.grade == "good"
    assert good.sentence == "55 % of the picture is trusted; B does not see 20 % of it."
    assert trust_finding(shares(0.2, 0.2)).grade == "weak"
    assert "double edges" in trust_finding(shares(0.2, 0.2)).remedy
    assert trust_finding(shares(0.02, 0.02)).grade == "poor"
    assert "Moment 1 is the weakest with 30 %" in trust_finding(shares(0.7, 0.3, 0.7)).sentence
    assert "No moment" in trust_finding(shares(0.0, known=0.0)).sentence
    half = Shares(np.arange(4), np.array([0.6, 0.6, 0, 0]), np.zeros(4), np.array([1.0, 1.0, 0, 0]))
    assert "50 % of the moments are not computed" in trust_finding(half).sentence
    assert "goes on" in trust_finding(half).remedy


def test_the_verdict_is_as_good_as_its_weakest_part() -> None:
    findings = verdict(
        {"sync": {"offset_seconds": 0.1, "confidence": 0.1}}, shares(0.7, 0.7), np.array([15.0])
    )
    assert [finding.grade for finding in findings] == ["poor", "good", "good"]
    assert overall(findings) == "poor"
    assert overall(findings[1:]) == "good"


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
