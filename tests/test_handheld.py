"""The handheld layout: ours and the measuring data's by the same reader, under the same checks."""

import contextlib
import io
import json
import zipfile
from dataclasses import fields
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import shared
from wideflow.errors import FileError
from wideflow.geometry import pixel_grid, points_from_depth, world_to_camera
from wideflow.handheld import HandheldScene, read_handheld, read_truth, write_cameras, write_truth
from wideflow.types import Camera, Rig, RigFrame, Truth, View


def sample(image: np.ndarray, at: np.ndarray, nearest: bool = False) -> np.ndarray:
    """Picture (H, W) or (H, W, C) pulled from pixels ``at`` (h, w, 2)."""
    at = np.where(np.isfinite(at), at, -9).astype(np.float32)
    way = cv2.INTER_NEAREST if nearest else cv2.INTER_LINEAR
    return cv2.remap(image.astype(np.float32), at[..., 0], at[..., 1], way)


def consistency(scene: HandheldScene, camera: int, time: int = 0) -> dict[str, float]:
    """How well the truth of one picture agrees with that of the others and with the pictures."""
    truth, flows = scene.truth(camera, time), scene.flows(camera, time)
    now, later = scene.rig.frame(time), scene.rig.frame(time + 1)
    grid = pixel_grid(*now.views[camera].camera.size)
    points = points_from_depth(now.views[camera], truth.depth)
    there = np.isfinite(truth.depth)
    out = {}
    for kind, visible, target, moment in (
        ("stereo", truth.stereo_visible, 1 - camera, now),
        ("optical", truth.optical_visible, camera, later),
        ("loop", truth.loop_visible, 1 - camera, later),
    ):
        step = time + (moment is later)
        flow = getattr(flows, kind)
        goal = grid + flow
        other = scene.truth(target, step)
        size = np.array(moment.views[target].camera.size)
        inside = there & ((goal >= 0) & (goal <= size - 1)).all(-1)
        moved = points + truth.motion if moment is later else points
        depth = world_to_camera(moment.views[target], moved)[..., 2]
        seen = sample(other.depth, goal, nearest=True)
        match = np.abs(seen - depth) < 0.01 * depth
        out[f"{kind} depth agrees"] = match[visible & inside].mean()
        out[f"{kind} hidden is behind"] = (seen < depth * 1.001)[inside & ~visible].mean()
        picture, warped = scene.image(camera, time), sample(scene.image(target, step), goal)
        both = visible & inside
        out[f"{kind} correlation"] = np.corrcoef(picture[both].ravel(), warped[both].ravel())[0, 1]
        if kind == "stereo":
            back = sample(scene.flows(target, step).stereo, goal, nearest=True)
            returns = np.hypot(*np.moveaxis(flow + back, -1, 0)) < 1.5
            out["visible returns"] = returns[both].mean()
            out["hidden returns"] = returns[inside & ~visible].mean()
    return out


def assert_consistent(scene: HandheldScene, camera: int, *, correlation: float) -> None:
    found = consistency(scene, camera)
    for name, value in found.items():
        least = correlation if "correlation" in name else 0.88
        if name == "hidden returns":
            assert value < 0.12, found
        else:
            assert value > least, (name, found)


@pytest.mark.parametrize("name", ["scene08", "scene25"])
def test_shared_scene_is_consistent(name: str) -> None:
    scene = read_handheld(shared(f"handheld/{name}"))
    assert scene.times(0) == scene.times(1) == [0, 1]
    assert len(scene.rig.frames) == 3
    assert scene.rig.cameras[0].size == (960, 540)
    for camera in (0, 1):
        assert_consistent(scene, camera, correlation=0.95)


def test_clip_pairs_frames_by_its_offset() -> None:
    folder = shared("handheld/clip12")
    scene = read_handheld(folder)
    listed = json.loads((folder / "truth.json").read_text())["cameras"]
    view = scene.rig.frame(24).views[1]
    np.testing.assert_array_equal(view.R, listed[1][24 - 13]["R"])
    assert [frame.index for frame in scene.rig.frames] == list(range(13, 60))
    truth = scene.truth(0, 24)
    flow = scene.flows(0, 24).stereo
    goal = pixel_grid(640, 360) + flow
    inside = ((goal >= -0.5) & (goal <= [639.5, 359.5])).all(-1)
    assert inside[truth.stereo_visible].mean() > 0.999


def make_truth(rng: np.random.Generator, height: int, width: int) -> Truth:
    masks = rng.random((3, height, width)) < 0.5
    depth = rng.random((height, width), np.float32)
    depth[rng.random((height, width)) < 0.1] = np.nan
    motion = rng.standard_normal((height, width, 3), np.float32)
    return Truth(depth, motion, *masks, rng.integers(-1, 99, (height, width)).astype(np.int16))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 20))
