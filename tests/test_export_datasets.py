"""Data sets for other programs, opened by the rules of the loaders that read them."""

import json
import shutil
import tomllib
from pathlib import Path

import cv2
import numpy as np
import pytest

from result_scenes import perfect_result
from wideflow import ExportOptions, export_result
from wideflow.errors import InputError
from wideflow.export.both_cameras import depths, moving_masks, other_result
from wideflow.export.fuse import Cells, fused_background
from wideflow.export.moving import moving_mask
from wideflow.files import PointCloud, read_intrinsics, read_ply, read_rig, write_rig
from wideflow.geometry import project, world_to_camera
from wideflow.handheld import read_handheld
from wideflow.progress import silent
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.schema import OF_B, SLOTS, spec
from wideflow.storage.store import Store, unknown_arrays
from wideflow.types import Rig, RigFrame, View
from wideflow.video.read import Video

FRAMES = 3


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return perfect_result(tmp_path_factory.mktemp("datasets"), FRAMES)


@pytest.fixture
def standing(result: Result) -> Result:
    """The same with cameras that stand where they were at first, on a clock of 25 moments a second."""
    views = result.rig.frames[0].views
    frames = tuple(RigFrame(t, (0.04 * t, 0.04 * t), views) for t in range(FRAMES))
    still = Result(str(result.place))
    still.rig = Rig(result.rig.cameras, frames)
    return still


def pixels_of(result: Result, t: int, camera: int, xyz: np.ndarray) -> np.ndarray:
    view = result.rig.frames[t].views[camera]
    return project(view.camera, world_to_camera(view, xyz))


def some_points(result: Result, t: int = 0) -> np.ndarray:
    known = np.isfinite(result.depth(t)) & ~result.occluded(t)
    return result.points(t)[known][::97].astype(float)


def still_points(result: Result) -> np.ndarray:
    """All points of all moments that stand still and are trusted."""
    parts = []
    for t in range(FRAMES):
        keep = np.isfinite(result.depth(t)) & (result.confidence(t) >= 0.5) & ~moving_mask(result, t)
        parts.append(result.points(t)[keep])
    return np.concatenate(parts)


def test_cells_hold_means_and_grow_wider_when_there_are_too_many() -> None:
    random = np.random.default_rng(3)
    xyz = random.uniform(-1, 1, (5000, 3)) + (10, 0, 0)
    rgb = random.integers(0, 256, (5000, 3)).astype(np.uint8)
    one = Cells(np.zeros(3), 100_000)
    one.add(xyz, rgb, np.full(5000, 0.25), np.ones(5000, bool))
    two = Cells(np.zeros(3), 100_000)
    for half in (slice(0, None, 2), slice(1, None, 2)):  # the order and the parts have no say
        two.add(xyz[half], rgb[half], np.full(2500, 0.25), np.ones(2500, bool))
    cells = np.unique(np.floor(xyz / 0.25), axis=0, return_inverse=True)[1].ravel()
    expected = np.stack([xyz[cells == cell].mean(axis=0) for cell in range(cells.max() + 1)])
    for found in (one.cloud(), two.cloud()):
        assert len(found.xyz) == len(expected) == 512
        order, wanted = np.lexsort(found.xyz.T), np.lexsort(expected.astype(np.float32).T)
        np.testing.assert_allclose(found.xyz[order], expected[wanted], atol=1e-5)
    few = Cells(np.zeros(3), 100)
    for _ in range(2):
        few.add(xyz, rgb, np.full(5000, 0.25), np.ones(5000, bool))
    assert len(few.cloud().xyz) == 64  # cells of 0.5
    np.testing.assert_allclose(few.cloud().xyz.mean(axis=0), (10, 0, 0), atol=0.05)
    far = Cells(np.zeros(3), 100)
    far.add(np.array([[1e9, 0, 0], [-1e9, 3, 0]]), rgb[:2], np.full(2, 1e-3), np.ones(2, bool))
    np.testing.assert_allclose(sorted(far.cloud().xyz[:, 0]), (-1e9, 1e9))


