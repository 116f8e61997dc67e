"""Is confidence the chance that it claims to be? Claimed against measured, scene by scene and in ten bins.

Scenes are rendered by `wideflow synth` with seeds that served to choose no number; those in the folder that
WIDEFLOW_DATA names are measured too: handheld ones, and the planes of a real room, which stand in for its
truth. Cameras are the true ones. Writes docs/results/confidence.svg.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from wideflow.evaluate.charts import Chart, draw
from wideflow.evaluate.datasets.sample import rectified_frame
from wideflow.files import read_image
from wideflow.handheld import read_handheld
from wideflow.pipeline import compute_step
from wideflow.synth import SynthConfig, render

CHART = Path(__file__).parent.parent / "docs" / "results" / "confidence.svg"
SIZE = (480, 270)
SCENES = {
    "rendered, 3°": SynthConfig(angle=3, seed=506, size=SIZE),
    "rendered, 5°, a third plain": SynthConfig(angle=5, seed=502, size=SIZE, weak=0.3),
    "rendered, 7°, blurred, overexposed": SynthConfig(
        angle=7, seed=504, size=SIZE, overexpose=0.2, motion_blur=0.5
    ),
    "rendered, 10°": SynthConfig(angle=10, seed=501, size=SIZE),
    "rendered, 18°, unlike colours": SynthConfig(angle=18, seed=503, size=SIZE, photometric="strong"),
    "rendered, 28°": SynthConfig(angle=28, seed=505, size=SIZE),
}
# corners of planes in the left picture of real/office at 960 x 540
PLANES = {
    "ceiling": [(230, 5), (700, 5), (720, 20), (870, 25), (735, 130), (330, 125), (300, 90), (225, 85)],
    "floor": [
        (470, 440), (455, 538), (958, 538), (958, 445), (840, 410), (670, 385), (590, 350), (470, 365),
    ],
    "partition": [(8, 234), (425, 238), (425, 342), (8, 350)],
    "wall": [(60, 142), (470, 152), (470, 215), (320, 218), (310, 200), (60, 200)],
}  # fmt: skip

Judged = tuple[str, np.ndarray, np.ndarray]  # name, confidence and rightness of its pixels


def main() -> None:
    """Print a row per scene and the ten bins, and draw them."""
    print("| scene | within 1 % | mean confidence | above 0.8 | of these within 1 % | above 0.5 | of these |")
    print("|" + "---|" * 7)
    scenes = []
    for name, confidence, right in _judged():
        scenes.append((confidence, right))
        sure, likely = confidence > 0.8, confidence > 0.5
        cells = [right.mean(), confidence.mean(), sure.mean(), _mean(right[sure])]
        cells += [likely.mean(), _mean(right[likely])]
        print("|", " | ".join([name, *(f"{100 * cell:.0f} %" for cell in cells)]), "|", flush=True)
    _draw(scenes)


def _judged() -> Iterator[Judged]:
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, config) in enumerate(SCENES.items()):
            render(Path(folder, str(number)), config)
            yield _judge_scene(name, Path(folder, str(number)))
    root = os.environ.get("WIDEFLOW_DATA")
    if root:
        yield from _judge_room(Path(root, "real", "office"))
        for path in sorted(Path(root, "handheld").iterdir()):
            if (path / "cam0_0001.png").exists():
                yield _judge_scene(path.name, path)


def _judge_scene(name: str, path: Path) -> Judged:
    scene = read_handheld(path)
    pictures = tuple(scene.image(camera, t) for t in (0, 1) for camera in (0, 1))
    found = compute_step(pictures, (scene.rig.frame(0), scene.rig.frame(1))).scene
    true = scene.truth(0, 0).depth
    known = np.isfinite(true)
    return name, found.confidence[known], np.abs(found.depth / true - 1)[known] < 0.01


def _judge_room(folder: Path) -> Iterator[Judged]:
    """Planes stay planes in inverse depth, whatever the focal length and the baseline are."""
    pictures = tuple(
        cv2.resize(read_image(folder / side / name), (960, 540), interpolation=cv2.INTER_AREA)
        for name in ("0000.jpg", "0001.jpg")
        for side in ("left", "right")
    )
    frame = rectified_frame((960, 540), 525.0, (479.5, 269.5), 1.0)
    found = compute_step(pictures, (frame, frame)).scene
    for name, corners in PLANES.items():
        inside = cv2.fillPoly(np.zeros((540, 960), np.uint8), [np.array(corners)], 1) > 0
        inside &= np.isfinite(found.depth)
        ratio = found.depth[inside] * _plane(1 / found.depth, inside, found.confidence)
        yield f"office, {name}", found.confidence[inside], np.abs(ratio - 1) < 0.01


def _plane(values: np.ndarray, inside: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The plane through the values of the pixels inside, surer ones first, at these pixels."""
    y, x = np.nonzero(inside)
    places = np.stack([x / 1000, y / 1000, np.ones(len(x))], axis=1)
    value, trust = values[inside].astype(np.float64), weight[inside] ** 2 + 1e-3
    weights = trust
    for _ in range(60):
        root = np.sqrt(weights)
        plane = np.linalg.lstsq(places * root[:, None], value * root, rcond=None)[0]
        residual = np.abs(value - places @ plane)
        weights = trust / (1 + (residual / np.median(residual)) ** 2)
    return places @ plane


def _draw(scenes: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Claimed against measured in ten bins; every scene counts the same."""
    bins = np.arange(10)
    share, claimed, measured = np.zeros((3, 10))
    for confidence, right in scenes:
        bin_of = np.minimum((10 * confidence).astype(int), 9)
        for total, values in ((share, np.ones_like(right)), (claimed, confidence), (measured, right)):
            total += np.bincount(bin_of, values, 10) / len(right)
    with np.errstate(invalid="ignore"):  # no pixel may be as sure as that
        claimed, measured, share = claimed / share, measured / share, share / len(scenes)
    print("\n| claimed | " + " | ".join(f"{100 * value:.0f} %" for value in claimed) + " |")
    print("|" + "---|" * 11)
    for name, row in (("within 1 %", measured), ("pixels", share)):
        print(f"| {name} | " + " | ".join(f"{100 * value:.0f} %" for value in row) + " |")
    centres = (0.05 + 0.1 * bins).round(2).tolist()
    lines = {"measured": measured.tolist(), "claimed": claimed.tolist()}
    charts = [
        Chart("Confidence against truth", "confidence", "share within 1 %", centres, lines),
        Chart("How often", "confidence", "share of pixels", centres, {"pixels": share.tolist()}),
    ]
    CHART.write_text(draw(charts), encoding="utf-8")


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else np.nan
