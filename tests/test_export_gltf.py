"""Meshes of a result, opened again by trimesh."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from result_scenes import perfect_result
from test_export import FRAMES, files_in, known
from wideflow import ExportOptions, export_result
from wideflow.errors import InputError
from wideflow.export.surface import grid_faces
from wideflow.export.upright import upright
from wideflow.files.glb import TexturedMesh, write_glb
from wideflow.storage.result import Result

trimesh = pytest.importorskip("trimesh")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return perfect_result(tmp_path_factory.mktemp("mesh"), FRAMES)


def test_gltf_opens_in_trimesh_as_the_points_turned_upright(result: Result, tmp_path: Path) -> None:
    export_result(result, "gltf", tmp_path)
    assert files_in(tmp_path) == {f"mesh.{t:04d}.glb" for t in range(FRAMES)}
    turn = upright(result, range(FRAMES))
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) > 0
    assert turn[1, 2] > 0.9  # up, z in the rendered scenes, is y
    for t in range(FRAMES):
        (mesh,) = trimesh.load(tmp_path / f"mesh.{t:04d}.glb", process=False).geometry.values()
        height, width = known(result, t).shape
        uv = np.asarray(mesh.visual.uv)
        assert uv.min() > 0
        assert uv.max() < 1
        x = np.rint(uv[:, 0] * width - 0.5).astype(int)
        y = np.rint((1 - uv[:, 1]) * height - 0.5).astype(int)  # trimesh counts from the bottom
        np.testing.assert_allclose(mesh.vertices, result.points(t)[y, x] @ turn.T, rtol=1e-6, atol=1e-5)
        assert np.unique(mesh.faces).tolist() == list(range(len(mesh.vertices)))
        texture = np.asarray(mesh.visual.material.baseColorTexture.convert("RGB")).astype(float)
        assert np.abs(texture - result.picture_a(t)).mean() < 6
        # every face looks at the camera that took the picture
        centre = turn @ result.frame(t).views[0].centre
        corners = mesh.vertices[mesh.faces]
        ahead = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert ((ahead * (centre - corners[:, 0])).sum(axis=1) > 0).all()
        # no triangle joins two things
        depth = result.depth(t)[y, x][mesh.faces]
        assert (depth.max(axis=1) / depth.min(axis=1)).max() < 1.25
        assert len(mesh.faces) > 1.5 * known(result, t).sum()


def test_usd_has_the_same_triangles_with_the_picture_as_their_colours(result: Result, tmp_path: Path) -> None:
    pytest.importorskip("pxr", reason="needs pip install 'wideflow[usd]'")
    from pxr import Usd, UsdGeom

    export_result(result, "usd_mesh", tmp_path / "mesh.usdc")
    export_result(result, "gltf", tmp_path / "meshes")
    stage = Usd.Stage.Open(str(tmp_path / "mesh.usdc"))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/World/Mesh"))
    turn = upright(result, range(FRAMES))
    assert stage.GetPrimAtPath("/World/CameraB")
    for t in range(FRAMES):
        (other,) = trimesh.load(tmp_path / f"meshes/mesh.{t:04d}.glb", process=False).geometry.values()
        points = np.array(mesh.GetPointsAttr().Get(t))
        np.testing.assert_allclose(points @ turn.T, other.vertices, rtol=1e-6, atol=1e-5)
        faces = np.array(mesh.GetFaceVertexIndicesAttr().Get(t)).reshape(-1, 3)
        np.testing.assert_array_equal(faces, other.faces)
        assert UsdGeom.Mesh.ValidateTopology(
            mesh.GetFaceVertexIndicesAttr().Get(t), mesh.GetFaceVertexCountsAttr().Get(t), len(points)
        )[0]
        x, y = (np.rint(np.asarray(other.visual.uv) * (result.size_a) - 0.5)).astype(int).T
        y = result.size_a[1] - 1 - y  # trimesh counts from the bottom
        colour = np.array(mesh.GetDisplayColorAttr().Get(t))
        encoded = np.where(colour <= 0.0031308, 12.92 * colour, 1.055 * colour ** (1 / 2.4) - 0.055)
        np.testing.assert_array_equal(np.rint(255 * encoded), result.picture_a(t)[y, x])


def test_a_mesh_is_whole_on_a_slope_and_cut_at_a_jump() -> None:
    x, y = np.meshgrid(np.arange(40), np.arange(30))
    slope = (1 / (0.1 + 0.004 * y)).astype(np.float32)  # a floor: inverse depth is linear
    everywhere = np.ones(slope.shape, np.bool_)
    assert len(grid_faces(slope, everywhere)) == 2 * 39 * 29
    cut = np.where(x < 17, slope, 1.3 * slope).astype(np.float32)
    faces = grid_faces(cut, everywhere)
    assert len(faces) == 2 * 38 * 29
    sides = (faces % 40 < 17).sum(axis=1)
    assert set(sides.tolist()) == {0, 3}
    hole = everywhere.copy()
    hole[10, 10] = False
    left = grid_faces(slope, hole)
    assert len(left) == 2 * 39 * 29 - 4 * 2 + 4  # four squares keep one triangle each
    assert 10 * 40 + 10 not in left
    edges = np.sort(left[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert np.unique(edges, axis=0, return_counts=True)[1].max() == 2  # nothing lies on top of something


def test_confidence_cuts_holes_into_a_mesh(result: Result, tmp_path: Path) -> None:
    export_result(result, "gltf", tmp_path, ExportOptions(stop=1, confidence=0.5))
    assert files_in(tmp_path) == {"mesh.0000.glb"}
    (mesh,) = trimesh.load(tmp_path / "mesh.0000.glb", process=False).geometry.values()
    uv = np.asarray(mesh.visual.uv)
    height, width = result.depth(0).shape
    x = np.rint(uv[:, 0] * width - 0.5).astype(int)
    y = np.rint((1 - uv[:, 1]) * height - 0.5).astype(int)
    assert known(result, 0, 0.5)[y, x].all()
    assert 0.9 * known(result, 0, 0.5).sum() < len(mesh.vertices) < known(result, 0).sum()


def test_a_mesh_without_triangles_is_an_empty_scene(tmp_path: Path) -> None:
    texture = cv2.imencode(".png", np.zeros((2, 2, 3), np.uint8))[1].tobytes()
    nothing = TexturedMesh(
        np.zeros((0, 3), np.float32), np.zeros((0, 2), np.float32), np.zeros((0, 3), np.uint32), texture
    )
    write_glb(tmp_path / "empty.glb", nothing)
    assert not trimesh.load(tmp_path / "empty.glb").geometry
    with pytest.raises(InputError, match="refers to vertex 7"):
        TexturedMesh(
            np.zeros((3, 3), np.float32),
            np.zeros((3, 2), np.float32),
            np.array([[0, 1, 7]], np.uint32),
            texture,
        )