def test_a_cell_that_something_moves_through_is_no_background() -> None:
    cells = Cells(np.zeros(3), 100)
    here, there = np.full((4, 3), 0.1), np.full((4, 3), 5.1)
    grey, width = np.full((4, 3), 100, np.uint8), np.ones(4)
    cells.add(np.concatenate([here, there]), np.tile(grey, (2, 1)), np.tile(width, 2), np.ones(8, bool))
    cells.add(here, grey, width, np.array([True, True, False, False]))  # it moves on
    found = cells.cloud()
    np.testing.assert_allclose(found.xyz, there[:1], atol=1e-6)
    cells.add(here, grey, width, np.ones(4, bool))  # 2 of 12: it was a mistake
    assert len(cells.cloud().xyz) == 2


def test_the_background_is_what_stands_still_and_the_rest_moves(result: Result, tmp_path: Path) -> None:
    export_result(result, "fused", tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"background.ply", *(f"moving.{t:06d}.ply" for t in range(FRAMES))}
    background = read_ply(tmp_path / "background.ply")
    everything = still_points(result)
    assert 0.2 * len(everything) / FRAMES < len(background.xyz) < 0.9 * len(everything)  # moments merge
    # each of its points lies within a few pixels' widths of one that was seen, and so does each seen one
    from scipy.spatial import cKDTree

    width = result.depth(0)[np.isfinite(result.depth(0))].max() / result.rig.cameras[0].K[0, 0]
    assert cKDTree(everything).query(background.xyz)[0].max() < 2.5 * width
    missed = cKDTree(background.xyz).query(everything)[0] > 2.5 * width
    assert missed.mean() < 0.05  # only beside what moves
    movers = np.concatenate([read_ply(tmp_path / f"moving.{t:06d}.ply").xyz for t in range(FRAMES)])
    assert cKDTree(movers).query(everything[missed])[0].max() < 12 * width
    for t in range(FRAMES):
        keep = np.isfinite(result.depth(t)) & (result.confidence(t) >= 0.5) & moving_mask(result, t)
        moving = read_ply(tmp_path / f"moving.{t:06d}.ply")
        np.testing.assert_array_equal(moving.xyz, result.points(t)[keep])
        assert (moving.velocity is None) == (t == FRAMES - 1)
    assert len(moving.xyz) > 20
    few = fused_background(result, range(FRAMES), ExportOptions(), silent, most=500)
    assert 50 < len(few.xyz) <= 500


def test_what_moves_is_known_in_both_pictures(result: Result) -> None:
    masks = moving_masks(result, None, 1)
    assert masks is not None
    scene = read_handheld(result.place.folder.parent / "scene")
    truth = np.linalg.norm(np.nan_to_num(scene.truth(1, 1).motion), axis=2) > 1e-3
    assert 0.01 < truth.mean() < 0.5
    assert (masks[1] == truth).mean() > 0.97
    assert (masks[1] & truth).sum() > 0.8 * truth.sum()


