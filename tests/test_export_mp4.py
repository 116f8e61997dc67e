"""The camera that orbits before the points: what it sees, and the video that comes out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from result_scenes import perfect_result
from wideflow.errors import FileError, InputError
from wideflow.export import export_result
from wideflow.export.depth_cue import cue_depth
from wideflow.export.options import ExportOptions
from wideflow.export.splat import draw_points
from wideflow.export.turntable import Turn, moments_of, orbit_view, turn_pictures, video_size
from wideflow.storage.result import Result
from wideflow.types import Camera, View
from wideflow.video.gif import write_gif
from wideflow.video.read import Video

CAMERA = Camera("eye", 40, 30, np.array([[40.0, 0, 20], [0, 40.0, 15], [0, 0, 1]]))
FRONT = View(CAMERA, np.eye(3, 4))
GREY = np.full((30, 40, 3), 50, np.uint8)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return perfect_result(tmp_path_factory.mktemp("turn"))


def plane(depth: float, colour: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Points of a plane before the camera that fill its picture, one a pixel."""
    y, x = np.mgrid[:30, :40]
    points = np.stack([(x - 20) / 40 * depth, (y - 15) / 40 * depth, np.full(x.shape, depth)], axis=2)
    return points.astype(np.float32), np.broadcast_to(np.uint8(colour), (30, 40, 3)).copy()


def drawn(points: np.ndarray, colours: np.ndarray, shown: np.ndarray, view: View) -> np.ndarray:
    spacing = (points[..., 2] / 40).astype(np.float32)
    return draw_points(points, colours, shown, spacing, view, GREY)[0]


def test_a_plane_fills_the_picture_from_near_and_from_afar() -> None:
    points, colours = plane(4.0, (10, 200, 30))
    everything = np.ones((30, 40), bool)
    np.testing.assert_array_equal(drawn(points, colours, everything, FRONT), colours)
    closer = View(CAMERA, np.c_[np.eye(3), [0, 0, -2.5]])
    assert (drawn(points, colours, everything, closer)[3:-3, 3:-3] == (10, 200, 30)).all()
    away = drawn(points, colours, everything, View(CAMERA, np.c_[np.eye(3), [0, 0, 4.0]]))
    assert (away[9:21, 12:28] == (10, 200, 30)).all()
    assert (away[:5] == GREY[:5]).all()


def test_a_slanted_surface_seen_face_on_has_no_holes() -> None:
    flat, colours = plane(1.0, (10, 200, 30))
    tilt = np.radians(70)
    normal = np.array([np.sin(tilt), 0, np.cos(tilt)])
    points = (flat * (2.0 / (flat @ normal))[..., None])[:, 20:].astype(np.float32)  # rays meet the plane
    R = np.array([[np.cos(tilt), 0, -np.sin(tilt)], [0, 1, 0], normal])
    middle = points[15, 10]
    view = View(CAMERA, np.c_[R, [0, 0, 1.5] - R @ middle])
    picture = drawn(points, colours[:, 20:], np.ones((30, 20), bool), view)
    green = (picture == (10, 200, 30)).all(axis=2)
    columns = np.flatnonzero(green[15])
    assert len(columns) > 25
    assert green[15, columns[0] : columns[-1] + 1].all()


def test_the_nearer_point_hides_the_farther() -> None:
    far, blue = plane(6.0, (0, 0, 255))
    near, red = plane(2.0, (255, 0, 0))
    shown = np.zeros((60, 40), bool)
    shown[:30] = True
    shown[30 + 10 : 30 + 20, 10:30] = True  # the middle of the nearer plane
    points, colours = np.concatenate([far, near]), np.concatenate([blue, red])
    picture = drawn(points, colours, shown, FRONT)
    assert (picture[12:18, 12:28] == (255, 0, 0)).all()
    assert (picture[:8] == (0, 0, 255)).all()
    # the order of the points has no say
    swapped = drawn(points[::-1].copy(), colours[::-1].copy(), shown[::-1].copy(), FRONT)
    np.testing.assert_array_equal(swapped, picture)


def test_what_is_unknown_hidden_or_behind_is_not_drawn() -> None:
    points, colours = plane(4.0, (255, 255, 255))
    nowhere = np.zeros((30, 40), bool)
    np.testing.assert_array_equal(drawn(points, colours, nowhere, FRONT), GREY)
    unknown = np.full_like(points, np.nan)
    np.testing.assert_array_equal(drawn(unknown, colours, ~nowhere, FRONT), GREY)
    np.testing.assert_array_equal(drawn(points * [1, 1, -1], colours, ~nowhere, FRONT), GREY)


def test_the_depth_of_what_is_drawn_is_known() -> None:
    far, blue = plane(6.0, (0, 0, 255))
    shown = np.zeros((30, 40), bool)
    shown[5:25, 5:35] = True
    _, depth = draw_points(far, blue, shown, (far[..., 2] / 40).astype(np.float32), FRONT, GREY)
    assert (depth[6:24, 6:34] == 6).all()
    assert np.isinf(depth[:3]).all()


