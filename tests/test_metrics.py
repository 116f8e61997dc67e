"""Scores against values worked out by hand, closed forms, and what must hold for any input."""

import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wideflow.errors import InputError
from wideflow.evaluate.metrics import (
    FourFrameFlows,
    KittiFields,
    angular_error,
    depth_scores,
    disparity_scores,
    endpoint_error,
    flow_scores,
    kitti_scores,
    motion_scores,
    occlusion_scores,
    paper_scores,
)

NAN = math.nan
quick = settings(max_examples=40, deadline=None)
sizes = st.tuples(st.integers(1, 6), st.integers(1, 6))
flows = sizes.flatmap(
    lambda size: hnp.arrays(np.float32, (*size, 2), elements=st.floats(-500, 500, width=32))
)


def field(*vectors):
    """One-row picture: a (1, N, C) field."""
    return np.array([vectors], dtype=np.float32)


def row(*values, dtype=np.float32):
    return np.array([values], dtype=dtype)


def seen(*values):
    return row(*values, dtype=bool)


def constant(shape, *vector):
    return np.broadcast_to(np.array(vector, dtype=np.float32), (*shape, len(vector))).copy()


# Flow


@quick
@given(flows, st.floats(-50, 50), st.floats(-50, 50))
def test_endpoint_error_of_an_offset_is_its_length(truth, dx, dy):
    truth = truth.astype(np.float64)
    error = endpoint_error(truth + np.array([dx, dy]), truth)
    np.testing.assert_allclose(error, math.hypot(dx, dy), atol=1e-9)


@quick
@given(flows, st.floats(0.01, 100))
def test_endpoint_error_scales_and_angular_error_is_symmetric(flow, scale):
    truth = np.roll(flow, 1, axis=1)
    np.testing.assert_allclose(
        endpoint_error(scale * flow.astype(float), scale * truth.astype(float)),
        scale * endpoint_error(flow, truth),
        rtol=1e-9,
    )
    np.testing.assert_allclose(angular_error(flow, truth), angular_error(truth, flow), atol=1e-9)


@quick
@given(flows)
def test_a_perfect_flow_has_no_error(flow):
    visible = np.arange(flow[..., 0].size).reshape(flow.shape[:2]) % 2 == 0
    scores = flow_scores(flow, flow, visible).all
    assert scores.pixels == visible.size
    assert (scores.density, scores.mean, scores.median, scores.angular) == (100, 0, 0, 0)
    assert scores.bad == {1: 0, 3: 0, 5: 0}


@pytest.mark.parametrize("degrees", [1e-7, 0.5, 30, 45, 89, 120, 179])
def test_angular_error_is_the_angle_in_space_and_time(degrees):
    # (tan a, 0, 1) and (tan b, 0, 1) lie in one plane, b - a apart.
    start = -degrees / 2
    flow, truth = (np.array([[[math.tan(math.radians(x)), 0]]]) for x in (start, start + degrees))
    np.testing.assert_allclose(angular_error(flow, truth), degrees, rtol=1e-6)


def test_angular_error_by_hand():
    # (1, 0, 1) and (0, 1, 1): cosine 1/2. (0, 0, 1) and (1, 1, 1): cosine 1/sqrt 3.
    error = angular_error(field((1, 0), (0, 0)), field((0, 1), (1, 1)))
    np.testing.assert_allclose(error, [[60, math.degrees(math.acos(3**-0.5))]])


@pytest.mark.filterwarnings("error")
def test_flow_scores_by_hand():
    truth = field((0, 0), (0, 0), (0, 0), (0, 0), (NAN, 0), (0, 0))
    flow = field((3, 4), (0, 1), (0, NAN), (2, 0), (1, 1), (np.inf, 0))
    scores = flow_scores(flow, truth, seen(1, 1, 1, 0, 1, 0), thresholds=(1, 4.5))
    visible, occluded, every = scores.visible, scores.occluded, scores.all
    assert (visible.pixels, occluded.pixels, every.pixels) == (3, 2, 5)
    assert visible.density == pytest.approx(200 / 3)
    assert (visible.mean, visible.median) == (3, 3)
    assert visible.bad == {1: pytest.approx(200 / 3), 4.5: pytest.approx(200 / 3)}
    assert (occluded.density, occluded.mean, occluded.bad[1], occluded.bad[4.5]) == (50, 2, 100, 50)
    assert (every.density, every.mean, every.median) == (60, pytest.approx(8 / 3), 2)
    assert every.bad == {1: 80, 4.5: 60}
    degrees = [math.degrees(math.atan(x)) for x in (5, 1, 2)]
    assert visible.angular == pytest.approx(np.mean(degrees[:2]))
    assert every.angular == pytest.approx(np.mean(degrees))