def test_nerfstudio_finds_masks_depth_and_a_cloud(result: Result, tmp_path: Path) -> None:
    export_result(result, "nerfstudio", tmp_path)
    scene = json.loads((tmp_path / "transforms.json").read_text())
    dynamic = json.loads((tmp_path / "transforms_dynamic.json").read_text())
    assert not any("mask_path" in frame for frame in dynamic["frames"])
    assert (scene["ply_file_path"], dynamic["ply_file_path"]) == ("background.ply", "points.ply")
    for frame in scene["frames"]:
        letter, number = Path(frame["file_path"]).stem.split("_")
        t, camera = int(number), "ab".index(letter)
        mask = cv2.imread(str(tmp_path / frame["mask_path"]), cv2.IMREAD_UNCHANGED)
        assert mask.shape == (frame["h"], frame["w"])  # one channel, or its loader refuses it
        assert set(np.unique(mask)) == {0, 255}
        # as its loader reads it: 16 bits times 1e-3, along the axis; 0 is left out of its loss
        depth = cv2.imread(str(tmp_path / frame["depth_file_path"]), cv2.IMREAD_ANYDEPTH) * 1e-3
        if camera == 0:
            np.testing.assert_array_equal(mask == 0, moving_mask(result, t))  # black is ignored
            known = np.isfinite(result.depth(t))
            np.testing.assert_allclose(depth[known], result.depth(t)[known], atol=5.1e-4)
            assert not depth[~known].any()
        else:
            truth = read_handheld(result.place.folder.parent / "scene").truth(1, t).depth
            found = depth > 0
            assert found.mean() > 0.5
            # the centre of a pixel is up to half a pixel away from the point on it
            assert np.median(np.abs(depth[found] / truth[found] - 1)) < 0.01
    assert len(read_ply(tmp_path / "background.ply").xyz) > 1000


def test_llff_of_cameras_that_stand(standing: Result, tmp_path: Path) -> None:
    """By the rules of the loaders of Neural 3D Video: videos by name, rows of 17, axes down, right, back."""
    export_result(standing, "llff", tmp_path)
    rows = np.load(tmp_path / "poses_bounds.npy")
    videos = sorted(tmp_path.glob("cam*.mp4"))
    assert rows.shape == (len(videos), 17) == (2, 17)
    assert rows.dtype == np.float64
    xyz = some_points(standing)
    for i, row in enumerate(rows):
        pose = row[:15].reshape(3, 5)
        height, width, focal = pose[:, 4]
        pictures = sorted((tmp_path / f"cam{i:02d}" / "images").iterdir())
        assert [path.name for path in pictures] == [f"{t:04d}.png" for t in range(FRAMES)]
        picture = cv2.imread(str(pictures[0]))[:, :, ::-1]
        assert picture.shape == (height, width, 3)
        assert (Video(videos[i]).size, len(Video(videos[i]))) == ((width, height), FRAMES)
        right_up_back = np.stack([pose[:, 1], -pose[:, 0], pose[:, 2]], axis=1)
        x, y, z = right_up_back.T @ (xyz - pose[:, 3]).T
        assert (z < 0).all()
        u, v = width / 2 - focal * x / z, height / 2 + focal * y / z  # of the picture's corner
        inside = (u > 2) & (u < width - 2) & (v > 2) & (v < height - 2)
        assert inside.mean() > 0.5
        near, far = row[15:]
        assert ((-z >= 0.9 * near) & (-z <= 1.1 * far)).mean() > 0.98
        # the picture shows there what the picture of the camera shows at the point
        source = (standing.picture_a, standing.picture_b)[i](0).astype(np.float32)
        there = pixels_of(standing, 0, i, xyz)[inside].astype(np.float32)
        wanted = cv2.remap(source, there[:, :1], there[:, 1:], cv2.INTER_LINEAR)[:, 0]
        here = np.stack([u, v], 1)[inside].astype(np.float32) - 0.5
        off = {}
        for shift in ((0, 0), (0.5, 0), (-0.5, 0), (0, 0.5), (0, -0.5)):
            x, y = (here + np.float32(shift)).T
            found = cv2.remap(picture.astype(np.float32), x[:, None], y[:, None], cv2.INTER_LINEAR)[:, 0]
            off[shift] = float(np.abs(found - wanted).mean())
        assert min(off, key=off.__getitem__) == (0, 0)
        assert off[0, 0] < 12


