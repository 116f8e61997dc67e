"""How far the cameras that a method found are from those that filmed."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideflow.geometry import relative_pose
from wideflow.handheld.clip import Clip
from wideflow.types import Rig


def score_cameras(rig: Rig, clip: Clip, sync: dict[str, Any]) -> dict[str, Any]:
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
        partner = clip.partner(frame.index, sync["offset_seconds"])
        if not (frame.index < len(clip.views[0]) and 0 <= partner < len(clip.views[1])):
            continue
        real = clip.views[0][frame.index], clip.views[1][partner]
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
        "sync_ms": 1000 * (sync["offset_seconds"] - clip.offset),
        "sync_confidence": sync["confidence"],
    }
