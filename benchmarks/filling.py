"""Filling: time as a ratio to DeepFlow, memory, and error, on a scene rendered by `wideflow synth`.

Unknown are blobs that cover a share of the picture, as large as occlusions are under wide baselines.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

from benchmarks.yardstick import deepflow_seconds
from wideflow.config import FillConfig
from wideflow.filling import fill
from wideflow.handheld import read_handheld
from wideflow.synth import SynthConfig, render

SHARES = (0.15, 0.45)
SIZES = ((960, 540), (1920, 1080))


def main() -> None:
    """Print one row for each size, share and method."""
    print("| size | unknown | method | mean error inside, px | time / DeepFlow |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            render(Path(folder) / "scene", SynthConfig(angle=15, size=size, seed=30))
            scene = read_handheld(Path(folder) / "scene")
            first, second, truth = scene.image(0, 0), scene.image(1, 0), scene.flows(0, 0).stereo
            deepflow = deepflow_seconds(first, second)
            for share in SHARES:
                unknown = blobs(first.shape[:2], share)
                for method in ("laplacian", "diffusion"):
                    config = FillConfig(method=method)
                    fill(
                        first[:64, :64], truth[:64, :64], unknown[:64, :64] ^ unknown[0, 0], config
                    )  # compiles
                    seconds, filled = _best_of_three(first, truth, unknown, config)
                    error = np.nanmean(np.linalg.norm(filled - truth, axis=2)[unknown])
                    name = "x".join(map(str, size))
                    row = (name, f"{share:.0%}", method, f"{error:.2f}", f"{seconds / deepflow:.2f}")
                    print("|", " | ".join(row), "|", flush=True)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def blobs(shape: tuple[int, int], share: float) -> np.ndarray:
    """(H, W) bool: smooth noise above the level that this share of it exceeds."""
    noise = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), shape[1] / 40)
    return smooth > np.quantile(smooth, 1 - share)


def _best_of_three(
    picture: np.ndarray, flow: np.ndarray, unknown: np.ndarray, config: FillConfig
) -> tuple[float, np.ndarray]:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        filled = fill(picture, flow, unknown, config).uv
        times.append(time.perf_counter() - start)
    return min(times), filled
