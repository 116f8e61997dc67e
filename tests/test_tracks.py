"""Tracks: points are followed to where they are, behind what hides them, and kept whole or not at all."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
import pytest
from benchmarks import tracks as scored

import wideflow
from faults.injection import Killed, injected
from result_scenes import put_moment
from test_report import unpacked
from track_scenes import CAMERA, MOMENTS, SIZE, sliding_result, truth_of, view_at
from wideflow.cli import main
from wideflow.errors import DamagedError, FileError, InputError
from wideflow.geometry import project, world_to_camera
from wideflow.report.trails import draw_trails, trail_data
from wideflow.storage.check import check_result
from wideflow.storage.result import Result
from wideflow.storage.store import Store
from wideflow.storage.tracks import Tracks, has_tracks, read_tracks
from wideflow.synth.points import FollowedPoints
from wideflow.tracks.moments import flow_to, read_moment
from wideflow.tracks.queries import checked_queries, grid_queries, read_queries
from wideflow.types import Camera


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return sliding_result(tmp_path_factory.mktemp("tracks") / "out")


@pytest.fixture
def result(exact: Result, tmp_path: Path) -> Result:
    """A result that a test may change."""
    return Result(shutil.copytree(exact.place.folder, tmp_path / "out"))


def errors(tracks: Tracks, t: int) -> np.ndarray:
    """Distance from the truth as a share of depth, (N,)."""
    xyz, _, _ = truth_of(tracks.queries)
    return np.linalg.norm(tracks.xyz[t] - xyz[t], axis=1) / xyz[t, :, 2]


@pytest.mark.parametrize(("start", "end"), [(0, MOMENTS - 1), (MOMENTS - 1, 0)])
def test_points_are_followed_in_both_directions(exact: Result, start: int, end: int) -> None:
    tracks = wideflow.track(exact, grid=4, moment=start, store=False)
    _, visible, moves = truth_of(tracks.queries)
    error = errors(tracks, end)
    whole = visible.all(axis=0)
    assert (error[~moves] < 1e-4).all()  # world points stay where they are, hidden or not
    assert (moves & whole).sum() >= 8
    assert np.median(error[moves & whole]) < 0.01
    assert (tracks.moving == moves).mean() > 0.98
    assert (tracks.visible == visible).mean() > 0.95
    pixels = np.rint(tracks.queries[:, :2]).astype(int)
    assert (tracks.visible[start]).all()
    assert np.allclose(project(CAMERA, world_to_camera(view_at(start), tracks.xyz[start])), pixels, atol=0.01)


def test_what_was_hidden_is_found_again(exact: Result) -> None:
    tracks = wideflow.track(exact, grid=2, moment=0, store=False)
    _, visible, moves = truth_of(tracks.queries)
    end = MOMENTS - 1
    back = visible[end] & (~visible[:end]).any(axis=0)
    stands, slides = back & ~moves, back & moves
    assert stands.sum() > 20
    assert slides.sum() > 10
    assert tracks.visible[end, stands].mean() > 0.8
    assert tracks.confidence[end, stands].mean() > 0.5
    assert np.median(errors(tracks, end)[slides]) < 0.05  # the post hides it for seven moments
    hidden = ~visible & moves
    assert tracks.confidence[hidden].mean() < tracks.confidence[visible & moves].mean()


def test_errors_of_flow_do_not_add_up(tmp_path: Path) -> None:
    bias = 0.3
    result = sliding_result(tmp_path / "out", bias)
    tracks = wideflow.track(result, grid=3, moment=0, store=False)
    _, visible, moves = truth_of(tracks.queries)
    end = 9
    chosen = moves & visible[: end + 1].all(axis=0)
    assert chosen.sum() > 10
    view = view_at(end)
    xyz, _, _ = truth_of(tracks.queries)
    found = project(CAMERA, world_to_camera(view, tracks.xyz[end, chosen]))
    right = project(CAMERA, world_to_camera(view, xyz[end, chosen]))
    assert np.median(np.abs(found - right)[:, 0]) < 0.25 * bias * end


def test_flow_backwards_undoes_the_flow(exact: Result) -> None:
    forth = exact.optical_flow_a(3)
    back = flow_to(exact, read_moment(exact, 4), 4, read_moment(exact, 3), 3)
    for x, y in ((20, 12), (30, 30), (80, 50)):
        u, v = np.rint(np.array([x, y]) + forth[y, x]).astype(int)
        assert np.abs(back[v, u] + forth[y, x]).max() < 1.0
    assert np.isnan(back).any()  # what the slider has uncovered was not seen before


def test_a_pixel_without_depth_has_no_track(result: Result) -> None:
    depth = result.depth(2).copy()
    depth[10:20, 60:80] = np.nan
    put_moment(result.store, 2, depth=depth, picture_a=result.picture_a(2))
    tracks = wideflow.track(Result(result.place.folder), [(70, 15, 2), (20, 50, 2)], store=False)
    assert np.isnan(tracks.xyz[:, 0]).all()
    assert not tracks.visible[:, 0].any()
    assert (tracks.confidence[:, 0] == 0).all()
    assert np.isfinite(tracks.xyz[:, 1]).all()


def test_tracks_are_kept_and_other_programs_read_them(result: Result) -> None:
    xarray = pytest.importorskip("xarray")
    assert not result.has_tracks
    made = wideflow.track(result, grid=16)
    again = Result(result.place.folder)
    kept = again.tracks()
    for name in ("queries", "xyz", "visible", "confidence", "moving"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(made, name))
    opened = xarray.open_zarr(result.place.folder / "result.zarr", group="tracks", consolidated=False)
    assert opened["xyz"].dims == ("time", "track", "xyz")
    np.testing.assert_array_equal(opened["xyz"].values, made.xyz)
    assert check_result(result.place.folder).problems == ()
    plain = xarray.open_zarr(result.place.folder / "result.zarr", consolidated=False)
    assert "depth" in plain  # a reader that knows nothing of tracks


def test_damaged_tracks_are_not_served(result: Result) -> None:
    wideflow.track(result, grid=16)
    chunk = result.place.folder / "result.zarr" / "tracks" / "xyz" / "c" / "0" / "0" / "0"
    content = bytearray(chunk.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.write_bytes(content)
    with pytest.raises(DamagedError, match="wideflow track"):
        Result(result.place.folder).tracks()
    assert any("tracks" in line for line in check_result(result.place.folder).problems)


def test_tracks_of_moments_that_were_computed_anew_are_not_served(result: Result) -> None:
    wideflow.track(result, grid=16)
    put_moment(result.store, 3, depth=result.depth(3) + 1, picture_a=result.picture_a(3))
    with pytest.raises(InputError, match="computed anew"):
        Result(result.place.folder).tracks()


def test_a_kill_leaves_old_tracks_or_none_or_new_ones(result: Result) -> None:
    first = wideflow.track(result, [(20, 20, 0)])
    second = wideflow.track(result, [(50, 40, 0)], store=False)
    with injected() as counted:
        result.keep_tracks(second)
    result.keep_tracks(first)
    seen = set()
    for at in range(3, counted.count, 9):
        with suppress(Killed), injected("kill", at):  # what ends before it comes to it is not killed
            result.keep_tracks(second)
        opened = Result(result.place.folder)
        queries = opened.tracks().queries.tolist() if opened.has_tracks else None
        seen.add(str(queries))
        assert queries in (None, first.queries.tolist(), second.queries.tolist())
    assert "None" in seen
    assert not check_result(result.place.folder).problems


def test_queries_are_checked(tmp_path: Path) -> None:
    assert grid_queries((9, 5), 4, 2).tolist() == [[2, 2, 2], [6, 2, 2]]
    file = tmp_path / "points.txt"
    file.write_text("x,y,t\n# two points\n1, 2, 0\n3.5 4 1\n")
    assert read_queries(file).tolist() == [[1, 2, 0], [3.5, 4, 1]]
    for text in ("1,2\n", "a,b,c\n", "", "1,2,3,4\n"):
        file.write_text(text)
        with pytest.raises(FileError):
            read_queries(file)
    for wrong in ([[9, 0, 0]], [[0, 0, 3]], [[0, 0, 0.5]], [[np.nan, 0, 0]], [[1, 2]], []):
        with pytest.raises(InputError):
            checked_queries(wrong, (9, 5), 3)


def test_the_command_says_what_is_wrong(
    exact: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(exact.place.folder)
    for arguments, said in (
        ([], "--grid"),
        (["--grid", "8", "--at", "1,2,0"], "--grid"),
        (["--at", "1,2"], "x,y,t"),
        (["--at", "500,2,0"], "no pixel"),
        (["--at", "5,2,99"], "moment"),
        (["--at", "5,2,0", "-o", "tracks.txt"], ".npz or .csv"),
        (["--at", "5,2,0", "--moment", "1"], "--moment"),
        (["--points", str(tmp_path / "none.txt")], "none.txt"),
    ):
        assert main(["track", out, *arguments, "-q"]) == 2
        assert said in capsys.readouterr().err
    assert main(["export", out, "--to", "tracks", "-o", str(tmp_path / "t"), "-q"]) == 2
    assert "wideflow track" in capsys.readouterr().err
    assert not exact.has_tracks


def test_a_file_of_tracks_leaves_the_result_alone(exact: Result, tmp_path: Path) -> None:
    file = tmp_path / "tracks.csv"
    assert main(["track", str(exact.place.folder), "--at", "20,20,0", "-o", str(file), "-q"]) == 0
    lines = file.read_text().splitlines()
    assert len(lines) == 1 + MOMENTS
    row = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert (float(row["x"]), float(row["y"]), row["visible"]) == (20.0, 20.0, "1")
    assert not exact.has_tracks


def test_exports_have_the_layout_of_tapvid3d(result: Result, tmp_path: Path) -> None:
    made = wideflow.track(result, grid=16, moment=3)
    wideflow.export_result(result, "tracks", tmp_path / "out")
    with np.load(tmp_path / "out" / "tracks.npz", allow_pickle=False) as file:
        arrays = dict(file)
    fx, fy, cx, cy = arrays["fx_fy_cx_cy"]
    local = arrays["tracks_XYZ"]
    assert local.shape == (MOMENTS, len(made), 3)
    seen = local[3, :, :2] / local[3, :, 2:] * (fx, fy) + (cx, cy)
    np.testing.assert_allclose(seen, arrays["queries_xyt"][:, :2], atol=0.01)
    pose = arrays["extrinsics_w2c"][5]
    world = np.column_stack([made.xyz[5], np.ones(len(made))])
    np.testing.assert_allclose((world @ pose.T)[:, :3], local[5], atol=1e-4)
    np.testing.assert_array_equal(arrays["visibility"], made.visible)
    picture = cv2.imdecode(np.frombuffer(arrays["images_jpeg_bytes"][4], np.uint8), cv2.IMREAD_COLOR)
    assert np.abs(picture[:, :, ::-1].astype(int) - result.picture_a(4)).mean() < 4


def test_usd_has_a_curve_for_each_track(result: Result, tmp_path: Path) -> None:
    usd = pytest.importorskip("pxr.Usd")
    geom = pytest.importorskip("pxr.UsdGeom")
    made = wideflow.track(result, grid=16)
    wideflow.export_result(result, "usd", tmp_path / "s.usda", wideflow.ExportOptions(stride=4))
    stage = usd.Stage.Open(str(tmp_path / "s.usda"))
    curves = geom.BasisCurves(stage.GetPrimAtPath("/World/Tracks"))
    counts = np.array(curves.GetCurveVertexCountsAttr().Get())
    assert (counts == len(range(0, MOMENTS, 4))).all()
    assert len(counts) == len(made)
    places = np.array(curves.GetPointsAttr().Get()).reshape(len(made), -1, 3)
    np.testing.assert_allclose(places, made.xyz[::4].transpose(1, 0, 2), atol=1e-5)
    points = geom.Points(stage.GetPrimAtPath("/World/TrackPoints"))
    np.testing.assert_allclose(np.array(points.GetPointsAttr().Get(8)), made.xyz[8], atol=1e-5)


def test_the_page_gets_the_trails(result: Result) -> None:
    made = wideflow.track(result, grid=16)
    centre = np.array([0.5, 0.0, 6.0])
    data = trail_data(result, centre)
    assert data is not None
    json.dumps(data)
    levels = unpacked(data["places"], MOMENTS, 3 * data["count"]).reshape(data["count"], 3, MOMENTS)
    places = data["low"] + data["step"] * (levels - 1.0)
    chosen = np.isfinite(made.xyz).all(axis=(0, 2))
    sure = (made.confidence[:, chosen] >= 0.15).T[:, None].repeat(3, axis=1)
    np.testing.assert_array_equal(levels > 0, sure)
    places = np.where(sure, places, (made.xyz[:, chosen] - centre).transpose(1, 2, 0))
    np.testing.assert_allclose(
        places, (made.xyz[:, chosen] - centre).transpose(1, 2, 0), atol=2 * data["step"]
    )
    assert unpacked(data["seen"], MOMENTS, data["count"]).sum() == made.visible[:, chosen].sum()
    picture = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    drawn = draw_trails(result, made, np.flatnonzero(made.moving), picture, MOMENTS - 1)
    assert drawn.any()
    result.place.remove("checksums/tracks.json")
    assert trail_data(Result(result.place.folder), centre) is None


def test_the_benchmark_scores_tracks_by_their_distance_from_the_truth(
    exact: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scored, "AFTER", MOMENTS - 1)
    queries = grid_queries(SIZE, 8, 0)
    xyz, visible, moves = truth_of(queries)
    off = xyz + 0.02 * xyz[..., 2:] * (1.0, 0, 0)  # two percent aside
    off[:, np.flatnonzero(moves)[0]] = np.nan  # one is lost
    confidence = np.ones(visible.shape, np.float32)
    tracks = Tracks(queries.astype(np.float32), off.astype(np.float32), visible, confidence, moves)
    rows = scored.score_clip(exact, {0: FollowedPoints(xyz, visible)}, {0: tracks})
    assert rows["static"]["median"] == pytest.approx(2.0, rel=1e-3)
    assert rows["static"]["survival"] == 100
    assert rows["moving"]["count"] < moves.sum()  # some are hidden at the end


def test_a_result_of_another_size_or_length_has_no_tracks(result: Result) -> None:
    wideflow.track(result, grid=16)
    place, cameras = result.place, result.rig.cameras
    shorter = Store.create(place, MOMENTS - 2, cameras)
    assert not [line for line in check_result(place.folder).problems if "tracks" in line]  # whole, not served
    with pytest.raises(InputError, match="computed anew"):
        read_tracks(Result(place.folder))
    larger = Camera("a", 128, 80, CAMERA.K)
    Store.create(shorter.place, MOMENTS, (larger, cameras[1]))
    assert not has_tracks(place)
