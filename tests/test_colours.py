"""Colour codes against the colours that the Middlebury wheel is known by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wideflow.errors import InputError
from wideflow.report import depth_colours, flow_colours, flow_wheel


def colour(u: float, v: float, longest: float = 1.0) -> list[int]:
    return flow_colours(np.array([[[u, v]]]), longest)[0, 0].tolist()


# Worked out by hand from the reference: hue 54 (angle / 2 pi) with 15, 6, 4, 11, 13 and 6 steps
# from red over yellow, green, cyan, blue and magenta to red.
@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ((1, 0), [255, 0, 0]),
        ((1, -0.0), [255, 0, 0]),
        ((0, 1), [255, 229, 0]),
        ((-1, 0), [0, 209, 255]),
        ((0, -1), [88, 0, 255]),
        ((0, 0), [255, 255, 255]),
        ((0.5, 0), [255, 127, 127]),
        ((2, 0), [191, 0, 0]),
        ((-2, 0), [0, 156, 191]),
        ((np.nan, 0), [0, 0, 0]),
        ((0, np.inf), [0, 0, 0]),
    ],
)
def test_known_directions(direction: tuple[float, float], expected: list[int]) -> None:
    assert colour(*direction) == expected


def test_all_pure_hues_appear() -> None:
    """Each of the 55 hues lies at its place; the six corners of the colour cube are among them."""
    angle = 2 * np.pi * np.arange(55) / 54
    # A hair beyond each place, since rounding may fall on either side of it.
    uv = np.dstack([np.cos(angle + 1e-9), np.sin(angle + 1e-9)]).reshape(1, 55, 2)
    hues = flow_colours(uv, 1.0)[0].astype(int)
    corners = [[255, 255, 0], [0, 255, 0], [0, 255, 255], [0, 0, 255], [255, 0, 255]]
    for place, corner in zip(np.cumsum([15, 6, 4, 11, 13]), corners, strict=True):
        assert np.abs(hues[place] - corner).max() <= 1
    assert len({tuple(hue) for hue in hues[:54]}) == 54


# Without the seam of the wheel and the rim, where rounding alone chooses the side.
@given(st.floats(1e-6, 2 * np.pi - 1e-6), st.floats(0, 0.999), st.floats(0.01, 1e6))
@settings(max_examples=100, deadline=None)
def test_only_the_ratio_to_the_longest_counts(angle: float, length: float, scale: float) -> None:
    uv = length * np.array([np.cos(angle), np.sin(angle)])
    once = np.array(colour(*uv))
    scaled = np.array(colour(*(scale * uv), scale))
    assert np.abs(once - scaled).max() <= 1


def test_the_longest_known_flow_is_the_scale_by_default() -> None:
    uv = np.array([[[10, 0], [5, 0], [np.nan, 1000]]], np.float32)
    assert flow_colours(uv)[0].tolist() == [[255, 0, 0], [255, 127, 127], [0, 0, 0]]
    assert (flow_colours(np.zeros((2, 3, 2))) == 255).all()
    assert (flow_colours(np.full((2, 3, 2), np.nan)) == 0).all()
    assert flow_colours(np.zeros((0, 3, 2))).shape == (0, 3, 3)


def test_wheel_shows_the_flow_from_its_centre() -> None:
    wheel = flow_wheel(101)
    assert wheel.shape == (101, 101, 3)
    assert wheel[50, 50].tolist() == [255, 255, 255]
    assert (wheel[[0, 0, -1, -1], [0, -1, 0, -1]] == 255).all()
    for (y, x), (u, v) in {(50, 100): (1, 0), (100, 50): (0, 1), (50, 0): (-1, 0), (0, 50): (0, -1)}.items():
        assert wheel[y, x].tolist() == colour(u * 50 / 50.5, v * 50 / 50.5)
    assert (flow_wheel(1) == 255).all()


def luminance(rgb: np.ndarray) -> np.ndarray:
    return rgb.astype(float) @ [0.2126, 0.7152, 0.0722]


def test_depth_gets_darker_with_distance() -> None:
    depth = np.geomspace(1, 100, 200)[None]
    shown = luminance(depth_colours(depth, near=1, far=100))[0]
    assert (np.diff(shown) <= 1).all()
    assert shown[0] > 180
    assert shown[-1] < 40


def test_inverse_depth_is_shown_evenly() -> None:
    """Depth halfway between the ends in 1 / z gets the middle of the map."""
    near, middle, far = depth_colours(np.array([[1.0, 4 / 2.5, 4.0]]), near=1, far=4)[0].tolist()
    assert near == [253, 231, 37]  # the ends and the middle of viridis
    assert np.abs(np.array(middle) - [33, 145, 140]).max() <= 3
    assert far == [68, 1, 84]


def test_unknown_depth_is_black_and_outliers_do_not_spoil_the_scale() -> None:
    depth = np.tile(np.linspace(2, 4, 1000), (4, 1))
    plain = depth_colours(depth)
    depth[0, :5] = [np.nan, np.inf, 0, -1, 1e-6]
    colours = depth_colours(depth)
    assert (colours[0, :4] == 0).all()
    assert (colours[1:] > 0).any(axis=2).all()
    assert np.abs(colours[1:].astype(int) - plain[1:]).max() <= 3
    assert (depth_colours(np.full((2, 3), np.nan)) == 0).all()
    assert (depth_colours(np.full((2, 3), 7.0)) == depth_colours(np.full((2, 3), 9.0))).all()


def test_wrong_input() -> None:
    with pytest.raises(InputError, match="shape"):
        flow_colours(np.zeros((3, 4)))
    with pytest.raises(InputError, match="positive"):
        flow_colours(np.zeros((3, 4, 2)), 0)
    with pytest.raises(InputError, match="shape"):
        depth_colours(np.zeros((3, 4, 1)))
    with pytest.raises(InputError, match="near"):
        depth_colours(np.ones((3, 4)), near=2, far=1)
    with pytest.raises(InputError, match="size"):
        flow_wheel(0)
