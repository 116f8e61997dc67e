"""Dense matching of whatever people hand it: pictures of all kinds, settings, and mistakes."""

import cv2
import numpy as np
import pytest

import wideflow
from matching_scenes import end_point_error, rendered, stereo_truth, texture, two_views, warped_pair
from shared_data import shared
from wideflow.config import PRESETS, MatchConfig, load_config
from wideflow.errors import InputError
from wideflow.types import Camera, View

SIZES = ((80, 60), (72, 64))
PICTURE = texture(60, 80, 1)


@pytest.fixture(scope="module")
def stereo():
    views = two_views(SIZES)
    (first, depth1), (second, depth2) = (rendered(view) for view in views)
    return (first, second), views, *stereo_truth(views, (depth1, depth2))


@pytest.fixture(scope="module")
def usual(stereo) -> bytes:
    (first, second), views, _, _ = stereo
    return wideflow.match(first, second, views=views).forward.uv.tobytes()


@pytest.mark.parametrize(
    "assignment",
    [
        "match.weight_epipolar=0",
        "match.oriented=false",
        "match.colour_transform=false",
        "match.coarsest=20",
        "match.polish=false",
        "match.search='random'",
        "match.particles=1",
        "match.particles=5",
        "match.descriptor_rings=3",
        "match.colour_degree=1",
        "match.stereo.swept.tries=0",
    ],
)
def test_every_ingredient_can_be_left_out_or_changed(stereo, usual: bytes, assignment: str) -> None:
    (first, second), views, truth, seen = stereo
    found = wideflow.match(first, second, views=views, config=load_config(settings=[assignment]).match)
    assert np.mean(end_point_error(found.forward.uv, truth)[seen] > 3) < 0.06
    assert found.forward.uv.tobytes() != usual


def test_directions_exchange_what_they_find(stereo) -> None:
    """Planes take the place of what is exchanged where the scene has some."""
    (first, second), views, truth, seen = stereo
    flows = [
        wideflow.match(first, second, views=views, config=MatchConfig(planes=False, exchange=way)).forward.uv
        for way in (True, False)
    ]
    errors = [np.mean(end_point_error(uv, truth)[seen] > 3) for uv in flows]
    assert not np.array_equal(*flows)
    assert errors[0] <= errors[1] + 0.005
    assert errors[1] < 0.06


def test_without_coarser_levels(stereo, usual: bytes) -> None:
    (first, second), views, _, _ = stereo
    told: list[str] = []
    config = MatchConfig(coarse_to_fine=False, coarsest=20)
    found = wideflow.match(
        first, second, views=views, config=config, progress=lambda *step: told.append(step[2])
    )
    assert told == ["matching at 80x60", "matched"]
    assert found.forward.uv.tobytes() == usual  # so small a picture has but one level by default


def test_without_the_pairwise_term(stereo) -> None:
    (first, second), views, truth, seen = stereo
    none = ["match.stereo.swept.pairwise=[0]", "match.polish=false"]
    rough = wideflow.match(first, second, views=views, config=load_config(settings=none).match).forward.uv
    smooth = wideflow.match(
        first, second, views=views, config=load_config(settings=none[1:]).match
    ).forward.uv
    assert np.mean(end_point_error(rough, truth)[seen] > 3) < 0.1
    steps = [np.abs(np.diff(uv, axis=1)).mean() for uv in (rough, smooth)]
    assert steps[1] < steps[0]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", ["stereo", "optical"])
def test_every_preset_matches(stereo, preset: str, kind: str) -> None:
    (first, second), views, _, _ = stereo
    config = load_config(preset=preset).match
    found = wideflow.match(first, second, kind=kind, views=views if kind == "stereo" else None, config=config)
    for flow, picture in ((found.forward, first), (found.backward, second)):
        assert flow.shape == picture.shape[:2]
        assert np.isfinite(flow.uv).all()
        assert flow.confidence.min() >= 0
        assert flow.confidence.max() <= 1


@pytest.mark.parametrize(
    "picture",
    [
        PICTURE,
        np.full((60, 80, 3), 0.5, np.float32),
        np.zeros((60, 80), np.uint8),
        (PICTURE > 0.5),
        texture(8, 8, 1),
        texture(8, 90, 1),
    ],
    ids=["texture", "grey", "black", "black and white", "8x8", "8x90"],
)
def test_identical_pictures_do_not_move(picture: np.ndarray) -> None:
    found = wideflow.match(picture, picture, kind="optical")
    assert np.abs(found.forward.uv).max() < 0.05
    assert not found.occluded.any()


def test_all_kinds_of_pixels_give_the_same_flow() -> None:
    """8 and 16 bits, float64, grey with one, two and three channels, alpha."""
    first, second, _ = warped_pair(lambda grid: np.full_like(grid, (3, -2)), (80, 60))
    bytes_ = [np.rint(picture[..., 0] * 255).astype(np.uint8) for picture in (first, second)]
    expected = wideflow.match(*bytes_, kind="optical").forward.uv

    def same(change) -> bool:
        found = wideflow.match(*(change(grey) for grey in bytes_), kind="optical").forward.uv
        return np.abs(found - expected).max() < 1e-3

    noise = np.random.default_rng(0).integers(0, 256, (60, 80), np.uint8)
    assert same(lambda grey: grey.astype(np.uint16) * 257)
    assert same(lambda grey: grey / 255)
    assert same(lambda grey: grey[..., None])
    assert same(lambda grey: np.dstack([grey, noise]))
    assert same(lambda grey: np.dstack([grey, grey, grey]))
    assert same(lambda grey: np.dstack([grey, grey, grey, noise]))
    assert same(lambda grey: np.asfortranarray(grey))
    assert np.median(expected, axis=(0, 1)) == pytest.approx((3, -2), abs=0.2)