def test_llff_of_cameras_that_move_has_a_row_for_every_picture(standing: Result, tmp_path: Path) -> None:
    a, b = standing.rig.cameras
    frames = []
    for t, frame in enumerate(standing.rig.frames):  # B steps aside
        pose = frame.views[1].cam_from_world + t * 0.3 * np.eye(3, 4, 3)
        frames.append(RigFrame(t, frame.times, (frame.views[0], View(b, pose))))
    result = standing
    result.rig = Rig((a, b), tuple(frames))
    export_result(result, "llff", tmp_path)
    rows = np.load(tmp_path / "poses_bounds.npy")
    names = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert len(rows) == len(names) == 2 * FRAMES
    assert names[FRAMES] == "cam01_0000.png"
    for k, row in enumerate(rows):
        view = result.rig.frames[k % FRAMES].views[k // FRAMES]
        np.testing.assert_allclose(row[:15].reshape(3, 5)[:, 3], view.centre)
        np.testing.assert_allclose(row[:15].reshape(3, 5)[:, 2], -view.R[2])
    assert not list(tmp_path.glob("*.mp4"))


def test_dynamic_3d_gaussians_find_their_pictures(result: Result, tmp_path: Path) -> None:
    export_result(result, "dynamic3dgaussians", tmp_path)
    meta = json.loads((tmp_path / "train_meta.json").read_text())
    assert len(meta["fn"]) == len(meta["k"]) == len(meta["w2c"]) == len(meta["cam_id"]) == FRAMES
    xyz = some_points(result)
    for t in range(FRAMES):
        for c, name in enumerate(meta["fn"][t]):
            picture = cv2.imread(str(tmp_path / "ims" / name))
            mask = cv2.imread(str(tmp_path / "seg" / name.replace(".jpg", ".png")), cv2.IMREAD_UNCHANGED)
            assert picture.shape == (meta["h"], meta["w"], 3)
            assert mask.shape == (meta["h"], meta["w"])
            assert set(np.unique(mask)) == {0, 1}
            # the renderer maps [K|w2c] to -1..1 over the width, so pixel centres are at 0.5
            x, y, z = (np.array(meta["w2c"][t][c]) @ np.c_[xyz, np.ones(len(xyz))].T)[:3]
            K = np.array(meta["k"][t][c])
            u, v = K[0, 0] * x / z + K[0, 2], K[1, 1] * y / z + K[1, 2]
            camera = result.rig.cameras[c]
            ours = (pixels_of(result, t, c, xyz) + 0.5) * (
                meta["w"] / camera.width,
                meta["h"] / camera.height,
            )
            np.testing.assert_allclose(np.stack([u, v], 1), ours, atol=1e-6)
    np.testing.assert_array_equal(
        cv2.imread(str(tmp_path / "ims" / "0" / "000001.png"))[:, :, ::-1], result.picture_a(1)
    )
    data = np.load(tmp_path / "init_pt_cld.npz")["data"]
    assert data.shape[1] == 7
    assert data[:, 3:6].min() >= 0
    assert 0.5 < data[:, 3:6].max() <= 1
    assert set(np.unique(data[:, 6])) == {0, 1}
    moving = moving_mask(result, 0) & np.isfinite(result.depth(0)) & (result.confidence(0) >= 0.5)
    np.testing.assert_array_equal(data[data[:, 6] == 1, :3], result.points(0)[moving])


def test_colmap_fuses_our_depth(result: Result, tmp_path: Path) -> None:
    """COLMAP's own fusion takes the workspace, leaves out what moves, and gives the surface back."""
    pycolmap = pytest.importorskip("pycolmap")
    export_result(result, "colmap_dense", tmp_path, ExportOptions(stop=1))
    names = {"a_000000.png", "b_000000.png"}
    assert {path.name for path in (tmp_path / "masks").iterdir()} == {f"{name}.png" for name in names}
    depth = pycolmap.DepthMap()
    depth.read(str(tmp_path / "stereo" / "depth_maps" / "a_000000.png.geometric.bin"))
    np.testing.assert_array_equal(depth.to_array(), np.nan_to_num(result.depth(0)))
    options = pycolmap.StereoFusionOptions()
    options.min_num_pixels, options.num_threads = 2, 1
    options.mask_path = str(tmp_path / "masks")
    (tmp_path / "fused").mkdir()
    fused = pycolmap.stereo_fusion(str(tmp_path / "fused"), str(tmp_path), options=options)
    xyz = np.array([point.xyz for point in fused.points3D.values()])
    assert len(xyz) > 1000
    view = result.rig.frames[0].views[0]
    pixels = np.rint(project(view.camera, world_to_camera(view, xyz))).astype(int)
    inside = (pixels >= 0).all(1) & (pixels < result.size_a).all(1)
    x, y = pixels[inside].T
    there = world_to_camera(view, xyz[inside])[:, 2]
    assert np.median(np.abs(there / result.depth(0)[y, x] - 1)) < 0.005
    # but for the rims of bodies, where a mean of pixels falls on the neighbour
    assert moving_mask(result, 0)[y, x].mean() < 0.2 * moving_mask(result, 0).mean()


def test_easymocap_reads_our_cameras(result: Result, tmp_path: Path) -> None:
    """By the rules of its reader: OpenCV's FileStorage, names, and matrices named after them."""
    export_result(result, "easymocap", tmp_path, ExportOptions(start=1))
    inside, outside = (
        cv2.FileStorage(str(tmp_path / name), cv2.FILE_STORAGE_READ) for name in ("intri.yml", "extri.yml")
    )
    names = inside.getNode("names")
    assert [names.at(i).string() for i in range(names.size())] == ["a", "b"]
    xyz = some_points(result)
    for i, name in enumerate("ab"):
        K, distortion = (inside.getNode(f"{field}_{name}").mat() for field in ("K", "dist"))
        R, matrix, t = (outside.getNode(f"{field}_{name}").mat() for field in ("R", "Rot", "T"))
        assert (R.shape, t.shape, distortion.shape) == ((3, 1), (3, 1), (1, 5))
        np.testing.assert_allclose(cv2.Rodrigues(R)[0], matrix, atol=1e-12)
        seen = cv2.projectPoints(xyz, R, t, K, distortion)[0][:, 0]
        np.testing.assert_allclose(seen, pixels_of(result, 1, i, xyz), atol=1e-6)
        video = Video(tmp_path / "videos" / f"{name}.mp4")
        size = int(inside.getNode(f"W_{name}").real()), int(inside.getNode(f"H_{name}").real())
        assert (video.size, len(video)) == (size, FRAMES - 1)
    back = read_rig(tmp_path)
    for ours, theirs in zip(result.rig.frames[1].views, back.frames[0].views, strict=True):
        np.testing.assert_allclose(theirs.cam_from_world, ours.cam_from_world, atol=1e-12)
        np.testing.assert_array_equal(theirs.camera.K, ours.camera.K)
    assert read_rig(tmp_path / "extri.yml").cameras[1].size == result.size_b
    assert read_intrinsics(f"{tmp_path / 'intri.yml'}:b").size == result.size_b


def test_pose2sim_reads_our_cameras(result: Result, tmp_path: Path) -> None:
    export_result(result, "pose2sim", tmp_path)
    file = tmp_path / "calibration" / "Calib.toml"
    tables = tomllib.loads(file.read_text())
    cameras = [key for key, table in tables.items() if key != "metadata" and isinstance(table, dict)]
    assert cameras == ["a", "b"]
    xyz = some_points(result)
    for i, key in enumerate(cameras):
        table = tables[key]
        assert (table["name"], table["fisheye"]) == (key, False)
        assert tuple(map(int, table["size"])) == result.rig.cameras[i].size
        R = cv2.Rodrigues(np.array(table["rotation"]))[0]
        P = np.array(table["matrix"]) @ np.c_[R, np.array(table["translation"])]
        x, y, w = P @ np.c_[xyz, np.ones(len(xyz))].T
        np.testing.assert_allclose(np.stack([x / w, y / w], 1), pixels_of(result, 0, i, xyz), atol=1e-6)
        assert len(table["distortions"]) == 4
    back = read_rig(file)
    np.testing.assert_allclose(
        back.frames[0].views[1].cam_from_world, result.rig.frames[0].views[1].cam_from_world, atol=1e-12
    )
    assert read_intrinsics(f"{file}:a").size == result.size_a


def test_a_result_that_does_not_tell_what_moves(result: Result, tmp_path: Path) -> None:
    older = Result(str(result.place))
    tells = older.has
    older.has = lambda name: name != "moving" and tells(name)  # type: ignore[method-assign]
    for name in ("fused", "dynamic3dgaussians"):
        with pytest.raises(InputError, match="does not tell what moves"):
            export_result(older, name, tmp_path / name)
        assert not (tmp_path / name).exists()
    export_result(older, "nerfstudio", tmp_path / "n", ExportOptions(stop=1))
    scene = json.loads((tmp_path / "n" / "transforms.json").read_text())
    assert scene["ply_file_path"] == "points.ply"
    assert "mask_path" not in scene["frames"][0]


def test_an_export_of_a_set_serves_as_rig_bits_and_all(tmp_path: Path, result: Result) -> None:
    """A rig of cameras that stand goes through both formats and comes back as a rig.json does."""
    write_rig(tmp_path / "rig.json", Rig(result.rig.cameras, result.rig.frames[:1]))
    wanted = read_rig(tmp_path / "rig.json")
    export_result(result, "pose2sim", tmp_path / "p", ExportOptions(stop=1))
    export_result(result, "easymocap", tmp_path / "e", ExportOptions(stop=1))
    for found in (read_rig(tmp_path / "p" / "calibration" / "Calib.toml"), read_rig(tmp_path / "e")):
        assert len(found.frames) == 1  # one frame: they stand
        for mine, theirs in zip(wanted.frames[0].views, found.frames[0].views, strict=True):
            np.testing.assert_allclose(theirs.centre, mine.centre, atol=1e-12)


def test_an_empty_cloud_is_one_without_points() -> None:
    cloud = Cells(np.zeros(3), 10).cloud()
    assert isinstance(cloud, PointCloud)
    assert cloud.xyz.shape == (0, 3)


def test_b_has_its_own_depth_and_masks_after_a_run_of_both_views(result: Result, tmp_path: Path) -> None:
    shutil.copytree(result.place.folder, tmp_path / "out")
    scene = read_handheld(result.place.folder.parent / "scene")
    store = Store.create(Place(tmp_path / "out"), FRAMES, result.rig.cameras, keep=OF_B)
    for t in range(FRAMES):
        truth = scene.truth(1, t)
        moves = (np.linalg.norm(np.nan_to_num(truth.motion), axis=2) > 1e-3).astype(np.float32)
        given = {"depth_b": truth.depth, "depth_steady_b": truth.depth, "moving_b": moves}
        given["confidence_b"] = np.where(np.isfinite(truth.depth), np.float32(0.9), np.float32(0))
        for slot in ("moment_b", "steady_b"):
            steps = [name for name in SLOTS[slot] if t < FRAMES - 1 or not spec(name).of_step]
            arrays = unknown_arrays(store, steps)
            store.put(slot, t, "test", arrays | {name: given[name] for name in steps if name in given})
    a, b = (Result(tmp_path / "out", view) for view in "ab")
    for mine, depth in ((a, a.array("depth_b", 1)), (b, a.array("depth", 1))):
        other = other_result(mine)
        assert other is not None
        assert other.view != mine.view
        found, masks = depths(mine, other, 1, ExportOptions()), moving_masks(mine, other, 1)
        assert masks is not None
        known = np.isfinite(depth)
        np.testing.assert_array_equal(found[1][known], depth[known])
        np.testing.assert_array_equal(masks[1], moving_mask(other, 1))
    assert other_result(result) is None
    export_result(b, "fused", tmp_path / "fused")
    assert len(read_ply(tmp_path / "fused" / "background.ply").xyz) > 1000
