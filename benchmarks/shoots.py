"""The whole job on rendered shoots of many kinds, good and hopeless: accepted or refused, and the true error.

``python -m benchmarks.shoots all --folder F`` renders, runs and prints the table; ``render``, ``run`` and
``table`` do one of these, ``score`` compares kept results with the truth again. Each goes on where it was
ended. ``--only`` takes halves (tuned, untouched), kinds
(good, hard, hopeless) and names; ``--calibrate-only`` stops after the cameras and keeps results of its own;
``--again`` forgets what was computed for the chosen shoots; ``--results`` keeps results elsewhere than beside
the clips, as for two versions that are compared; ``--page`` puts the table into a page.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shoot_list import DEPTH_SIZE, MOMENTS, WRONG_FOCAL, WRONG_OFFSET, Shoot, choose
from benchmarks.shoot_score import score_calibrate, score_run
from benchmarks.shoot_table import put_into, reliability, summary, table
from wideflow.files import write_bytes
from wideflow.files.intrinsics import write_intrinsics
from wideflow.handheld import read_clip
from wideflow.synth import render
from wideflow.synth.suite import is_finished


def main(arguments: Sequence[str] | None = None) -> None:
    """Render, run or describe the chosen shoots."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shoots", description=__doc__)
    parser.add_argument("step", choices=("all", "render", "run", "score", "table"))
    parser.add_argument("--folder", type=Path, required=True, help="where clips and results are kept")
    parser.add_argument("--results", type=Path, help="where results are kept, if not there")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="halves, kinds, names")
    parser.add_argument("--calibrate-only", action="store_true", help="stop after the cameras")
    parser.add_argument("--again", action="store_true", help="forget earlier results of the chosen shoots")
    parser.add_argument("--page", type=Path, help="a page with the marks of the table and the summary")
    parser.add_argument("--threads", type=int, default=1, help="threads that render")
    chosen = parser.parse_args(arguments)
    mode = "calibrate" if chosen.calibrate_only else "run"
    selected, kept = choose(chosen.only), chosen.results or chosen.folder
    if chosen.step in ("all", "render"):
        render_clips(selected, chosen.folder, chosen.threads)
    if chosen.step in ("all", "run"):
        run_shoots(selected, chosen.folder, kept / mode, chosen.again)
    if chosen.step == "score":
        score_again(selected, chosen.folder, kept / mode)
    if chosen.step != "render":
        results = read_results(selected, kept / mode)
        print(table(results), reliability(results), summary(results), sep="\n")
        if chosen.page is not None:
            put_into(chosen.page, results)


def render_clips(selected: Sequence[Shoot], folder: Path, threads: int) -> None:
    """Render the clips that are missing."""
    for shoot in selected:
        clips = folder / shoot.folder
        if not is_finished(clips, shoot.clips):
            start = time.perf_counter()
            render(clips, shoot.clips, threads=threads)
            print(f"{shoot.folder}: {time.perf_counter() - start:.0f} s", flush=True)


def run_shoots(selected: Sequence[Shoot], folder: Path, results: Path, again: bool) -> None:
    """Run those that are rendered, a line each."""
    for shoot in selected:
        clips = folder / shoot.folder
        if is_finished(clips, shoot.clips):
            print(describe(run_shoot(shoot, clips, results, again)), flush=True)
        else:
            print(f"{shoot.name}: not rendered yet, left out", flush=True)


def run_shoot(shoot: Shoot, clips: Path, results: Path, again: bool = False) -> dict[str, Any]:
    """What the command made of a shoot, with its true errors; computed unless it was before.

    The name of the folder ``results`` is the command, ``run`` or ``calibrate``. Its exit code, its words and
    the scores are kept there in ``NAME.json``, and what it wrote in ``NAME``.
    """
    kept, out = results / f"{shoot.name}.json", results / shoot.name
    if again:
        kept.unlink(missing_ok=True)
        shutil.rmtree(out, ignore_errors=True)
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    command = [sys.executable, "-m", "wideflow", *_command(shoot, clips, out, results.name)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if results.name == "run" and ended.returncode == 2:  # refused before it was computed: how wrong was it?
        subprocess.run([*command, "--anyway"], capture_output=True, check=False)
    found = {
        "name": shoot.name,
        "kind": shoot.kind,
        "half": shoot.half,
        "angle": shoot.clips.angle,
        "exit": ended.returncode,
        "seconds": seconds,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
    }
    found |= _score(clips, out, results.name)
    write_bytes(kept, json.dumps(found, indent=1).encode())
    return found


def score_again(selected: Sequence[Shoot], folder: Path, results: Path) -> None:
    """Compare what is kept with the truth anew, after a change of the scores."""
    for found, shoot in ((found, s) for s in selected for found in read_results([s], results)):
        found |= _score(folder / shoot.folder, results / shoot.name, results.name)
        write_bytes(results / f"{shoot.name}.json", json.dumps(found, indent=1).encode())


def _score(clips: Path, out: Path, mode: str) -> dict[str, Any]:
    if mode == "calibrate" and (out / "rig.json").exists():
        return score_calibrate(clips, out)
    return score_run(clips, out) if (out / "filmed.json").exists() else {}


def _command(shoot: Shoot, clips: Path, out: Path, mode: str) -> list[str]:
    """Arguments of the command line."""
    words = [mode, str(clips / "a.mp4"), str(clips / "b.mp4")]
    if mode == "run":
        step = MOMENTS[1] - MOMENTS[0]
        words += ["-o", str(out), "--frames", f"{MOMENTS[0]}:{MOMENTS[-1] + 1}", "--stride", str(step)]
        words += ["--size", str(DEPTH_SIZE), "--no-report"]
    else:
        words += ["-o", str(out / "rig.json")]
    if shoot.lenses != "unknown":
        for name, views in zip("ab", read_clip(clips).views, strict=True):
            factor = WRONG_FOCAL if shoot.lenses == "wrong" else 1.0
            K = views[0].camera.K * np.array([factor, factor, 1.0])
            write_intrinsics(out / f"lens_{name}.json", replace(views[0].camera, K=K))
            words += [f"--intrinsics-{name}", str(out / f"lens_{name}.json")]
    if shoot.offset == "wrong":
        words += ["--offset", str(shoot.clips.offset + WRONG_OFFSET)]
    return words


def read_results(selected: Sequence[Shoot], results: Path) -> list[dict[str, Any]]:
    """What is known of the chosen shoots so far."""
    files = [results / f"{shoot.name}.json" for shoot in selected]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def describe(found: dict[str, Any]) -> str:
    """One line for the screen."""
    said = [line for line in found["stderr"].splitlines() if line.startswith("wideflow:")]
    errors = ", ".join(
        f"{name} {found[name]:.3g}" for name in ("rotation", "direction", "spread", "off20") if name in found
    )
    focal = "focal " + ", ".join(f"{f:+.2f} %" for f in found["focal"]) if "focal" in found else ""
    ended = f"exit {found['exit']}, {found['seconds']:.0f} s"
    line = "; ".join(filter(None, [f"{found['name']} ({found['kind']}): {ended}", errors, focal]))
    return line + (f"\n    {said[-1]}" if said else "")


if __name__ == "__main__":
    main()
