"""The picture of docs/export.md: what each format gives, drawn from its files as other programs read them.

python -m benchmarks.export_pictures demo-out docs/images

The result needs tracks (`wideflow track`). Nothing is drawn from the result itself but for the place, beside
its camera A, that clouds are looked at from.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import OpenEXR
import pycolmap  # after numpy and cv2, or its first PNG aborts the process
import trimesh
from pxr import Usd, UsdGeom
from rerun.chunk import RrdReader

import wideflow
from benchmarks.export_cameras import (
    draw_colmap,
    draw_dynamic3dgaussians,
    draw_easymocap,
    draw_llff,
    draw_nerfstudio,
    draw_pose2sim,
)
from benchmarks.export_drawing import (
    FLIP,
    GREY,
    INK,
    ORANGE,
    PHASE,
    Array,
    cloud,
    draw_lines,
    encode,
    from_beside,
    heat,
    ply_cloud,
    read_picture,
    spots,
    strips,
    tile,
    video_picture,
)
from benchmarks.gallery import SIZE, Picture, beside, write_picture
from wideflow.export import FORMATS
from wideflow.export.turntable import orbit_view

Draw = Callable[[Path, wideflow.View], Picture]
CHOSEN = wideflow.ExportOptions(stop=2, confidence=0.3)
# of the formats that are one file
SUFFIXES = {
    "usd": ".usdc",
    "usd_mesh": ".usdc",
    "rerun": ".rrd",
    "mp4": ".mp4",
    "gif": ".gif",
}  # of the formats that are one file
COLUMNS = 4
QUALITY = 74  # of the JPEG: below 300 kB
ARROWS = ("Arrows3D:origins", "Arrows3D:vectors")
LONGER = 4  # than they are: arrows from a moment to the next are a few pixels long


def draw_flo(path: Path, view: wideflow.View) -> Picture:
    """Flow to the next moment; numbers beyond 1e9 are unknown, as Middlebury has it."""
    flow = cv2.readOpticalFlow(str(path / "optical_a/000000.flo"))
    return wideflow.flow_colours(np.where(np.abs(flow) < 1e9, flow, np.nan))


def draw_kitti(path: Path, view: wideflow.View) -> Picture:
    """Flow to B, and depth."""
    blue, green, red = cv2.split(cv2.imread(str(path / "stereo/000000.png"), cv2.IMREAD_UNCHANGED))
    flow = (np.dstack([red, green]).astype(np.float32) - 32768) / 64
    flow[blue == 0] = np.nan
    depth = cv2.imread(str(path / "depth/000000.png"), cv2.IMREAD_UNCHANGED) / 256
    return strips(wideflow.flow_colours(flow), wideflow.depth_colours(depth))


def draw_exr(path: Path, view: wideflow.View) -> Picture:
    """Colour, depth, and how far each point moves."""
    with OpenEXR.File(str(path / "frame.0000.exr"), separate_channels=True) as file:
        held = {name: np.array(channel.pixels) for name, channel in file.channels().items()}
    colour = encode(np.dstack([held[name] for name in "RGB"]).astype(float))
    motion = heat(np.dstack([held[f"motion3d.{axis}"] for axis in "XYZ"]))
    return strips(colour, wideflow.depth_colours(held["Z"]), motion)


def draw_fused(path: Path, view: wideflow.View) -> Picture:
    """The background, and what moves at the first moment in orange."""
    still, moving = ply_cloud(path / "background.ply"), ply_cloud(path / "moving.000000.ply")
    tinted = moving.rgb * 0.5 + np.array(ORANGE) * 0.5
    both = cloud(np.concatenate([still.xyz, moving.xyz]), np.concatenate([still.rgb, tinted]))
    return from_beside(both, view)


def draw_colmap_dense(path: Path, view: wideflow.View) -> Picture:
    """Depth by COLMAP itself; normals, channel after channel, whose array pycolmap shapes otherwise."""
    depth = pycolmap.DepthMap()
    depth.read(str(path / "stereo/depth_maps/a_000000.png.geometric.bin"))
    width, height, channels, data = (
        (path / "stereo/normal_maps/a_000000.png.geometric.bin").read_bytes().split(b"&", 3)
    )
    normals = np.frombuffer(data, "<f4").reshape(int(channels), int(height), int(width)).transpose(1, 2, 0)
    colours = np.rint(127.5 + 127.5 * normals * [1, -1, -1]).clip(0, 255).astype(np.uint8)
    colours[~normals.any(2)] = 0
    return strips(wideflow.depth_colours(depth.to_array()), colours)


def draw_usd(path: Path, view: wideflow.View) -> Picture:
    """Points in their colours, and how fast they are."""
    stage = Usd.Stage.Open(str(path))
    points = UsdGeom.Points(stage.GetPrimAtPath("/World/Points"))
    xyz = np.array(points.GetPointsAttr().Get(0))
    speed = heat(np.array(points.GetVelocitiesAttr().Get(0)))
    shown = cloud(xyz, encode(np.array(points.GetDisplayColorAttr().Get(0))))
    return strips(from_beside(shown, view), from_beside(cloud(xyz, speed), view))


def draw_tracks(path: Path, view: wideflow.View) -> Picture:
    """The ways of points that move over the first picture, as its camera sees them."""
    held = np.load(path / "tracks.npz")
    picture = cv2.imdecode(np.frombuffer(held["images_jpeg_bytes"][0], np.uint8), 1)[..., ::-1]
    fx, fy, cx, cy = held["fx_fy_cx_cy"]
    lens = np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]])
    first, poses = held["extrinsics_w2c"][0], np.linalg.inv(held["extrinsics_w2c"])
    world = np.einsum("tij,tnj->tni", poses[:, :3, :3], held["tracks_XYZ"]) + poses[:, None, :3, 3]
    seen = (world @ first[:3, :3].T + first[:3, 3]) @ lens.T
    ways = (seen[..., :2] / seen[..., 2:]).transpose(1, 0, 2)
    out = draw_lines(picture // 5 * 2, ways, ORANGE)
    for x, y in ways[np.isfinite(ways).all((1, 2)), 0]:
        cv2.circle(out, (round(16 * x), round(16 * y)), 16, INK, -1, cv2.LINE_AA, 4)
    return out


def draw_gltf(path: Path, view: wideflow.View) -> Picture:
    """The mesh with its texture, and its surface alone."""
    (mesh,) = trimesh.load(path / "mesh.0000.glb", process=False).geometry.values()
    texture = np.asarray(mesh.visual.material.baseColorTexture.convert("RGB"))
    u, v = np.asarray(mesh.visual.uv).T
    rows, columns = ((1 - v) * texture.shape[0]).astype(int), (u * texture.shape[1]).astype(int)
    colours = texture[rows.clip(0, texture.shape[0] - 1), columns.clip(0, texture.shape[1] - 1)]
    return strips(*_mesh_pictures(mesh, colours, PHASE))


def draw_usd_mesh(path: Path, view: wideflow.View) -> Picture:
    """The mesh of the first time code as the stage places it, from the other side."""
    stage = Usd.Stage.Open(str(path))
    prim = UsdGeom.Mesh(stage.GetPrimAtPath("/World/Mesh"))
    turn = np.array(prim.ComputeLocalToWorldTransform(0))[:3, :3]  # USD's vectors are rows
    points = np.array(prim.GetPointsAttr().Get(0)) @ turn
    faces = np.array(prim.GetFaceVertexIndicesAttr().Get(0)).reshape(-1, 3)
    mesh = trimesh.Trimesh(points, faces, process=False)
    return strips(*_mesh_pictures(mesh, encode(np.array(prim.GetDisplayColorAttr().Get(0))), -PHASE))


def _mesh_pictures(mesh: Any, colours: Picture, phase: float) -> tuple[Picture, Picture]:
    """A mesh whose vertices have these colours, and its surface alone, by rays of trimesh."""
    pivot = np.median(mesh.vertices, axis=0)
    K = np.array([[SIZE[0], 0, SIZE[0] / 2], [0, SIZE[0], SIZE[1] / 2], [0, 0, 1.0]])
    eye = orbit_view(wideflow.Camera("mesh", *SIZE, K), pivot, FLIP, 0.9 * abs(float(pivot[2])), phase)
    pixels = np.stack(np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]), indexing="xy"), axis=-1)
    rays = np.dstack([pixels, np.ones(SIZE[::-1])]).reshape(-1, 3) @ np.linalg.inv(K).T @ eye.R
    face = mesh.ray.intersects_first(np.tile(eye.centre, (len(rays), 1)), rays)
    hit = face >= 0
    normal = mesh.face_normals[face[hit]] @ np.array([0.4, 0.6, 0.7])
    colour, surface = (np.full((len(rays), 3), GREY, np.uint8) for _ in range(2))
    colour[hit] = colours[mesh.faces[face[hit], 0]]
    surface[hit] = (60 + 180 * np.clip(normal, 0, 1)).astype(np.uint8)[:, None]
    return colour.reshape(SIZE[1], SIZE[0], 3), surface.reshape(SIZE[1], SIZE[0], 3)


def draw_rerun(path: Path, view: wideflow.View) -> Picture:
    """Points and their arrows at the first moment, by rerun's reader."""
    held: dict[str, Array] = {}
    for chunk in RrdReader(str(path)).stream():
        batch = chunk.to_record_batch()
        if "moment" not in batch.schema.names or batch.column("moment")[0].as_py() != 0:
            continue
        for name in set(batch.schema.names) & {"Points3D:positions", "Points3D:colors", *ARROWS}:
            held[name] = np.array(batch.column(name)[0].as_py())
    rgb = held["Points3D:colors"].astype(np.uint32)[:, None] >> np.array([24, 16, 8], np.uint32) & 255
    points = cloud(held["Points3D:positions"], rgb)
    start, way = (held[name] for name in ARROWS)
    far = np.linalg.norm(way, axis=1) > 0.005 * np.linalg.norm(start - view.centre, axis=1)
    side = beside(view, points, PHASE)
    arrows = np.stack([spots(side, start[far]), spots(side, (start + LONGER * way)[far])], axis=1)
    return draw_lines(from_beside(points, view), arrows, ORANGE)


