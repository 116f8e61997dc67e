"""``wideflow depth``: a COLMAP model and its pictures become depth, held against the truth of a room."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import cv2
import numpy as np
import pytest

import room
from wideflow.cli import main
from wideflow.evidence import Glimpse
from wideflow.evidence.planes import Patches, find_pixel_planes
from wideflow.files import (
    ColmapImage,
    ColmapModel,
    ColmapPoints,
    read_colmap,
    read_image,
    read_pfm,
    read_ply,
    write_colmap,
    write_image,
)
from wideflow.geometry import camera_to_world, ideal_camera, pixel_grid, transfer, unproject
from wideflow.photos.agreement import confirmed, world_normals, world_points
from wideflow.photos.neighbours import choose_photos, depth_range
from wideflow.types import Camera, View

SIZE = (112, 84)
ANGLES = (-12, -6, 0, 6, 12)
MOMENT = 0.3


@cache
def lens(k1: float) -> Camera:
    """Long enough that the walls' texture is not finer than pixels."""
    return Camera(
        "a", *SIZE, np.array([[230.0, 0, 57.4], [0, 230, 40.5], [0, 0, 1]]), np.array([k1, 0, 0, 0])
    )


def view(angle: float, k1: float = -0.2) -> View:
    return room.view(lens(k1), 0.0, angle, 0.0)


def write_model(folder: Path) -> None:
    """The room from five places: pictures, cameras and some points that each sees."""
    (folder / "images" / "left").mkdir(parents=True)
    images, xyz, tracks = {}, [np.zeros((0, 3))], []
    grid = pixel_grid(*SIZE)[5::9, 4::9].reshape(-1, 2)
    for k, angle in enumerate(ANGLES, 1):
        seen = view(angle)
        name = f"left/{k}.png" if k == 1 else f"{k}.png"
        write_image(folder / "images" / name, room.picture(seen, MOMENT))
        depth = room.shown(seen, MOMENT)[1][5::9, 4::9].reshape(-1)
        ids = np.arange(len(grid)) + sum(map(len, xyz))
        xyz.append(camera_to_world(seen, unproject(seen.camera, grid) * depth[:, None]))
        tracks += [np.array([[k, i]]) for i in range(len(grid))]
        plain = ColmapImage.at_pose(name, 7, seen.cam_from_world)
        images[k] = replace(plain, xy=grid, point_ids=ids)
    world = np.concatenate(xyz)
    cloud = ColmapPoints(
        np.arange(len(world)), world, np.zeros((len(world), 3), np.uint8), np.zeros(len(world)), tuple(tracks)
    )
    (folder / "sparse").mkdir()
    write_colmap(folder / "sparse" / "0", ColmapModel({7: view(0).camera}, images, cloud), binary=True)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_model(folder)
    assert main(["depth", str(folder), str(folder / "images"), "-o", str(folder / "out"), "--quiet"]) == 0
    return folder


def true_depth(angle: float) -> np.ndarray:
    return room.shown(View(ideal_camera(view(angle).camera), view(angle).cam_from_world), MOMENT)[1]


def test_depth_is_that_of_the_undistorted_room(scene: Path) -> None:
    for name, angle in (("2.png", -6), ("3.png", 0), ("4.png", 6)):
        depth = read_pfm(scene / "out" / "depth" / f"{name}.pfm")
        error = np.abs(depth / true_depth(angle) - 1)
        kept = np.isfinite(depth)
        assert kept.mean() > 0.65
        assert (error[kept] < 0.01).mean() > 0.95
        confidence = read_pfm(scene / "out" / "confidence" / f"{name}.pfm")
        assert (confidence[kept] > 0).all()
        assert confidence.max() <= 1
        preview = cv2.imread(str(scene / "out" / "preview" / f"{name}.png"), cv2.IMREAD_UNCHANGED)
        assert preview.dtype == np.uint16
        np.testing.assert_array_equal(preview > 0, kept)


def test_what_is_written_fits_together(scene: Path) -> None:
    out = scene / "out"
    summary = json.loads((out / "summary.json").read_text())
    assert [record["name"] for record in summary["pictures"]] == [
        "2.png",
        "3.png",
        "4.png",
        "5.png",
        "left/1.png",
    ]
    assert summary["left_out"] == []
    cameras = read_colmap(out / "sparse")
    assert all(camera.is_pinhole for camera in cameras.cameras.values())
    for image in cameras.images.values():
        assert read_image(out / "images" / image.name).shape == (*SIZE[::-1], 3)
        assert (out / "depth" / image.name.replace(".png.png", ".png.pfm")).is_file()
    kept = read_pfm(out / "depth" / "left" / "1.png.pfm")
    assert summary["pictures"][-1]["kept"] == pytest.approx(np.isfinite(kept).mean(), abs=1e-3)