@quick
@given(flows, st.randoms(use_true_random=False))
def test_the_order_of_the_pixels_does_not_matter_and_the_groups_make_the_whole(flow, random):
    truth = np.roll(flow, 1, axis=0)
    truth[0, 0] = NAN
    flow = flow.copy()
    flow[-1, -1] = NAN
    height, width = flow.shape[:2]
    visible = np.array([random.random() < 0.5 for _ in range(height * width)]).reshape(height, width)
    order = random.sample(range(height * width), height * width)

    def shuffle(values):
        return values.reshape(height * width, 1, *values.shape[2:])[order]

    one = flow_scores(flow, truth, visible)
    other = flow_scores(shuffle(flow), shuffle(truth), shuffle(visible))
    for name in ("visible", "occluded", "all"):
        a, b = asdict(getattr(one, name)), asdict(getattr(other, name))
        assert a.pop("bad") == pytest.approx(b.pop("bad"), nan_ok=True)
        assert a == pytest.approx(b, nan_ok=True)

    assert one.visible.pixels + one.occluded.pixels == one.all.pixels
    bad = sum(g.bad[3] * g.pixels for g in (one.visible, one.occluded) if g.pixels)
    assert bad == pytest.approx(one.all.bad[3] * one.all.pixels if one.all.pixels else 0)


@pytest.mark.filterwarnings("error")
def test_empty_groups_score_nan_and_missing_estimates_are_all_bad():
    truth = constant((2, 3), 1, 2)
    nothing = flow_scores(truth * NAN, truth, np.ones((2, 3), bool))
    assert (nothing.visible.density, nothing.visible.bad[5]) == (0, 100)
    assert math.isnan(nothing.visible.mean)
    assert math.isnan(nothing.visible.median)
    assert nothing.occluded.pixels == 0
    values = [nothing.occluded.density, nothing.occluded.mean, nothing.occluded.angular]
    assert np.isnan([*values, *nothing.occluded.bad.values()]).all()


def test_float32_is_summed_in_float64():
    rng = np.random.default_rng(0)
    flow, truth = (rng.normal(size=(50, 60, 2)).astype(np.float32) * 1e3 for _ in range(2))
    visible = np.ones((50, 60), bool)
    assert flow_scores(flow, truth, visible).all == flow_scores(flow.astype(float), truth, visible).all


def test_inputs_stay_untouched():
    flow, truth = np.array([[[np.inf, 0], [1, 1]]]), np.array([[[0, 0], [-np.inf, 0]]])
    before = flow.copy(), truth.copy()
    flow_scores(flow, truth, seen(1, 0))
    np.testing.assert_array_equal((flow, truth), before)


# 3D motion, depth, masks


def test_motion_scores_by_hand():
    truth = field((0, 0, 0), (1, 1, 1), (0, 0, 0), (NAN, 0, 0))
    motion = field((1, 2, 2), (1, 1, 2), (0, 0, NAN), (0, 0, 0))
    scores = motion_scores(motion, truth, seen(1, 1, 0, 0), thresholds=(0.5, 2))
    assert (scores.visible.mean, scores.visible.median) == (2, 2)
    assert scores.visible.bad == {0.5: 100, 2: 50}
    assert (scores.occluded.density, scores.occluded.bad[2]) == (0, 100)
    assert scores.all.bad[2] == pytest.approx(200 / 3)


def test_depth_scores_by_hand():
    truth = row(10, 2, 4, 5, NAN, 0, -3)
    depth = row(10.05, 2.1, NAN, 3, 1, 1, 1)
    scores = depth_scores(depth, truth, seen(1, 1, 1, 0, 1, 1, 1))
    assert (scores.visible.pixels, scores.occluded.pixels) == (3, 1)
    assert scores.visible.mean == pytest.approx(0.075, rel=1e-5)
    assert scores.visible.relative == pytest.approx((0.5 + 5) / 2, rel=1e-5)
    assert scores.visible.bad == {1: pytest.approx(200 / 3)}
    assert (scores.occluded.mean, scores.occluded.relative) == (2, pytest.approx(40))


