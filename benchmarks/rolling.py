"""What a rolling shutter does to cameras and depth, and what bringing all rows to one time mends.

Rendered clips, each filmed twice: all rows at once, and one after the other within 20 ms. Everything else is
the same, so the truth of the first is that of both. Cameras are found from the two files, depth with them.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wideflow import Config, run
from wideflow.evaluate.video.found import OfResult
from wideflow.evaluate.video.pixels import collect
from wideflow.handheld.clip import read_clip
from wideflow.synth import SynthConfig, render

# place, degrees, seed and path; the first three were looked at, the others only judge
CLIPS = {
    "tuned-walk-courtyard-14": ("courtyard", 14, 851, "walk"),
    "tuned-hands-hall-18": ("hall", 18, 852, "hands"),
    "tuned-walk-garden-12": ("garden", 12, 853, "walk"),
    "untouched-hands-courtyard-20": ("courtyard", 20, 861, "hands"),
    "untouched-walk-hall-10": ("hall", 10, 862, "walk"),
    "untouched-walk-garden-16": ("garden", 16, 863, "walk"),
    "untouched-walk-courtyard-24": ("courtyard", 24, 864, "walk"),
}
READOUT = 0.02
_SIZE, _FRAMES, _MOMENT = (640, 360), 32, 15


def main(folder: Path | None = None) -> None:
    """Print a row for each clip; clips and results stay in ``folder``, if one is given.

    Of what both cameras see: median error of depth and off by more than 1 % of what stands still, median
    errors of depth and of the motion of what moves; then those of the cameras: rotation and focal length.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as kept:
            return main(Path(kept))
    print("| clip | all rows at once | rows in 20 ms, unminded | brought to one time | read-out found |")
    print("|---|---|---|---|---|")
    ratios = []
    for name in CLIPS:
        at_once, rolling = (filmed(folder / f"{name}-{1000 * t:.0f}", name, t) for t in (0.0, READOUT))
        rows = [
            score(at_once, at_once, True),
            score(rolling, at_once, False),
            score(rolling, at_once, True),
        ]
        if name.startswith("untouched"):
            ratios.append([rows[2]["errors"] / rows[0]["errors"], rows[1]["errors"] / rows[0]["errors"]])
        found = f"{rows[0]['readout']}; {rows[2]['readout']}"
        print(f"| `{name}` | {' | '.join(row['words'] for row in rows)} | {found} |", flush=True)
    for words, mean in zip(("brought to one time", "unminded"), np.mean(ratios, axis=0), strict=True):
        print(f"untouched, {words}, over those at once: " + ", ".join(f"{ratio:.2f}" for ratio in mean))


def filmed(folder: Path, name: str, readout: float) -> Path:
    """The folder with a clip; rendered unless it is there."""
    place, angle, seed, path = CLIPS[name]
    if not (folder / "truth.json").exists():
        render(
            folder,
            SynthConfig(
                frames=_FRAMES,
                size=_SIZE,
                place=place,
                angle=float(angle),
                seed=seed,
                path=path,
                rolling_shutter=readout,
                truth_frames=(_MOMENT,),
                video=True,
                samples=2,
            ),
        )
    return folder


def score(clips: Path, true: Path, minded: bool) -> dict[str, Any]:
    """Cameras and depth from two files, against the truth of cameras that expose all rows at once."""
    config = Config()
    config = replace(config, calibrate=replace(config.calibrate, readout=minded))
    out = clips / f"out-{minded}"
    found = run(
        clips / "a.mp4",
        clips / "b.mp4",
        out,
        config,
        frames=slice(_MOMENT, _MOMENT + 2),
        size=max(_SIZE),
        report=False,
        anyway=True,
    )
    clip = read_clip(true)
    answer = OfResult(clip, out)
    pixels, _ = collect(clip, answer)
    still, moving = (pixels.seen & (pixels.moving == moves) for moves in (False, True))
    errors = np.array(
        [
            100 * np.median(pixels.error[still]),
            100 * np.mean(pixels.error[still] > 0.01),
            100 * np.median(pixels.error[moving]),
            1000 * np.nanmedian(pixels.motion_error[moving]),
        ]
    )
    cameras, calibration = answer.cameras(), found.summary["calibration"]
    words = (
        f"{errors[0]:.2f} %, {errors[1]:.1f} %; {errors[2]:.2f} %, {errors[3]:.1f} mm; "
        f"{cameras['rotation']:.2f}°, {cameras['focal']:.1f} %"
    )
    told = zip(calibration["readout"], calibration["readout_spread"], strict=True)
    return {
        "errors": errors,
        "words": words,
        "readout": " and ".join(
            f"{1000 * seconds:.1f} ± {1000 * spread:.1f} ms" for seconds, spread in told if spread is not None
        ),
    }


if __name__ == "__main__":
    main()
