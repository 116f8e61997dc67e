"""What half a frame between the cameras does to depth and motion, and what bringing both to one time mends.

Rendered scenes with true cameras, each filmed three times: at the same moments, and with B half a frame later
and earlier. Errors are those of what moves and what both cameras see, after all stages of a time step.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.config import Config
from wideflow.files import read_image
from wideflow.handheld.clip import read_clip
from wideflow.pipeline.step.in_memory import compute_step
from wideflow.synth import SynthConfig, render
from wideflow.types import RigFrame, SceneFlow, Truth

# place, degrees, seed and path; numbers were chosen on the first three, the others only judge them
SCENES = {
    "tuned-hands-courtyard-12": ("courtyard", 12, 811, "hands"),
    "tuned-hands-hall-16": ("hall", 16, 812, "hands"),
    "tuned-walk-garden-14": ("garden", 14, 813, "walk"),
    "untouched-walk-courtyard-18": ("courtyard", 18, 821, "walk"),
    "untouched-hands-hall-10": ("hall", 10, 822, "hands"),
    "untouched-hands-garden-20": ("garden", 20, 823, "hands"),
    "untouched-walk-hall-24": ("hall", 24, 824, "walk"),
}
SIZE = (640, 360)
FPS = 30.0
_FIRST = 1  # the frame of A that is scored
_MOVES = 1e-4  # world units a frame


def main() -> None:
    """Print a row for each scene, of what moves."""
    print("| scene | moving | at one moment | half a frame apart, unminded | brought to one time |")
    print("|---|---|---|---|---|")
    ratios = []
    for name in SCENES:
        with tempfile.TemporaryDirectory() as folder:
            together = score(scene_in(Path(folder) / "together", name, 0.0))[0]
            apart = [scene_in(Path(folder) / f"{late:+}", name, late) for late in (0.5, -0.5)]
            unminded, minded = (
                np.mean([score(scene, one_time)[0] for scene in apart], axis=0) for one_time in (False, True)
            )
        ratios.append((minded / together)[1:])
        print(
            f"| `{name}` | {together[0]:.0f} % | {cell(together)} | {cell(unminded)} | {cell(minded)} |",
            flush=True,
        )
    mean = np.mean(ratios[3:], axis=0)
    print("untouched, over those at one moment: " + ", ".join(f"{ratio:.2f}" for ratio in mean))


def cell(row: np.ndarray) -> str:
    """Errors as a table tells them."""
    return f"{row[1]:.2f} %, {row[2]:.0f} / {row[3]:.1f} %, {row[4]:.1f} mm"


def scene_in(folder: Path, name: str, late: float, **settings: Any) -> Path:
    """The folder with a scene whose B is ``late`` frames behind; rendered unless it is there."""
    place, angle, seed, path = SCENES[name]
    if not (folder / "truth.json").exists():
        render(
            folder,
            SynthConfig(
                frames=_FIRST + 2,
                size=SIZE,
                fps=FPS,
                offset=late / FPS,
                place=place,
                angle=float(angle),
                seed=seed,
                path=path,
                truth_frames=(_FIRST,),
                **settings,
            ),
        )
    return folder


def score(folder: Path, one_time: bool = True, config: Config | None = None) -> np.ndarray:
    """(2, 5): of what moves and of what stands still, as far as both cameras see it.

    Share of the picture; depth: median error in per cent, off by more than 1 and 5 %; motion in mm.
    """
    clip = read_clip(folder)
    frames = [
        RigFrame(t, (t / FPS, t / FPS), (clip.views[0][t], clip.views[1][t]), late=one_time * clip.offset)
        for t in (_FIRST, _FIRST + 1)
    ]
    a0, b0, a1, b1 = (
        read_image(folder / f"cam{camera}_{t:04d}.png") for t in (_FIRST, _FIRST + 1) for camera in (0, 1)
    )
    found = compute_step((a0, b0, a1, b1), (frames[0], frames[1]), config).scene
    truth = clip.truth(_FIRST)
    moves = np.linalg.norm(np.nan_to_num(truth.motion), axis=2) > _MOVES
    return np.stack([errors(found, truth, moves), errors(found, truth, ~moves)])


def errors(found: SceneFlow, truth: Truth, which: np.ndarray) -> np.ndarray:
    """As in `score`, of these pixels (H, W)."""
    counted = which & truth.stereo_visible & np.isfinite(truth.depth)
    depth = np.abs(found.depth / truth.depth - 1)[counted]
    motion = np.linalg.norm(found.motion - truth.motion, axis=2)[counted]
    depth, motion = (np.where(np.isfinite(values), values, np.inf) for values in (depth, motion))
    off = [100 * np.mean(depth > limit) for limit in (0.01, 0.05)]
    return np.array([100 * counted.mean(), 100 * np.median(depth), *off, 1000 * np.median(motion)])


if __name__ == "__main__":
    main()