@quick
@given(st.floats(0.01, 100))
def test_relative_depth_error_does_not_depend_on_the_unit(scale):
    truth, depth = np.array([[1.0, 2, 3]]), np.array([[1.1, 2, 2.5]])
    one, other = (depth_scores(k * depth, k * truth, seen(1, 1, 0)).all for k in (1, scale))
    assert other.relative == pytest.approx(one.relative)
    assert other.mean == pytest.approx(scale * one.mean)
    assert other.bad == one.bad


def test_occlusion_scores_by_hand():
    truth, found = seen(1, 1, 1, 0, 0, 1), seen(1, 0, 1, 1, 0, 0)
    scores = occlusion_scores(found, truth)
    assert scores.precision == pytest.approx(200 / 3)
    assert scores.recall == 50
    assert scores.f1 == pytest.approx(400 / 7)
    known = occlusion_scores(found, truth, seen(1, 1, 1, 0, 1, 0))
    assert (known.precision, known.recall, known.f1) == (100, pytest.approx(200 / 3), pytest.approx(80))


def test_occlusion_scores_without_anything_to_find():
    none = occlusion_scores(seen(0, 0), seen(0, 0))
    assert np.isnan([none.precision, none.recall, none.f1]).all()
    wrong = occlusion_scores(seen(1, 0), seen(0, 0))
    assert (wrong.precision, wrong.f1) == (0, 0)
    assert math.isnan(wrong.recall)


# Four frames together


def test_paper_scores_by_hand():
    truth = FourFrameFlows(field((0, 0), (1, 0)), field((3, 4), (8, 6)), field((0, 0), (0, 2)))
    # Pixel 0: u off by 1, d = 13 off by 8, p = 5 off by 5. Pixel 1: only the direction of u2, u3 differs.
    estimate = FourFrameFlows(field((1, 0), (1, 0)), field((5, 12), (-10, 0)), field((-3, 4), (2, 0)))
    scores = paper_scores(estimate, truth, seen(1, 0))
    first, second = scores.visible, scores.occluded
    assert (first.pixels, first.density, first.mae_d) == (1, 100, 8)
    assert first.rmse == pytest.approx(math.sqrt(1 + 64 + 25))
    # (1, 0, 5, 1) against (0, 0, 0, 1)
    assert first.aae == pytest.approx(math.degrees(math.acos(1 / math.sqrt(27))))
    assert (second.mae_d, second.rmse, second.aae) == (0, 0, 0)
    assert (scores.all.mae_d, scores.all.aae) == (4, pytest.approx(first.aae / 2))
    assert scores.all.rmse == pytest.approx(math.sqrt(90 / 2))
    assert disparity_scores(estimate.stereo, truth.stereo, seen(1, 0)).visible.mean == 8


def test_paper_scores_need_all_three_flows():
    # Truth without u3, truth without u2, estimate without u2, estimate without u1, u3; one complete pixel.
    zero = constant((1, 6), 0, 0)
    unknown = (NAN, 0)
    truth = FourFrameFlows(zero, zero.copy(), zero.copy())
    truth.disparity[0, 0] = truth.stereo[0, 1] = unknown
    optical, stereo, disparity = zero.copy(), constant((1, 6), 9, 0), zero.copy()
    stereo[0, 2] = optical[0, 3] = disparity[0, 4] = unknown
    stereo[0, 5], optical[0, 5] = (2, 0), (1, 0)
    disparity[0, 3] = (7, 0)
    scores = paper_scores(FourFrameFlows(optical, stereo, disparity), truth, seen(*[1] * 6))
    assert (scores.all.pixels, scores.all.density) == (4, 25)
    assert scores.all.mae_d == 2
    assert scores.all.rmse == pytest.approx(math.sqrt(5))
    assert scores.all.aae == pytest.approx(45)
    assert math.isnan(scores.occluded.rmse)
    # The stereo flow alone needs no other.
    alone = disparity_scores(stereo, truth.stereo, seen(*[1] * 6)).all
    assert (alone.pixels, alone.density, alone.mean) == (5, 80, pytest.approx((3 * 9 + 2) / 4))


