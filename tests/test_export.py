"""Exports are opened again by the library of their field, and show the geometry of the result."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from result_scenes import perfect_result
from wideflow import ExportOptions, export_result
from wideflow.export.moving import moving_mask
from wideflow.files import read_ply, read_rig, write_rig
from wideflow.geometry import project, world_to_camera
from wideflow.storage.result import Result
from wideflow.types import Rig, RigFrame

STEP = 0.04  # seconds between moments
FRAMES = 3


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    made = perfect_result(tmp_path_factory.mktemp("export"), FRAMES)
    frames = [RigFrame(f.index, (0.5 + STEP * i, STEP * i), f.views) for i, f in enumerate(made.rig.frames)]
    write_rig(made.place.folder / "rig.json", Rig(made.rig.cameras, tuple(frames)))
    return Result(made.place.folder)


def known(result: Result, t: int, confidence: float = 0.0) -> np.ndarray:
    return np.isfinite(result.depth(t)) & (result.confidence(t) >= confidence)


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def seen(result: Result, t: int, camera: int, xyz: np.ndarray) -> np.ndarray:
    view = result.rig.frames[t].views[camera]
    return project(view.camera, world_to_camera(view, xyz))


def test_ply_opens_in_trimesh(result: Result, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    export_result(result, "ply", tmp_path)
    assert files_in(tmp_path) == {f"points.{t:04d}.ply" for t in range(FRAMES)}
    for t in range(FRAMES):
        mask = known(result, t)
        mesh = trimesh.load(tmp_path / f"points.{t:04d}.ply")
        np.testing.assert_array_equal(np.asarray(mesh.vertices, np.float32), result.points(t)[mask])
        np.testing.assert_array_equal(np.asarray(mesh.colors)[:, :3], result.picture_a(t)[mask])
        raw = mesh.metadata["_ply_raw"]["vertex"]["data"]
        if t < FRAMES - 1:
            velocity = np.column_stack([raw[name] for name in ("vx", "vy", "vz")])
            np.testing.assert_allclose(velocity, result.motion(t)[mask] / STEP, rtol=1e-5, atol=1e-7)
            assert np.abs(velocity).max() > 0.01  # something moves
        else:
            assert "vx" not in raw.dtype.names


def test_flo_opens_in_opencv(result: Result, tmp_path: Path) -> None:
    export_result(result, "flo", tmp_path)
    expected = {f"stereo/{t:06d}.flo" for t in range(FRAMES)}
    expected |= {f"optical_{letter}/{t:06d}.flo" for letter in "ab" for t in range(FRAMES - 1)}
    assert files_in(tmp_path) == expected
    for name, field in (
        ("stereo", result.stereo_flow(1)),
        ("optical_a", result.optical_flow_a(1)),
        ("optical_b", result.optical_flow_b(1)),
    ):
        uv = cv2.readOpticalFlow(str(tmp_path / name / "000001.flo"))
        finite = np.isfinite(field).all(axis=2)
        np.testing.assert_array_equal(uv[finite], field[finite])
        assert (uv[~finite] > 1e9).all()


def test_kitti_opens_in_opencv(result: Result, tmp_path: Path) -> None:
    export_result(result, "kitti", tmp_path, ExportOptions(confidence=0.5))
    sure = known(result, 1, 0.5)
    assert 0.2 < sure.mean() < known(result, 1).mean()
    bgr = cv2.imread(str(tmp_path / "stereo" / "000001.png"), cv2.IMREAD_UNCHANGED)
    field = result.stereo_flow(1)
    valid = sure & (np.abs(field) <= 511.98).all(axis=2)
    np.testing.assert_array_equal(bgr[..., 0] > 0, valid)
    uv = (bgr[..., :0:-1].astype(float) - 2**15) / 64
    np.testing.assert_allclose(uv[valid], field[valid], atol=1 / 128)
    depth = cv2.imread(str(tmp_path / "depth" / "000001.png"), cv2.IMREAD_UNCHANGED)
    assert depth.dtype == np.uint16
    near = sure & (result.depth(1) < 255)
    np.testing.assert_allclose(depth[near] / 256, result.depth(1)[near], atol=1 / 512)
    assert (depth[~sure] == 0).all()
    assert not (tmp_path / "optical_a" / f"{FRAMES - 1:06d}.png").exists()


def test_exr_opens_in_openexr(result: Result, tmp_path: Path) -> None:
    exr = pytest.importorskip("OpenEXR", reason="needs pip install 'wideflow[exr]'")
    export_result(result, "exr", tmp_path)
    with exr.File(str(tmp_path / "frame.0000.exr"), separate_channels=True) as file:
        channels = {name: channel.pixels.copy() for name, channel in file.channels().items()}
    flow = {f"{layer}.{axis}" for layer in ("forward", "stereo") for axis in "uv"}
    vectors = {f"Vector.{axis}" for axis in "XYZW"} | {f"motion3d.{axis}" for axis in "XYZ"}
    assert set(channels) == {"R", "G", "B", "Z", "confidence.Y", "moving.Y"} | flow | vectors
    np.testing.assert_array_equal(channels["moving.Y"], result.moving(0))
    mask = known(result, 0)
    np.testing.assert_array_equal(channels["Z"], np.where(mask, result.depth(0), 0))
    np.testing.assert_array_equal(channels["confidence.Y"], result.confidence(0))
    motion = np.dstack([channels[f"motion3d.{axis}"] for axis in "XYZ"])
    np.testing.assert_array_equal(motion[mask], result.motion(0)[mask])
    # In both programs y points up: pixel (x, y) of ours is at height - 1 - y of theirs.
    height = result.size_a[1]
    y, x = np.argwhere(mask)[::50].T
    target = np.column_stack([x, y]) + result.optical_flow_a(0)[y, x]
    here = np.column_stack([x, height - 1 - y])
    there = np.column_stack([target[:, 0], height - 1 - target[:, 1]])
    forward = np.stack([channels["forward.u"], channels["forward.v"]], axis=-1)[y, x]
    np.testing.assert_allclose(here + forward, there, atol=1e-4)
    following = np.stack([channels["Vector.Z"], channels["Vector.W"]], axis=-1)[y, x]
    np.testing.assert_allclose(here - following, there, atol=1e-4)  # Cycles: current minus next
    before = np.stack([channels["Vector.X"], channels["Vector.Y"]], axis=-1)[y, x]
    np.testing.assert_allclose(here + before, 2 * here - there, atol=1e-4)  # previous minus current
    linear = np.dstack([channels[name] for name in "RGB"]).astype(float)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    np.testing.assert_array_equal(np.rint(255 * encoded), result.picture_a(0))
    with exr.File(str(tmp_path / f"frame.{FRAMES - 1:04d}.exr"), separate_channels=True) as file:
        assert not [name for name in file.channels() if name.startswith(("forward", "Vector", "motion"))]


def test_colmap_opens_in_pycolmap(result: Result, tmp_path: Path) -> None:
    pycolmap = pytest.importorskip("pycolmap")
    export_result(result, "colmap", tmp_path)
    model = pycolmap.Reconstruction(str(tmp_path / "sparse" / "0"))
    assert model.num_cameras() == 2
    assert model.num_images() == 2 * FRAMES
    xyz = result.points(1)[known(result, 1)][::97].astype(float)
    for image in model.images.values():
        letter, number = Path(image.name).stem.split("_")
        t, camera = int(number), "ab".index(letter)
        ours = seen(result, t, camera, xyz)
        theirs = np.array([image.project_point(point) for point in xyz], float)
        np.testing.assert_allclose(theirs, ours + 0.5, atol=1e-6)
        picture = cv2.imread(str(tmp_path / "images" / image.name))[:, :, ::-1]
        np.testing.assert_array_equal(picture, (result.picture_a, result.picture_b)[camera](t))
        assert picture.shape[1::-1] == (model.cameras[image.camera_id].width, picture.shape[0])
    assert model.num_points3D() > 1000
    for point in list(model.points3D.values())[::100]:
        elements = point.track.elements
        a, b = (model.images[element.image_id] for element in elements)
        assert a.name.replace("a_", "b_") == b.name
        t = int(Path(a.name).stem[2:])
        spots = [model.images[e.image_id].points2D[e.point2D_idx].xy for e in elements]
        x, y = (spots[0] - 0.5).astype(int)
        np.testing.assert_array_equal(point.xyz.astype(np.float32), result.points(t)[y, x])
        np.testing.assert_array_equal(point.color, result.picture_a(t)[y, x])
        assert not result.occluded(t)[y, x]
        np.testing.assert_allclose(spots[1] - 0.5, seen(result, t, 1, point.xyz), atol=1e-3)
    assert model.compute_mean_reprojection_error() < 1e-3
    rig = read_rig(tmp_path / "sparse" / "0")
    np.testing.assert_allclose(
        rig.frames[2].views[1].cam_from_world, result.rig.frames[2].views[1].cam_from_world
    )


def test_nerfstudio_cameras_see_what_ours_see(result: Result, tmp_path: Path) -> None:
    export_result(result, "nerfstudio", tmp_path)
    scene = json.loads((tmp_path / "transforms.json").read_text())
    assert len(scene["frames"]) == 2 * FRAMES
    xyz = result.points(0)[known(result, 0)][::97].astype(float)
    for frame in scene["frames"]:
        letter, number = Path(frame["file_path"]).stem.split("_")
        t, camera = int(number), "ab".index(letter)
        picture = cv2.imread(str(tmp_path / frame["file_path"]))
        assert picture.shape[:2] == (frame["h"], frame["w"])
        assert frame["time"] == pytest.approx(t / (FRAMES - 1))
        assert frame["seconds"] == pytest.approx(0.5 + STEP * t)
        cam_from_world = np.linalg.inv(np.array(frame["transform_matrix"]))
        x, y, z = cam_from_world[:3, :3] @ xyz.T + cam_from_world[:3, 3:]  # y up, -z ahead
        assert (z < 0).all()
        pixels = np.stack([frame["cx"] - frame["fl_x"] * x / z, frame["cy"] + frame["fl_y"] * y / z], axis=1)
        np.testing.assert_allclose(pixels, seen(result, t, camera, xyz) + 0.5, atol=1e-6)
    dynamic = json.loads((tmp_path / "transforms_dynamic.json").read_text())
    points = read_ply(tmp_path / dynamic["ply_file_path"])
    np.testing.assert_array_equal(points.xyz, result.points(0)[known(result, 0)])


@pytest.mark.parametrize("suffix", [".usd", ".usdc", ".usda"])
def test_usd_opens_in_pxr(suffix: str, result: Result, tmp_path: Path) -> None:
    pytest.importorskip("pxr", reason="needs pip install 'wideflow[usd]'")
    from pxr import Gf, Usd, UsdGeom

    path = tmp_path / f"scene{suffix}"
    export_result(result, "usd", path)
    assert files_in(tmp_path) == {path.name}
    stage = Usd.Stage.Open(str(path))
    assert stage.GetTimeCodesPerSecond() == pytest.approx(1 / STEP)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, FRAMES - 1)
    assert not UsdGeom.StageHasAuthoredMetersPerUnit(stage)
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    turned = UsdGeom.Xformable(stage.GetPrimAtPath("/World")).ComputeLocalToWorldTransform(0)
    assert turned.TransformDir(Gf.Vec3d(0, 0, 1))[1] > 0.9  # the rendered scenes stand on z = 0
    points = UsdGeom.Points(stage.GetPrimAtPath("/World/Points"))
    assert points.GetPointsAttr().GetTimeSamples() == list(range(FRAMES))
    for t in range(FRAMES):
        mask = known(result, t)
        xyz = np.array(points.GetPointsAttr().Get(t))
        np.testing.assert_array_equal(xyz, result.points(t)[mask])
        colour = np.array(points.GetDisplayColorAttr().Get(t))
        encoded = np.where(colour <= 0.0031308, 12.92 * colour, 1.055 * colour ** (1 / 2.4) - 0.055)
        np.testing.assert_array_equal(np.rint(255 * encoded), result.picture_a(t)[mask])
        velocity = np.array(points.GetVelocitiesAttr().Get(t))
        if t < FRAMES - 1:
            np.testing.assert_allclose(velocity, result.motion(t)[mask] / STEP, rtol=1e-4, atol=1e-6)
            moved = np.array(points.ComputePointsAtTime(t + 0.5, t))  # as a renderer with motion blur does
            np.testing.assert_allclose(moved, xyz + 0.5 * result.motion(t)[mask], atol=1e-5)
        else:
            assert not velocity.any()
        for camera, name in enumerate(("CameraA", "CameraB")):
            lens = UsdGeom.Camera(stage.GetPrimAtPath(f"/World/{name}")).GetCamera(t)
            matrix = lens.frustum.ComputeViewMatrix() * lens.frustum.ComputeProjectionMatrix()
            width, height = result.rig.cameras[camera].size
            for point in xyz[::499].astype(float):
                ndc = matrix.Transform(turned.Transform(Gf.Vec3d(*point.tolist())))
                pixel = (ndc[0] + 1) / 2 * width - 0.5, (1 - ndc[1]) / 2 * height - 0.5
                np.testing.assert_allclose(pixel, seen(result, t, camera, point), atol=1e-3)


def rerun_column(path: Path, entity: str, component: str) -> dict[int, Any]:
    """A component's value by moment, read by rerun's own reader."""
    reader = pytest.importorskip("rerun.chunk", reason="this rerun has no reader of recordings")
    values = {}
    for chunk in reader.RrdReader(str(path)).stream():
        if chunk.entity_path == entity:
            batch = chunk.to_record_batch()
            if component in batch.schema.names:
                for i, t in enumerate(batch.column("moment").to_pylist()):
                    values[t] = batch.column(component)[i].as_py()
                    assert batch.column("time")[i].value == round((0.5 + STEP * t) * 1e9)
    return values


def test_rerun_opens_its_recording(result: Result, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="needs pip install 'wideflow[rerun]'")
    path = tmp_path / "scene.rrd"
    export_result(result, "rerun", path)
    positions = rerun_column(path, "/world/points", "Points3D:positions")
    colours = rerun_column(path, "/world/points", "Points3D:colors")
    assert set(positions) == set(range(FRAMES))
    for t, xyz in positions.items():
        mask = known(result, t)
        np.testing.assert_array_equal(np.array(xyz, np.float32), result.points(t)[mask])
        rgba = np.array(colours[t], np.uint32)
        rgb = np.column_stack([rgba >> shift & 255 for shift in (24, 16, 8)])
        np.testing.assert_array_equal(rgb, result.picture_a(t)[mask])
    origins = rerun_column(path, "/world/motion", "Arrows3D:origins")
    vectors = rerun_column(path, "/world/motion", "Arrows3D:vectors")
    grid = known(result, 0)[::8, ::8]
    np.testing.assert_array_equal(np.array(origins[0], np.float32), result.points(0)[::8, ::8][grid])
    np.testing.assert_array_equal(np.array(vectors[0], np.float32), result.motion(0)[::8, ::8][grid])
    for camera, letter in enumerate("ab"):
        view = result.rig.frames[1].views[camera]
        translation = rerun_column(path, f"/world/{letter}", "Transform3D:translation")[1]
        np.testing.assert_allclose(np.ravel(translation), view.centre, rtol=1e-6)
        rotation = rerun_column(path, f"/world/{letter}", "Transform3D:mat3x3")[1]
        np.testing.assert_allclose(np.reshape(rotation, (3, 3)), view.R, atol=1e-6)  # columns first
        K = rerun_column(path, f"/world/{letter}/picture", "Pinhole:image_from_camera")[1]
        np.testing.assert_allclose(np.reshape(K, (3, 3)).T[:2, 2], view.camera.K[:2, 2] + 0.5, rtol=1e-6)


def test_masks_are_black_and_white_and_opposite(result: Result, tmp_path: Path) -> None:
    export_result(result, "masks", tmp_path, ExportOptions(stop=1))
    moving = cv2.imread(str(tmp_path / "moving" / "a_000000.png"), cv2.IMREAD_GRAYSCALE)
    static = cv2.imread(str(tmp_path / "static" / "a_000000.png.png"), cv2.IMREAD_GRAYSCALE)
    truly, white = result.moving(0) > 0.5, moving == 255
    assert (truly & white).sum() > 0.85 * (truly | white).sum()  # edges are rounded by a pixel
    np.testing.assert_array_equal(static, 255 - moving)
    assert set(np.unique(moving)) == {0, 255}


def test_a_single_pixel_is_no_moving_thing(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.zeros(result.moving(0).shape, np.float32)
    chance[5, 7] = 1.0
    chance[30:50, 60:100] = 1.0
    chance[40, 80] = 0.0
    monkeypatch.setattr(result, "moving", lambda t: chance)
    mask = moving_mask(result, 0)
    assert not mask[3:8, 5:10].any()
    assert mask[33:47, 63:97].all()
