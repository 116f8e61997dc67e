"""How far the cameras and the depth of a shoot are from its truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.evaluate.sampling import nearest, same_pixels
from wideflow.evaluate.video.cameras import score_cameras
from wideflow.files import read_rig
from wideflow.handheld import Clip, read_clip, read_truth
from wideflow.storage.result import Result
from wideflow.types import Camera

TRUSTED, SURE = 0.5, 0.8  # confidences above which a pixel counts


def score_calibrate(clips: Path, out: Path) -> dict[str, Any]:
    """Errors of the ``rig.json`` that `wideflow calibrate` wrote into ``out``."""
    sync = json.loads((out / "calibration.json").read_text())["sync"]
    return score_cameras(read_rig(out / "rig.json"), read_clip(clips), sync)


def score_run(clips: Path, out: Path) -> dict[str, Any]:
    """Errors of a result of `wideflow run`: its cameras and its depth."""
    result, truth = Result(out), read_clip(clips)
    filmed = read_rig(out / "filmed.json")
    cameras = score_cameras(filmed, truth, result.summary["sync"])
    return cameras | score_depth(result, filmed.cameras[0], clips, truth)


def score_depth(result: Result, lens: Camera, clips: Path, truth: Clip) -> dict[str, Any]:
    """Errors of the depth of trusted pixels, up to one scale for the whole clip.

    ``lens`` is A's camera as it was found. A trusted depth where the truth has none (the sky) is wrong.

    Returns
    -------
    dict
        ``trusted``, ``sure``: shares of the picture; ``off20``, ``off5``, ``off1``: shares of the trusted
        pixels that are off by more than so many percent; ``within1``: share of the sure ones within 1 %;
        ``claimed``, ``right``: pixels in each tenth of the confidence, and those of them within 1 %.
    """
    ratios, confidences = [], []
    for t, frame in enumerate(result.rig.frames):
        file = clips / f"gt0_{frame.index:04d}.npz"
        if file.exists():
            true = read_truth(file).depth.astype(np.float64)
            where = same_pixels(truth.views[0][frame.index].camera, lens, result.rig.cameras[0])
            found = result.depth(t), result.confidence(t)
            depth, confidence = (nearest(array.astype(np.float64), where) for array in found)
            ratios.append(np.where(np.isfinite(true), depth / true, np.inf).ravel())
            confidences.append(np.where(np.isfinite(depth), confidence, 0).ravel())
    if not ratios:
        return {}
    ratio, confidence = np.concatenate(ratios), np.concatenate(confidences)
    trusted, sure = confidence > TRUSTED, confidence > SURE
    known = trusted & np.isfinite(ratio)
    shares = {"trusted": float(trusted.mean()), "sure": float(sure.mean())}
    if not known.any():
        return shares
    error = np.abs(ratio / np.median(ratio[known]) - 1)
    off = {f"off{percent}": float(np.mean(error[trusted] > percent / 100)) for percent in (20, 5, 1)}
    within = {"within1": float(np.mean(error[sure] <= 0.01))} if sure.any() else {}
    tenth = np.minimum((10 * confidence).astype(int), 9)
    tenths = {
        "claimed": np.bincount(tenth, minlength=10).tolist(),
        "right": np.bincount(tenth, error <= 0.01, minlength=10).astype(int).tolist(),
    }
    return shares | off | within | tenths
