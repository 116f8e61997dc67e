"""Tracks against the truth: rendered clips, the whole job with true cameras, points followed for 24 frames.

``WIDEFLOW_TRACKS`` names the folder that clips and results are kept in; a run that was stopped goes on.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from benchmarks.track_truth import AFTER, CLIPS, FRAMES, followed, moving_truth, query_pixels, render_clip
from benchmarks.yardstick import deepflow_seconds
from wideflow.synth.points import FollowedPoints

_STARTS = (0, FRAMES - 1)  # forwards, and backwards
_SPACING = 8
_FAR = 0.05  # share of depth from which a point counts as lost
_FAST = 2.0  # px a frame from which a mask is asked to show what moves
_MANY, _LONG = 10_000, 48


def main() -> None:
    root = Path(os.environ.get("WIDEFLOW_TRACKS", "tracks-out"))
    for name in CLIPS:
        result = result_of(name, root)
        truths = followed(name, root / name, _STARTS, _SPACING)
        rows = score_clip(result, truths)
        print(f"{name}: after {AFTER} frames, points seen at both ends")
        for kind, row in rows.items():
            print(f"  {kind:7s} {row['count']:5.0f} points, median {row['median']:.2f} % of depth, ", end="")
            print(f"{row['survival']:.1f} % within 5 %, {row['pixels']:.2f} px, seen {row['seen']:.1f} %")
        print(
            "  masks: intersection over union "
            + ", ".join(f"{v:.2f}" for v in mask_scores(result, root / name))
        )
        print(f"  {_MANY} tracks over {_LONG} frames: {seconds_of_many(result):.1f} D")


def result_of(name: str, root: Path) -> object:
    from wideflow.files import read_rig
    from wideflow.pipeline.job import Job
    from wideflow.pipeline.run import run_job
    from wideflow.progress import silent
    from wideflow.storage.result import Result

    clip, out = root / name, root / f"{name}-result"
    render_clip(name, clip)
    if not (out / "timings.json").exists():
        from wideflow.config import Config

        job = Job(
            clip / "a.mp4",
            clip / "b.mp4",
            str(out),
            Config(),
            size=640,
            rig=read_rig(clip / "rig.json"),
            offset=0.0,
        )
        run_job(job, None, None, False, silent)
    return Result(out)


def score_clip(result, truths: dict[int, FollowedPoints], tracks=None) -> dict[str, dict[str, float]]:
    """Errors after 24 frames, of what moves and what stands, in both directions."""
    from wideflow.geometry import project, world_to_camera
    from wideflow.tracks import track

    parts: dict[str, list[np.ndarray]] = {"moving": [], "static": []}
    for start, truth in truths.items():
        end = start + AFTER if start + AFTER < len(result) else start - AFTER
        pixels = query_pixels(result.size_a, _SPACING)
        queries = np.column_stack([pixels, np.full(len(pixels), start)])
        found = track(result, queries, store=False) if tracks is None else tracks[start]
        known = np.isfinite(found.xyz[start, :, 0]) & truth.visible[start] & truth.visible[end]
        view = result.frame(end).views[0]
        right, guess = world_to_camera(view, truth.xyz[end]), world_to_camera(view, found.xyz[end])
        error = np.linalg.norm(right - guess, axis=1) / right[:, 2]
        apart = np.linalg.norm(project(view.camera, right) - project(view.camera, guess), axis=1)
        moves = np.linalg.norm(np.diff(truth.xyz, axis=0), axis=2).max(axis=0) > 1e-4
        both = np.stack([error, apart, found.visible[end], found.confidence[end]])
        parts["moving"].append(both[:, known & moves])
        parts["static"].append(both[:, known & ~moves])
    return {kind: _summary(np.concatenate(rows, axis=1)) for kind, rows in parts.items()}


def _summary(both: np.ndarray) -> dict[str, float]:
    error, apart, seen, confidence = both
    error = np.where(np.isfinite(error), error, np.inf)
    return {
        "count": len(error),
        "median": 100 * float(np.median(error)),
        "survival": 100 * float((error < _FAR).mean()),
        "pixels": float(np.nanmedian(apart)),
        "seen": 100 * float(seen.mean()),
        "confidence": float(confidence.mean()),
    }


def mask_scores(result, clip: Path) -> list[float]:
    """Of the masks that are exported, with what moves by more than two pixels a frame."""
    from wideflow.export.moving import moving_mask
    from wideflow.geometry import flow_between, points_from_depth

    scores = []
    for path in sorted(clip.glob("gt0_*.npz")):
        t = int(path.stem[-4:])
        if t + 1 >= len(result):
            continue
        truth = moving_truth(clip, t)
        now, later = result.frame(t).views[0], result.frame(t + 1).views[0]
        points = points_from_depth(now, truth.depth)
        own = flow_between(points + truth.motion, now, later) - flow_between(points, now, later)
        fast = np.linalg.norm(np.nan_to_num(own), axis=2)
        found = moving_mask(result, t)
        # what moves less may be white or black
        counted = (fast > _FAST) | (fast < 0.1)
        truly = fast > _FAST
        scores.append(float((found & truly)[counted].sum() / max((found | truly)[counted].sum(), 1)))
    return scores


def seconds_of_many(result) -> float:
    """Times of DeepFlow on a pair that so many tracks over so many frames take."""
    from wideflow.tracks import track

    width, height = result.size_a
    x, y = np.meshgrid(np.linspace(0, width - 1, 125), np.linspace(0, height - 1, _MANY // 125))
    queries = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    track(result, queries[:10], store=False)
    began = time.perf_counter()
    track(result, queries, store=False)
    taken = (time.perf_counter() - began) * _LONG / len(result)
    pair = [result.picture_a(t).astype(np.float32) / 255 for t in (0, 1)]
    return taken / deepflow_seconds(*pair)
