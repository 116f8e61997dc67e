"""How benchmarks.export_pictures draws what it has read: clouds, cameras, lines, labelled tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import trimesh
from numpy.typing import NDArray

import wideflow
from benchmarks.gallery import SIZE, Picture, beside, cloud_picture

Array = NDArray[Any]
Seen = tuple[wideflow.View, Picture]  # a camera and what it took
TILE, LABEL = (320, 180), 24
GREY, INK = (30, 30, 30), (235, 235, 235)
ORANGE, BLUE = (255, 150, 40), (90, 180, 255)
PHASE = 0.2  # of the orbit that clouds are seen from
FLIP = np.diag([1.0, -1.0, -1.0])  # between y up, z backward and y down, z forward
POINT = 1.6  # px of A, the width of a point


def read_picture(path: Path) -> Picture:
    """A PNG by OpenCV, RGB."""
    return cv2.imread(str(path))[..., ::-1]


def video_picture(path: Path, phase: float = 0.0) -> Picture:
    """The picture of a video at a part (0 .. 1) of it, by PyAV."""
    with av.open(str(path)) as video:
        pictures = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    return pictures[int(phase * len(pictures))]


def camera(K: Any, cam_from_world: Any, picture: Picture, centre: float = 0.0) -> Seen:
    """A camera as a file has it, whose pixel centres are at ``centre``."""
    K = np.array(K, float)
    K[:2, 2] -= centre
    lens = wideflow.Camera("read", picture.shape[1], picture.shape[0], K)
    return wideflow.View(lens, np.array(cam_from_world, float)[:3]), picture


def strips(*pictures: Picture) -> Picture:
    """Pictures of the same size in one, each in its own strip."""
    out, edges = pictures[0].copy(), np.linspace(0, pictures[0].shape[1], len(pictures) + 1).astype(int)
    for picture, left, right in zip(pictures, edges, edges[1:], strict=False):
        out[:, left:right] = picture[:, left:right]
        out[:, max(left - 1, 0) : left + 1] = 255
    return out


def spots(view: wideflow.View, xyz: Array) -> Array:
    """Where a view without distortion sees points, px."""
    seen = (xyz @ view.R.T + view.t) @ view.camera.K.T
    return seen[..., :2] / seen[..., 2:]


def draw_lines(picture: Picture, lines: Array, colour: tuple[int, int, int]) -> Picture:
    """Lines (N, points, 2) on a copy of a picture."""
    out = np.ascontiguousarray(picture)
    finite = lines[np.isfinite(lines).all((1, 2))]
    cv2.polylines(out, list(np.rint(16 * finite).astype(np.int32)), False, colour, 2, cv2.LINE_AA, 4)
    return out


def heat(vectors: Array) -> Picture:
    """Colours (..., 3) of the lengths of vectors (..., 3)."""
    length = np.linalg.norm(np.nan_to_num(vectors), axis=-1)
    share = np.clip(255 * length / np.percentile(length, 99), 0, 255).astype(np.uint8)
    return cv2.applyColorMap(share.reshape(-1, 1), cv2.COLORMAP_INFERNO).reshape(*share.shape, 3)[..., ::-1]


def encode(linear: Array) -> Picture:
    """Linear light as sRGB of 8 bits."""
    curve = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0) ** (1 / 2.4) - 0.055)
    return np.rint(255 * np.clip(curve, 0, 1)).astype(np.uint8)


def cloud(xyz: Any, rgb: Any) -> wideflow.PointCloud:
    """Points and colours of any reader."""
    return wideflow.PointCloud(np.asarray(xyz, np.float32), np.asarray(rgb)[:, :3].astype(np.uint8))


def ply_cloud(path: Path) -> wideflow.PointCloud:
    """A PLY file by trimesh."""
    points: Any = trimesh.load(path)
    return cloud(points.vertices, points.colors)


def from_beside(points: wideflow.PointCloud, view: wideflow.View) -> Picture:
    """A cloud from beside camera A."""
    return cloud_picture(points, beside(view, points, PHASE), POINT / view.camera.K[0, 0])


def cameras(seen: list[Seen], points: wideflow.PointCloud | None = None) -> Picture:
    """Cameras as pyramids whose base is their picture, with a cloud if there is one, from aside."""
    apart = float(np.linalg.norm(seen[0][0].centre - seen[1][0].centre))
    bases = [_base(view, apart) for view, _ in seen]
    right, down, ahead = seen[0][0].R
    look = ahead + 0.4 * down + 0.6 * right
    look /= np.linalg.norm(look)
    side = np.cross(down, look) / np.linalg.norm(np.cross(down, look))
    R = np.stack([side, np.cross(look, side), look])
    shown = np.concatenate([*bases, *(view.centre[None] for view, _ in seen)])
    if points is not None:
        rays = points.xyz @ R.T  # all but the outermost points, along the axes of the picture
        inside = ((rays > np.percentile(rays, 1, axis=0)) & (rays < np.percentile(rays, 99, axis=0))).all(1)
        shown = np.concatenate([shown, points.xyz[inside]])
    view = _fitting(R, shown.mean(axis=0) - 2 * np.ptp(shown @ look) * look, shown)
    out = np.full((SIZE[1], SIZE[0], 3), GREY, np.uint8)
    if points is not None:
        out = cloud_picture(points, view, POINT / view.camera.K[0, 0])
    for (taken, picture), base, colour in zip(seen, bases, (ORANGE, BLUE), strict=True):
        w, h = taken.camera.size
        corners = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
        ends = spots(view, base).astype(np.float32)
        bend = cv2.getPerspectiveTransform(corners - 0.5, ends)
        there = cv2.warpPerspective(np.full((h, w), 255, np.uint8), bend, SIZE)[..., None] > 127
        out = np.where(there, cv2.warpPerspective(picture, bend, SIZE, flags=cv2.INTER_AREA), out)
        tip = spots(view, taken.centre)
        edges = [(ends[i], ends[i - 1]) for i in range(4)] + [(tip, corner) for corner in ends]
        out = draw_lines(out, np.array(edges), colour)
    return out


def _base(view: wideflow.View, reach: float) -> Array:
    """The corners (4, 3) of what a camera sees at some depth."""
    w, h = view.camera.size
    corners = np.array([[0, 0, 1], [w, 0, 1], [w, h, 1], [0, h, 1]]) - [0.5, 0.5, 0]
    return view.centre + reach * corners @ np.linalg.inv(view.camera.K).T @ view.R


def _fitting(R: Array, eye: Array, shown: Array) -> wideflow.View:
    """The lens that fills the picture with points as seen from some place."""
    pose = np.column_stack([R, -R @ eye])
    unit = spots(wideflow.View(wideflow.Camera("unit", *SIZE, np.eye(3)), pose), shown)
    low, high = unit.min(axis=0), unit.max(axis=0)
    focal = 0.92 * float(np.min(SIZE / (high - low)))
    middle = np.array(SIZE) / 2 - focal * (low + high) / 2
    K = np.array([[focal, 0, middle[0]], [0, focal, middle[1]], [0, 0, 1]])
    return wideflow.View(wideflow.Camera("aside", *SIZE, K), pose)


def tile(name: str, what: str, picture: Picture) -> Picture:
    """A picture of any size, small, with the name of its format below."""
    out = np.full((TILE[1] + LABEL, TILE[0], 3), GREY, np.uint8)
    scale = min(TILE[0] / picture.shape[1], TILE[1] / picture.shape[0])
    width, height = round(scale * picture.shape[1]), round(scale * picture.shape[0])
    left, top = (TILE[0] - width) // 2, (TILE[1] - height) // 2
    out[top : top + height, left : left + width] = cv2.resize(
        picture, (width, height), interpolation=cv2.INTER_AREA
    )
    cv2.putText(out, name, (6, TILE[1] + 17), cv2.FONT_HERSHEY_SIMPLEX, 0.5, INK, 1, cv2.LINE_AA)
    (wide, _), _ = cv2.getTextSize(what, cv2.FONT_HERSHEY_SIMPLEX, 0.38, 1)
    spot = (TILE[0] - 6 - wide, TILE[1] + 17)
    cv2.putText(out, what, spot, cv2.FONT_HERSHEY_SIMPLEX, 0.38, (170, 170, 170), 1, cv2.LINE_AA)
    return cv2.copyMakeBorder(out[1:-1, 1:-1], 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(90, 90, 90))