def test_the_cloud_lies_on_the_walls_once_with_normals_towards_the_cameras(scene: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    cloud = read_ply(scene / "out" / "fused.ply")
    assert cloud.rgb is not None
    assert cloud.normal is not None
    still = np.linalg.norm(cloud.xyz - np.array([1.3, -0.3, 4.5]), axis=1) > 1.6  # without what wanders
    assert np.median(room.off_the_walls(cloud.xyz[still])) < 0.01
    assert (room.off_the_walls(cloud.xyz[still]) < 0.06).mean() > 0.9
    pixels = sum(np.isfinite(read_pfm(file)).sum() for file in (scene / "out" / "depth").rglob("*.pfm"))
    assert len(cloud.xyz) < 0.6 * pixels
    np.testing.assert_allclose(np.linalg.norm(cloud.normal, axis=1), 1, atol=1e-4)
    assert (((view(0).centre - cloud.xyz) * cloud.normal).sum(axis=1) > 0).mean() > 0.99
    back = (cloud.xyz[:, 2] > 7.9) & (np.abs(cloud.xyz[:, 0]) < 2.5) & (np.abs(cloud.xyz[:, 1]) < 1.2)
    assert np.median(-cloud.normal[back, 2]) > 0.8
    assert len(trimesh.load(scene / "out" / "fused.ply").vertices) == len(cloud.xyz)


def test_a_second_run_computes_what_is_missing_or_damaged(
    scene: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = scene / "out"
    before = {file: os.stat(file).st_mtime_ns for file in (out / "work").rglob("*.npz")}
    depth = read_pfm(out / "depth" / "3.png.pfm")
    looks: list[str] = []
    monkeypatch.setattr("wideflow.photos.job.first_look", lambda *_: looks.append("first"))

    def further_look(here: Glimpse, others: list[Glimpse], planes: np.ndarray, *_: object) -> np.ndarray:
        looks.append("further")
        return planes

    monkeypatch.setattr("wideflow.photos.job.further_look", further_look)
    words = ["depth", str(scene / "sparse" / "0"), str(scene / "images"), "-o", str(out), "--quiet"]
    (out / "depth" / "3.png.pfm").unlink()
    assert main(words) == 0
    assert looks == []
    assert before == {file: os.stat(file).st_mtime_ns for file in before}
    np.testing.assert_array_equal(read_pfm(out / "depth" / "3.png.pfm"), depth)
    (out / "work" / "3.png.second.npz").write_bytes(b"PK\x03\x04 half")
    assert main(words) == 0
    assert looks == ["further"]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "sparse" / "0" / "cameras.bin").unlink(), "neither cameras.bin nor"),
        (lambda folder: (folder / "images" / "3.png").unlink(), "3.png' does not exist"),
        (lambda folder: write_image(folder / "images" / "3.png", np.zeros((9, 9, 3))), "3.png' is 9x9"),
    ],
)
def test_bad_input_is_one_sentence(
    spoil: Callable[[Path], None], says: str, scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(scene / "sparse", tmp_path / "sparse")
    shutil.copytree(scene / "images", tmp_path / "images")
    spoil(tmp_path)
    assert (
        main(["depth", str(tmp_path / "sparse/0"), str(tmp_path / "images"), "-o", str(tmp_path / "out")])
        == 2
    )
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert says in said


@pytest.mark.parametrize(("count", "says"), [(0, "0 pictures"), (2, "2 pictures"), (5, "no sparse points")])
def test_models_that_tell_no_depth(
    count: int, says: str, scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = read_colmap(scene / "sparse" / "0")
    bare = {
        k: replace(image, xy=np.zeros((0, 2)), point_ids=np.zeros(0, np.int64))
        for k, image in model.images.items()
        if k <= count
    }
    write_colmap(tmp_path / "bare", ColmapModel(model.cameras, bare), binary=False)
    assert main(["depth", str(tmp_path / "bare"), str(scene / "images"), "-o", str(tmp_path / "out")]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_slanted_plane_is_found_with_its_slope() -> None:
    camera = lens(0.0)
    middle = room.view(camera, 0.0, 0.0, 0.0)
    # inverse depth is linear over the picture of a plane: texture of here, drawn into the others through it
    x, y = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
    inverse = (0.18 + 0.0006 * (x - 56) - 0.0009 * (y - 42)).astype(np.float32)
    texture = cv2.resize(room.texture(3), SIZE, interpolation=cv2.INTER_AREA)
    here = Glimpse(np.round(255 * texture.mean(axis=2)).astype(np.uint8), middle)
    others = []
    for angle in (-12, -6, 6, 12):
        there = room.view(camera, 0.0, angle, 0.0)
        H, e = transfer(middle, there)
        plane = np.array([0.0006, -0.0009, 0.18 - 0.0006 * 56 + 0.0009 * 42])
        drawn = cv2.warpPerspective(here.grey, H + np.outer(e, plane), SIZE, flags=cv2.INTER_CUBIC)
        others.append(Glimpse(drawn, there))
    start = np.stack([1.06 * inverse, np.zeros_like(inverse), np.zeros_like(inverse)], axis=-1)
    found = find_pixel_planes(here, others, start, (0.05, 0.5), Patches(rounds=4))
    inner = np.s_[12:-12, 16:-16]
    assert np.median(np.abs(found.inverse / inverse - 1)[inner]) < 0.002
    assert np.median(found.planes[inner][..., 1]) == pytest.approx(0.0006, abs=0.00012)
    assert np.median(found.planes[inner][..., 2]) == pytest.approx(-0.0009, abs=0.00012)
    again = find_pixel_planes(here, others, start, (0.05, 0.5), Patches(rounds=4))
    np.testing.assert_array_equal(found.planes, again.planes)


def test_normals_are_those_of_the_plane() -> None:
    seen = room.view(lens(0.0), 0.4, 20.0)
    normal = np.array([0.3, -0.5, -0.8]) / np.linalg.norm([0.3, -0.5, -0.8])
    point = seen.centre + 5 * seen.R[2]
    rays = unproject(seen.camera, pixel_grid(*SIZE)) @ seen.R
    inverse = (rays @ normal) / ((point - seen.centre) @ normal)
    down, across = np.gradient(inverse)
    planes = np.stack([inverse, across, down], axis=-1).astype(np.float32)
    found = world_normals(seen, planes)
    towards = normal * np.sign((seen.centre - point) @ normal)
    np.testing.assert_allclose(found, np.broadcast_to(towards, found.shape), atol=2e-3)
    np.testing.assert_allclose((world_points(seen, planes[..., 0]) - point) @ normal, 0, atol=1e-4)


def test_depth_is_confirmed_by_views_that_have_the_same(scene: Path) -> None:
    views = [View(ideal_camera(view(a).camera), view(a).cam_from_world) for a in (-6, 0, 6)]
    left, here, right = ((1 / true_depth(a)).astype(np.float32) for a in (-6, 0, 6))
    agree, shown = confirmed(views[1], here, [views[0], views[2]], [left, right])
    assert agree.max() == 2
    assert (agree[shown == 2] == 2).mean() > 0.7  # the rest is hidden in one of them
    wrong, _ = confirmed(views[1], here * np.float32(1.03), [views[0], views[2]], [left, right])
    assert wrong.mean() < 0.05
    unknown, _ = confirmed(views[1], here, [views[0], views[2]], [left * 0, right * 0])
    assert not unknown.any()


def test_pictures_are_chosen_by_angle_and_by_what_they_share() -> None:
    here = view(0, 0.0)
    points = np.array([0.0, 0.0, 5.5]) + np.random.default_rng(3).uniform(-0.8, 0.8, (200, 3))
    away = room.view(lens(0.0), 0.0, 10.0, 0.0, turn=180.0)
    others = [view(0.2, 0.0), view(60, 0.0), view(10, 0.0), view(10.5, 0.0), view(-12, 0.0), away]
    chosen = choose_photos(here, points, others, 3)
    assert chosen[0] in (2, 3)
    assert chosen[1] == 4  # before a second one from the same place
    assert 0 not in chosen
    assert 5 not in choose_photos(here, points, others, 6)
    assert choose_photos(here, np.zeros((0, 3)), others, 3) == []


def test_the_range_of_depth_holds_what_points_say_but_for_outliers() -> None:
    depths = np.concatenate([np.linspace(4, 9, 500), [0.01]])
    near, far = depth_range(depths) or (0.0, 0.0)
    assert 2 < near < 4
    assert 9 < far < 20
    assert depth_range(np.zeros(0)) is None
