"""``python -m benchmarks.chances CLIPS RUNS``: what depth over time and its rivals are worth, from truth.

CLIPS are those of `wideflow synth --suite video`, RUNS what `wideflow evaluate video` has left of them (its
``runs``). Only clips of the tuned half are looked at. Prints the log odds that `lift/over_time.py` has,
fitted anew, and how often each source is right.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.config import Config
from wideflow.evaluate.sampling import nearest, same_pixels
from wideflow.handheld.clip import Clip, find_clips
from wideflow.lift import BOTH_NOW, rigid_error, static_tells
from wideflow.pipeline.before.prepare import make_plan
from wideflow.pipeline.job import Job
from wideflow.pipeline.tasks.do import fetch
from wideflow.progress import silent
from wideflow.storage.result import Result

RIGHT = 0.03  # relative error of a depth on the right surface
STILL = 1e-4  # world units a frame
_ROUNDS = 30
_MOST = 200_000  # pixels of a clip

Columns = dict[str, NDArray[np.float64]]


def main() -> None:
    """Print a line for each set of odds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    parser.add_argument("runs", type=Path)
    asked = parser.parse_args()
    tables = [
        columns(clip, asked.runs / clip.name)
        for clip in find_clips(asked.clips)
        if not clip.name.startswith("untouched-") and (asked.runs / clip.name).is_dir()
    ]
    every = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    visible, right = every["visible"] > 0, every["time_error"] < RIGHT
    tells = np.stack([every[f"tell{i}"] for i in range(4)], axis=1)
    _tell("_BY_ITSELF", tells[:, :3], right)
    _tell("_SEEN", tells[visible], right[visible])
    _tell("_HIDDEN", tells[~visible], right[~visible])
    moved = every["moved"] > STILL
    for name, chosen in (("_MOVED_SEEN", visible), ("_MOVED_HIDDEN", ~visible)):
        _tell(name, tells[chosen][:, [0, 3]], moved[chosen])


def columns(clip: Clip, out: Path) -> Columns:
    """What is known of the pixels of a clip, and what is true: a column for each."""
    rows = list(_moments(clip, out))
    joined = {name: np.concatenate([row[name].ravel() for row in rows]) for name in rows[0]}
    usable = np.all([np.isfinite(joined[name]) for name in joined], axis=0)
    chosen = np.flatnonzero(usable)
    chosen = np.random.default_rng(0).permutation(chosen)[:_MOST]
    joined = {name: values[chosen].astype(np.float64) for name, values in joined.items()}
    trusted = joined["trusted"] > 0
    scale = np.median((joined["depth"] / joined["true"])[trusted])
    joined["time_error"] = np.abs(1 / (joined["inverse"] * joined["true"] * scale) - 1)
    return joined


def _moments(clip: Clip, out: Path) -> Iterator[dict[str, NDArray[np.float32]]]:
    result = Result(out)
    frames = [frame.index for frame in result.rig.frames]
    steps = np.diff(frames)
    chosen = slice(frames[0], frames[-1] + 1, int(steps[0]))
    size = max(result.size_a)
    videos = clip.path / "a.mp4", clip.path / "b.mp4"
    plan, _ = make_plan(Job(*videos, str(out), Config(), chosen, size, anyway=True), silent)
    for t, frame in enumerate(frames[:-1]):
        if frame not in clip.times():
            continue
        truth, found = clip.truth(frame), fetch(plan, "over_time", t)
        views = plan.rig.frames[t].views[0], plan.rig.frames[t + 1].views[0]
        # as matched and refined: the result's own is that of depth where the world stands still
        error = rigid_error(*views, found.inverse, fetch(plan, "refined", t).flows.optical)
        where = same_pixels(clip.views[0][frame].camera, plan.filmed.cameras[0], plan.rig.cameras[0])
        here = {f"tell{i}": told for i, told in enumerate(static_tells(found, error))}
        here |= {"inverse": found.inverse, "depth": result.depth(t)}
        here["visible"] = (~result.occluded(t)).astype(np.float32)
        sure = (result.confidence(t) > 0.5) & (result.source(t) == BOTH_NOW)
        here["trusted"] = sure.astype(np.float32)
        yield {name: nearest(values, where) for name, values in here.items()} | {
            "true": truth.depth,
            "moved": np.linalg.norm(truth.motion, axis=2),
        }


def _tell(name: str, tells: NDArray[np.float64], right: NDArray[np.bool_]) -> None:
    weights = logistic(tells, right)
    chance = 1 / (1 + np.exp(-tells @ weights))
    told = ", ".join(f"{weight:.2f}" for weight in weights)
    sure = chance > 0.8
    share = f"{100 * right[sure].mean():.0f} %" if sure.any() else "none"
    print(f"{name} = {told}   of {len(right)} pixels; above 0.8: {100 * sure.mean():.0f} %, {share} right")


def logistic(tells: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights whose sums are the log odds of being right (Newton's method)."""
    weights = np.zeros(tells.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-tells @ weights))
        slope = tells.T @ (right - chance)
        bend = (tells * (chance * (1 - chance))[:, None]).T @ tells
        weights += np.linalg.solve(bend + 1e-6 * np.eye(len(weights)), slope)
    return weights


if __name__ == "__main__":
    main()