# what a tile shows, and how it is drawn
TILES: dict[str, tuple[str, Draw]] = {
    "ply": ("points.0000.ply", lambda path, view: from_beside(ply_cloud(path / "points.0000.ply"), view)),
    "flo": ("flow of A in time", draw_flo),
    "kitti": ("flow to B | depth", draw_kitti),
    "masks": ("what moves", lambda path, _: read_picture(path / "moving/a_000000.png")),
    "exr": ("colour | depth | motion", draw_exr),
    "fused": ("background, moving", draw_fused),
    "colmap": ("points, cameras", draw_colmap),
    "colmap_dense": ("depth | normals", draw_colmap_dense),
    "nerfstudio": ("background, cameras", draw_nerfstudio),
    "llff": ("cameras, pictures", draw_llff),
    "dynamic3dgaussians": ("points, cameras", draw_dynamic3dgaussians),
    "easymocap": ("cameras, videos", draw_easymocap),
    "pose2sim": ("cameras, videos", draw_pose2sim),
    "usd": ("points | velocities", draw_usd),
    "tracks": ("tracks.npz", draw_tracks),
    "gltf": ("mesh | its surface", draw_gltf),
    "usd_mesh": ("mesh, coloured", draw_usd_mesh),
    "rerun": (f"points, arrows ({LONGER} times as long)", draw_rerun),
    "mp4": ("a picture of the orbit", lambda path, _: video_picture(path, 0.2)),
    "gif": ("another of it, smaller", lambda path, _: video_picture(path, 0.7)),
}


def export_all(result: wideflow.Result, folder: Path) -> None:
    """Two moments of a result in every format."""
    for name in FORMATS:
        wideflow.export_result(result, name, folder / (name + SUFFIXES.get(name, "")), CHOSEN)


def sheet(folder: Path, view: wideflow.View) -> Picture:
    """The tiles of all formats, from the files in a folder."""
    tiles = []
    for name in FORMATS:
        what, draw = TILES[name]
        tiles.append(tile(name, what, draw(folder / (name + SUFFIXES.get(name, "")), view)))
    tiles += [np.full_like(tiles[0], GREY)] * (-len(tiles) % COLUMNS)
    return np.vstack([np.hstack(tiles[i : i + COLUMNS]) for i in range(0, len(tiles), COLUMNS)])


def main(source: Path, out: Path) -> None:
    """Export, read back, draw, and write ``exports.jpg``."""
    result = wideflow.Result(source)
    with tempfile.TemporaryDirectory() as name:
        export_all(result, Path(name))
        write_picture(out / "exports.jpg", sheet(Path(name), result.frame(0).views[0]), QUALITY)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