@pytest.mark.parametrize("other", [texture(60, 80, 2), PICTURE[:, ::-1]], ids=["unrelated", "mirrored"])
@pytest.mark.parametrize("kind", ["optical", "stereo"])
def test_where_nothing_matches_confidence_is_low(other: np.ndarray, kind: str) -> None:
    views = two_views(((80, 60), (80, 60))) if kind == "stereo" else None
    found = wideflow.match(PICTURE, other, kind=kind, views=views)
    assert np.isfinite(found.forward.uv).all()
    assert found.forward.confidence.mean() < 0.25
    assert wideflow.match(PICTURE, PICTURE, kind="optical").forward.confidence.mean() > 0.8


def test_plain_pictures_in_front_of_two_cameras() -> None:
    plain = [np.full((height, width, 3), 0.5, np.float32) for width, height in SIZES]
    found = wideflow.match(*plain, views=two_views(SIZES))
    assert np.isfinite(found.forward.uv).all()
    assert found.forward.confidence.mean() < 0.6


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (texture(120, 160, 1), texture(120, 160, 2)),
        (PICTURE, PICTURE[:, ::-1]),
        (PICTURE, np.full((60, 80, 3), 0.5)),
        (np.zeros((60, 80)), np.zeros((60, 80))),
    ],
    ids=["unrelated", "mirrored", "one plain", "both plain"],
)
def test_no_geometry_can_be_found(first: np.ndarray, second: np.ndarray) -> None:
    with pytest.raises(InputError, match="matches between the two pictures agree on where the cameras stood"):
        wideflow.match(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [("flow/Grove2/frame10.png", "stereo/Books/disp1.png"), ("stereo/Art/disp1.png", "stereo/ArtL/left.png")],
)
def test_repeated_keypoints_are_no_evidence(first: str, second: str) -> None:
    """Unrelated pictures, of which one has edges with many SIFT keypoints at the same place."""
    pictures = [cv2.resize(wideflow.read_image(shared(name)), (640, 480)) for name in (first, second)]
    with pytest.raises(InputError, match="agree on where the cameras stood"):
        wideflow.match(*pictures)


def spoilt(value: float) -> np.ndarray:
    picture = PICTURE.copy()
    picture[3, 4, 1] = value
    return picture


@pytest.mark.parametrize(
    ("picture", "sentence"),
    [
        (PICTURE[:1, :1], "first picture is 1x1; matching needs at least 8 pixels each way"),
        (PICTURE[:7], "first picture is 80x7"),
        (PICTURE[:0], "first picture is 80x0"),
        (spoilt(np.nan), "first picture holds values that are not finite"),
        (spoilt(np.inf), "first picture holds values that are not finite"),
        (spoilt(255), "first picture has values outside 0..1"),
        (spoilt(-1), "first picture has values outside 0..1"),
        (np.zeros((60, 80, 5)), r"first picture has shape \(60, 80, 5\)"),
        (np.zeros(60), r"first picture has shape \(60,\)"),
        (PICTURE + 0j, "first picture holds complex64 instead of numbers"),
        ("first.png", "first picture holds .* instead of numbers; read it with read_image"),
        (None, "first picture holds object instead of numbers"),
        ([[1, 2], [3]], "first picture is not an array"),
    ],
)
def test_a_picture_that_is_none_is_one_sentence(picture: object, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        wideflow.match(picture, PICTURE, kind="optical")
    with pytest.raises(InputError, match=sentence.replace("first picture", "second picture")):
        wideflow.match(PICTURE, picture, kind="optical")


def test_cameras_that_are_not_those_of_the_pictures(stereo) -> None:
    (first, second), views, _, _ = stereo
    with pytest.raises(
        InputError, match="picture of camera 'camera 1' is 80x60, its calibration is for 72x64"
    ):
        wideflow.match(first, first, views=views)
    lens = views[1].camera
    bent = View(Camera("bent", *lens.size, lens.K, np.array([0.1, 0, 0, 0])), views[1].cam_from_world)
    with pytest.raises(InputError, match="camera 'bent' has lens distortion; undistort its picture first"):
        wideflow.match(first, second, views=(views[0], bent))
    with pytest.raises(InputError, match="stand at the same place"):
        wideflow.match(first, first, views=(views[0], views[0]))
    with pytest.raises(InputError, match="either 'stereo' or 'optical', not 'flow'"):
        wideflow.match(first, second, kind="flow")


def test_progress_is_told_level_by_level() -> None:
    told: list[tuple[int, int, str]] = []
    config = MatchConfig(coarsest=20)
    wideflow.match(PICTURE, PICTURE, kind="optical", config=config, progress=lambda *step: told.append(step))
    assert [text for _, _, text in told] == [
        "matching at 20x15", "matching at 40x30", "matched"  # polish does the rest
    ]  # fmt: skip
    assert [done / total for done, total, _ in told] == sorted({done / total for done, total, _ in told})
    assert told[-1][0] == told[-1][1]


@pytest.mark.parametrize("values", [(0.5, 0.5), (0.0, 1.0)])
def test_plain_pictures_are_not_trusted(values: tuple[float, float]) -> None:
    first, second = (np.full((48, 64, 3), value, np.float32) for value in values)
    found = wideflow.match(first, second, kind="optical")
    assert np.isfinite(found.forward.uv).all()
    assert found.forward.confidence.max() < 0.05
