"""Matching on real pictures that others took, where the folder named by WIDEFLOW_DATA has them.

`wide/fountain` (Strecha et al.), `wide/bear`, `stereo` and `flow` (Middlebury). The flow of each is written
in flow colours into the folder that WIDEFLOW_PICTURES names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from wideflow.evaluate.metrics import flow_scores
from wideflow.files import read_flow, read_image, write_image
from wideflow.geometry import PairGeometry, pixel_grid, sampson_distance
from wideflow.matching import Match, match
from wideflow.report import flow_colours
from wideflow.types import Camera, View

ART_WIDTH = 463  # px of the stereo pair that ArtL's disparities come from


def main() -> None:
    """Print one row a pair: how much both directions agree on, and the error where the truth is known."""
    root = os.environ.get("WIDEFLOW_DATA")
    if not root:
        print("no real pictures: WIDEFLOW_DATA names no folder")
        return
    print("| pair | kept | error of what is kept |\n|---|---|---|")
    for rows in (_fountain, _bear, _stereo, _flow):
        for name, found, error in rows(Path(root)):
            print(f"| {name} | {np.mean(~found.occluded):.0%} | {error} |", flush=True)
            out = os.environ.get("WIDEFLOW_PICTURES")
            if out:
                colours = flow_colours(np.where(found.occluded[..., None], np.nan, found.forward.uv))
                small = cv2.resize(colours, None, fx=0.4, fy=0.4, interpolation=cv2.INTER_AREA)
                write_image(Path(out) / f"{name.split(',')[0].replace(' ', '-')}.png", small)


Row = tuple[str, Match, str]


def _fountain(root: Path) -> Iterator[Row]:
    for i in (2, 4, 6):
        one, two = (_strecha(root / "wide" / "fountain" / f"{k:04d}") for k in (i, i + 1))
        F = PairGeometry.from_views(one[1], two[1]).F
        for known in (True, False):
            found = match(one[0], two[0], views=(one[1], two[1]) if known else None)
            height, width = found.forward.shape
            here = pixel_grid(width, height)[~found.occluded]
            error = np.abs(sampson_distance(F, here, here + found.forward.uv[~found.occluded]))
            cameras = "cameras known" if known else "cameras unknown"
            yield (
                f"fountain {i}-{i + 1}, {cameras}",
                found,
                f"Sampson: median {np.median(error):.2f} px, 90 % below {np.quantile(error, 0.9):.2f} px",
            )


def _strecha(path: Path) -> tuple[np.ndarray, View]:
    """A picture and its view; the calibration is for twice the size, its rotation from camera to world."""
    rows = [list(map(float, line.split())) for line in path.with_suffix(".camera").read_text().splitlines()]
    rows = [row for row in rows if row]
    picture = read_image(path.with_suffix(".jpg"))
    K = np.array(rows[:3]) / 2
    K[2, 2] = 1
    u, _, v = np.linalg.svd(np.array(rows[4:7]).T)
    rotation, centre = u @ v, np.array(rows[7])
    camera = Camera(path.name, picture.shape[1], picture.shape[0], K)
    return picture, View(camera, np.c_[rotation, -rotation @ centre])


def _bear(root: Path) -> Iterator[Row]:
    folder = root / "wide" / "bear"
    found = match(read_image(folder / "frame0.jpg"), read_image(folder / "frame1.jpg"))
    yield "bear, cameras unknown", found, "no truth"


def _stereo(root: Path) -> Iterator[Row]:
    folder = root / "stereo"
    art = read_image(folder / "Art" / "disp1.png")
    scale = 255 / 3  # disparities are stored three times as large
    lit = ("ArtL", ("left.png", "right.png"), cv2.resize(art, (347, 277), interpolation=cv2.INTER_NEAREST))
    for name, pictures, disparity in (
        ("Art", ("view1.png", "view5.png"), art),
        (lit[0], lit[1], lit[2] * (347 / ART_WIDTH)),
        ("Books", ("view1.png", "view5.png"), read_image(folder / "Books" / "disp1.png")),
    ):
        one, two = (read_image(folder / name / picture) for picture in pictures)
        d = disparity[..., 0] * scale
        truth = np.stack([np.where(d > 0, -d, np.nan), np.zeros_like(d)], axis=-1).astype(np.float32)
        found = match(one, two, views=_rectified(one.shape[1], one.shape[0]))
        yield f"{name}, rectified", found, _kept_error(found, truth)


def _rectified(width: int, height: int) -> tuple[View, View]:
    K = np.array([[width, 0, width / 2], [0, width, height / 2], [0, 0, 1.0]])
    left, right = (Camera(name, width, height, K) for name in ("left", "right"))
    return View(left, np.eye(3, 4)), View(right, np.c_[np.eye(3), [-1.0, 0, 0]])


def _flow(root: Path) -> Iterator[Row]:
    for folder in sorted((root / "flow").iterdir()):
        truth = read_flow(folder / "flow10.flo")
        found = match(read_image(folder / "frame10.png"), read_image(folder / "frame11.png"), "optical")
        yield f"{folder.name}, optical", found, _kept_error(found, truth)


def _kept_error(found: Match, truth: np.ndarray) -> str:
    scores = flow_scores(found.forward.uv, truth, ~found.occluded).visible
    return f"mean {scores.mean:.2f} px, {scores.bad[3]:.1f} % wrong by > 3 px"
