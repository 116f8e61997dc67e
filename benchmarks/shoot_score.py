"""How far the cameras and the depth of a shoot are from its truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.files import read_rig
from wideflow.geometry import ideal_camera, pixel_grid, project, relative_pose, unproject
from wideflow.handheld import read_truth
from wideflow.storage.result import Result
from wideflow.types import Camera, Rig, View

TRUSTED, SURE = 0.5, 0.8  # confidences above which a pixel counts
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Filmed:
    """Where the cameras of a shoot truly were, with their lenses: views[camera][own frame]."""

    views: tuple[list[View], list[View]]
    rates: tuple[float, float]
    offset: float

    def partner(self, frame: int, offset: float) -> int:
        """B's frame that an offset makes the partner of A's ``frame``; it may not exist."""
        return round((frame / self.rates[0] - offset) * self.rates[1])


def read_filmed(clips: Path) -> Filmed:
    """``truth.json`` of rendered clips."""
    fields = json.loads((clips / "truth.json").read_text())
    views = [
        [
            View(
                Camera("ab"[c], *fields["sizes"][c], np.array(pose["K"]), np.array(fields["distortion"][c])),
                np.column_stack([pose["R"], pose["t"]]),
            )
            for pose in fields["cameras"][c]
        ]
        for c in (0, 1)
    ]
    rates = fields["fps"], fields.get("fps_b", fields["fps"])
    return Filmed((views[0], views[1]), rates, fields["offset_seconds"])


def score_calibrate(clips: Path, out: Path) -> dict[str, Any]:
    """Errors of the ``rig.json`` that `wideflow calibrate` wrote into ``out``."""
    sync = json.loads((out / "calibration.json").read_text())["sync"]
    return score_cameras(read_rig(out / "rig.json"), read_filmed(clips), sync)


def score_run(clips: Path, out: Path) -> dict[str, Any]:
    """Errors of a result of `wideflow run`: its cameras and its depth."""
    result, truth = Result(out), read_filmed(clips)
    filmed = read_rig(out / "filmed.json")
    cameras = score_cameras(filmed, truth, result.summary["sync"])
    return cameras | score_depth(result, filmed.cameras[0], clips, truth)


def score_cameras(rig: Rig, truth: Filmed, sync: dict[str, Any]) -> dict[str, Any]:
    """Errors over the frames of a rig.

    Each found pair is held against the true cameras of its own two frames, whatever the offset in time that
    made them a pair.

    Returns
    -------
    dict
        ``rotation`` and ``direction``: median error in degrees of the rotation between the cameras and of the
        baseline's direction as A sees it; ``rotation_max``; ``focal``: percent for A and B; ``spread``:
        largest over smallest ratio of found to true baseline, less 1; ``frames``; ``sync_ms``.
    """
    turns, directions, ratios, focal = [], [], [], []
    for frame in rig.frames:
        partner = truth.partner(frame.index, sync["offset_seconds"])
        if not (frame.index < len(truth.views[0]) and 0 <= partner < len(truth.views[1])):
            continue
        real = truth.views[0][frame.index], truth.views[1][partner]
        turn = relative_pose(*frame.views)[:, :3] @ relative_pose(*real)[:, :3].T
        turns.append(np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))))
        base, true_base = (a.R @ (b.centre - a.centre) for a, b in (frame.views, real))
        lengths = np.linalg.norm(base), np.linalg.norm(true_base)
        directions.append(np.degrees(np.arccos(np.clip(base @ true_base / (lengths[0] * lengths[1]), -1, 1))))
        ratios.append(lengths[0] / lengths[1])
        found_focal, true_focal = ([view.camera.K[0, 0] for view in views] for views in (frame.views, real))
        focal.append(100 * (np.divide(found_focal, true_focal) - 1))
    if not turns:
        return {"frames": 0}
    return {
        "frames": len(turns),
        "rotation": float(np.median(turns)),
        "rotation_max": float(np.max(turns)),
        "direction": float(np.median(directions)),
        "focal": np.median(focal, axis=0).tolist(),
        "spread": float(max(ratios) / min(ratios) - 1),
        "sync_ms": 1000 * (sync["offset_seconds"] - truth.offset),
        "sync_confidence": sync["confidence"],
    }


def score_depth(result: Result, lens: Camera, clips: Path, truth: Filmed) -> dict[str, Any]:
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
            where = _same_pixels(truth.views[0][frame.index].camera, lens, result.rig.cameras[0])
            depth, confidence = (_read(array, where) for array in (result.depth(t), result.confidence(t)))
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


def _same_pixels(true: Camera, lens: Camera, ideal: Camera) -> Floats:
    """Where the pixels of the truth, those of the true ideal camera, lie in the result's pictures."""
    on_film = project(true, unproject(ideal_camera(true), pixel_grid(true.width, true.height)))
    return project(ideal, unproject(lens, on_film))


def _read(array: NDArray[Any], where: Floats) -> Floats:
    """Values at the nearest pixels; NaN outside the picture."""
    height, width = array.shape
    with np.errstate(invalid="ignore"):
        x, y = (np.rint(where[..., i]) for i in range(2))
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    row, column = np.where(inside, y, 0).astype(int), np.where(inside, x, 0).astype(int)
    return np.where(inside, array[row, column], np.nan).astype(np.float64)