@pytest.mark.parametrize(
    ("error", "true", "outlier"),
    [
        (3, 10, False),  # not more than 3 px
        (3.5, 10, True),
        (3.5, 80, False),  # less than 5 %
        (5, 100, False),  # exactly 5 %
        (5.5, 100, True),
        (2, 10, False),  # 20 %, but less than 3 px
        (4, 0, True),
        (NAN, 100, True),
    ],
)
def test_kitti_outliers_are_off_by_3_pixels_and_5_percent(error, true, outlier):
    disparity, flow = row(true), field((0.6 * true, -0.8 * true))
    truth = KittiFields(disparity, disparity, flow)
    wrong = KittiFields(disparity - error, disparity, flow + field((error, 0)))
    scores = kitti_scores(wrong, truth, seen(1)).visible
    assert (scores.d1, scores.d2, scores.fl, scores.sf) == (100 * outlier, 0, 100 * outlier, 100 * outlier)


def test_kitti_sf_is_any_outlier_where_all_truth_is_known():
    good, bad = 10, 20
    truth = KittiFields(row(*[good] * 5), row(good, good, good, good, NAN), constant((1, 5), 0, 0))
    estimate = KittiFields(
        row(bad, good, good, good, bad),
        row(good, bad, good, good, NAN),
        field((0, 0), (0, 0), (0, 9), (1, 1), (0, 0)),
    )
    scores = kitti_scores(estimate, truth, seen(1, 1, 1, 1, 1)).visible
    assert (scores.pixels, scores.density) == (4, 100)
    assert (scores.d1, scores.d2, scores.fl, scores.sf) == (40, 25, 20, 75)


def test_kitti_takes_stereo_flow_for_disparity():
    truth = KittiFields(field((6, 8)), field((6, 8)), field((0, 0)))
    estimate = KittiFields(field((6, 12)), field((8, 6)), field((0, NAN)))
    scores = kitti_scores(estimate, truth, seen(0)).occluded
    assert (scores.d1, scores.d2, scores.fl, scores.density) == (100, 0, 100, 0)


# Tables and wrong inputs


def test_table_has_a_row_per_group():
    table = flow_scores(field((3, 4)), field((0, 0)), seen(1), thresholds=(3,)).as_table().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert cells[0] == ["group", "pixels", "density", "mean", "median", "angular", "bad 3"]
    assert cells[2] == ["visible", "1", "100", "5", "5", "78.69", "100"]
    assert cells[3] == ["occluded", "0", *["nan"] * 5]
    assert [line[0] for line in cells[2:]] == ["visible", "occluded", "all"]


FLOW, MOTION, MASK = np.zeros((4, 5, 2)), np.zeros((4, 5, 3)), np.ones((4, 5), bool)


@pytest.mark.parametrize(
    "call",
    [
        lambda: endpoint_error(FLOW, FLOW[1:]),
        lambda: endpoint_error(1.0, 1.0),
        lambda: angular_error(MOTION, MOTION),
        lambda: flow_scores(MOTION, MOTION, MASK),
        lambda: flow_scores(FLOW, FLOW, MASK.T),
        lambda: flow_scores(FLOW, FLOW, MASK.astype(np.uint8)),
        lambda: motion_scores(FLOW, FLOW, MASK, (1,)),
        lambda: depth_scores(FLOW, FLOW, MASK),
        lambda: depth_scores(np.zeros(20), np.zeros(20), MASK),
        lambda: disparity_scores(FLOW[..., 0], FLOW[..., 0], MASK),
        lambda: occlusion_scores(MASK, MASK[1:]),
        lambda: occlusion_scores(MASK, MASK, MASK[1:]),
        lambda: paper_scores(FourFrameFlows(FLOW, FLOW, MOTION), FourFrameFlows(FLOW, FLOW, MOTION), MASK),
        lambda: paper_scores(*[FourFrameFlows(FLOW, FLOW[1:], FLOW)] * 2, MASK),
        lambda: kitti_scores(*[KittiFields(FLOW[..., 0], FLOW[1:, :, 0], FLOW)] * 2, MASK),
        lambda: kitti_scores(*[KittiFields(FLOW, FLOW, FLOW[..., 0])] * 2, MASK),
    ],
)
def test_inputs_that_do_not_fit_are_one_sentence(call):
    with pytest.raises(InputError, match=r"must (be|have)") as caught:
        call()
    assert "\n" not in str(caught.value)