def test_edges_throw_shade_backwards_and_haze_lies_on_what_is_far() -> None:
    depth = np.full((30, 40), 4.0, np.float32)
    depth[:, 20:] = 8.0
    depth[:5] = np.inf
    white = np.full((30, 40, 3), 200, np.uint8)
    cued = cue_depth(white, depth, GREY, 2, 4.0, 8.0).astype(int)[..., 0]
    assert (cued[:5] == 200).all()  # where nothing is, nothing changes
    assert (cued[10:, :20] == 200).all()  # nearer than all around it, and clear
    assert (np.abs(cued[10:28, 24:38] - (200 - 0.35 * 150)) <= 1).all()  # haze, and no edge
    assert (cued[10:28, 20:22] < 130).all()  # behind the edge
    assert (cued[5:7, :18] == 200).all()  # beside nothing
    y, x = np.mgrid[:30, :40]
    plane = (4 / (1 + 0.02 * x + 0.03 * y)).astype(np.float32)
    assert (cue_depth(white, plane, GREY, 2, 4e9, 8e9) == 200).all()  # however slanted
    # a fold is as dark near as far
    near = cue_depth(white, depth / 100, GREY, 2, 4e9, 8e9)
    np.testing.assert_array_equal(near, cue_depth(white, depth, GREY, 2, 4e9, 8e9))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 400), st.floats(1, 12))
def test_every_moment_is_shown_and_a_short_result_ends_where_it_began(count: int, seconds: float) -> None:
    turn = Turn(seconds=seconds)
    moments = moments_of(count, turn)
    assert moments.min() == 0
    assert moments.max() <= count - 1
    assert set(range(count)) <= set(np.rint(moments).astype(int))
    if 2 * (count - 1) <= len(moments):
        step = np.abs(np.diff([*moments, moments[0]])).max()
        assert step <= 1.0 + 1e-9


@given(st.floats(0, 1))
def test_the_camera_looks_at_the_pivot_from_a_constant_distance(phase: float) -> None:
    pivot = np.array([1.0, 2.0, 3.0])
    view = orbit_view(CAMERA, pivot, np.eye(3), 5.0, phase)
    np.testing.assert_allclose(view.R @ pivot + view.t, [0, 0, 5.0], atol=1e-9)
    start = orbit_view(CAMERA, pivot, np.eye(3), 5.0, 0.0)
    np.testing.assert_allclose(start.R, np.eye(3), atol=1e-12)


@given(st.integers(1, 4000), st.integers(1, 4000))
def test_the_video_has_the_shape_of_the_pictures(width: int, height: int) -> None:
    size = video_size((width, height), 1280)
    assert max(size) <= 1280
    assert size[0] % 2 == size[1] % 2 == 0
    assert abs(size[0] * height - size[1] * width) <= 2 * max(width, height)


def test_the_first_picture_is_what_camera_a_sees(result: Result) -> None:
    import cv2

    first = next(turn_pictures(result, range(3), Turn(), lambda done, total, text: None))
    assert first.shape == (144, 256, 3)
    # the orbit starts at the middle moment's camera; hands shake less than 3 px until then
    expected = cv2.resize(result.picture_a(0), (256, 144)).astype(float)
    difference = np.abs(cv2.blur(first, (9, 9)).astype(float) - cv2.blur(expected, (9, 9)))
    inner = np.zeros((144, 256), bool)
    inner[20:-20, 20:-20] = True
    depth = cv2.resize(result.depth(0), (256, 144))
    near = depth < np.nanmedian(depth)
    assert np.median(difference[inner & near]) < 12  # edges are shaded, and there are many in 128 px
    greys = [picture[20:-20, 20:-20].mean(axis=2) for picture in (first, expected)]
    shift, response = cv2.phaseCorrelate(*greys)
    assert np.linalg.norm(shift) < 3
    assert response > 0.2
    # what is farther has haze: as the background, which is darker than the scene, more than it is itself
    assert first[inner & ~near].mean() < expected[inner & ~near].mean() - 5


def test_a_video_is_written(result: Result, tmp_path: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    out = tmp_path / "turn.mp4"
    export_result(result, "mp4", out, progress=lambda *step: steps.append(step))
    video = Video(out)
    assert (video.size, len(video)) == ((256, 144), 192)
    assert video.duration == pytest.approx(8, abs=0.1)
    assert steps[-1][:2] == (1, 1)
    start, right = (video.frame(i).astype(int) for i in (0, 48))
    assert np.abs(start - right).mean() > 5


def test_what_cannot_be_is_one_sentence(result: Result, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"must end in \.mp4"):
        export_result(result, "mp4", tmp_path / "turn.avi")
    with pytest.raises(InputError, match="no depth"):
        export_result(result, "mp4", tmp_path / "turn.mp4", ExportOptions(confidence=1.0))
    assert not list(tmp_path.iterdir())


def test_a_gif_plays_for_ever(result: Result, tmp_path: Path) -> None:
    import av

    colours = np.array([(200, 30, 30), (30, 200, 30), (30, 30, 200), (240, 240, 240)], np.uint8)
    pictures = [np.broadcast_to(colour, (20, 30, 3)) for colour in colours]
    write_gif(tmp_path / "a.gif", iter(pictures), 10.0)
    assert b"NETSCAPE2.0" in (tmp_path / "a.gif").read_bytes()  # it is played again and again
    with av.open(str(tmp_path / "a.gif")) as file:
        frames = list(file.decode(video=0))
    assert [round(frame.time, 2) for frame in frames] == [0.0, 0.1, 0.2, 0.3]
    for frame, colour in zip(frames, colours, strict=True):
        assert np.abs(frame.to_ndarray(format="rgb24").astype(int) - colour).max() <= 8
    with pytest.raises(FileError, match=r"must end in \.gif"):
        export_result(result, "gif", tmp_path / "turn.mp4")
    with pytest.raises(InputError, match="no picture"):
        write_gif(tmp_path / "b.gif", [], 10.0)