def test_truth_round_trips_exactly(
    tmp_path_factory: pytest.TempPathFactory, seed: int, h: int, w: int
) -> None:
    path = tmp_path_factory.mktemp("truth") / "gt0_0000.npz"
    truth = make_truth(np.random.default_rng(seed), h, w)
    write_truth(path, truth)
    again = read_truth(path)
    for field in fields(Truth):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(truth, field.name))
        assert getattr(again, field.name).dtype == getattr(truth, field.name).dtype


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cameras = tuple(Camera(n, 8, 6, np.array([[9.0, 0, 4], [0, 9, 3], [0, 0, 1]])) for n in "ab")
    poses = [np.column_stack([np.eye(3), (i, 0, 0)]) for i in (0, 1)]
    views = tuple(View(camera, pose) for camera, pose in zip(cameras, poses, strict=True))
    frames = tuple(RigFrame(t, (t, t), views) for t in range(2))
    write_cameras(tmp_path / "cameras.json", Rig(cameras, frames))
    for camera in (0, 1):
        write_truth(tmp_path / f"gt{camera}_0000.npz", make_truth(np.random.default_rng(camera), 6, 8))
    return tmp_path


def test_cameras_round_trip(folder: Path) -> None:
    scene = read_handheld(folder)
    assert scene.rig.cameras[1].size == (8, 6)
    np.testing.assert_array_equal(scene.rig.frame(1).views[1].t, [1, 0, 0])
    assert scene.times(0) == [0]
    # B is one unit to the left of A's axis: f * X / Z = 9 / depth.
    truth = scene.truth(0, 0)
    np.testing.assert_allclose(scene.flows(0, 0).stereo[..., 0], 9 / truth.depth, rtol=1e-5)


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def huge_header() -> bytes:
    """A depth that claims 10^6 x 10^6 pixels and has none."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("depth.npy", header.getvalue())
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK",
        b"not a zip file at all",
        huge_header(),
        npz(depth=np.zeros((4, 4), np.float32)),
        npz(depth=np.zeros((0, 4), np.float32)),
        npz(depth=np.zeros(16, np.float32)),
        npz(depth=np.array([["x", "y"]])),
        npz(depth=np.array([[{}]], dtype=object)),
    ],
    # an archive's bytes hold the time at which it was made: every worker would have names of its own
    ids=["empty", "start", "text", "huge", "alone", "no rows", "flat", "words", "objects"],
)
def test_damaged_truth_is_one_error(folder: Path, data: bytes) -> None:
    (folder / "gt0_0000.npz").write_bytes(data)
    with pytest.raises(FileError, match="gt0_0000"):
        read_truth(folder / "gt0_0000.npz")


def test_truncated_truth_is_one_error(folder: Path) -> None:
    data = (folder / "gt0_0000.npz").read_bytes()
    for length in range(2, len(data), 97):
        (folder / "gt0_0000.npz").write_bytes(data[:length])
        with pytest.raises(FileError):
            read_truth(folder / "gt0_0000.npz")


def test_flipped_bytes_never_crash(folder: Path) -> None:
    data = bytearray((folder / "gt0_0000.npz").read_bytes())
    for i in range(0, len(data), 41):
        flipped = data.copy()
        flipped[i] ^= 0x5A
        (folder / "gt0_0000.npz").write_bytes(flipped)
        with contextlib.suppress(FileError):
            read_truth(folder / "gt0_0000.npz")


def test_truth_of_another_size_is_refused(folder: Path) -> None:
    write_truth(folder / "gt0_0001.npz", make_truth(np.random.default_rng(0), 5, 5))
    with pytest.raises(FileError, match="size"):
        read_handheld(folder).truth(0, 1)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("{", "JSON"),
        ("[]", "two cameras"),
        ("[[], []]", "two cameras"),
        ("[[1], [2]]", "object"),
        ('[[{"K": 1}], [{"K": 1}]]', "K"),
        ("\udcff", "JSON"),
    ],
)
def test_damaged_cameras_are_one_error(folder: Path, text: str, word: str) -> None:
    (folder / "cameras.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileError, match=word):
        read_handheld(folder)


def test_impossible_cameras_are_one_error(folder: Path) -> None:
    good = json.loads((folder / "cameras.json").read_text())
    for key, value, word in (
        ("R", np.ones((3, 3)).tolist(), "rotation"),
        ("K", np.eye(3).tolist(), "changes"),
    ):
        bad = json.loads(json.dumps(good))
        bad[0][1][key] = value
        (folder / "cameras.json").write_text(json.dumps(bad))
        with pytest.raises(FileError, match=word):
            read_handheld(folder)


def test_folder_without_a_scene_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cameras\.json"):
        read_handheld(tmp_path)
    with pytest.raises(FileError, match="not a folder"):
        read_handheld(tmp_path / "nowhere")
