"""A further moment of a video as `wideflow run` computes it: seconds, DeepFlows, memory, one core and two.

A clip is rendered and run with its true cameras from two files, for a few moments and for more: what the
difference takes is what each further moment takes, with reading, evidence over time, storing and all. Each
run is a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.yardstick import deepflow_seconds
from wideflow.files import read_rig
from wideflow.geometry.picture import checked_picture
from wideflow.synth import SynthConfig
from wideflow.video.read import Video

SIZES = ((480, 270), (960, 540), (1920, 1080))
FEW, MANY = 2, 10
FIRST = 4  # frame: the cameras of those before have none before them to look at


def main() -> None:
    """Print a row for each size and number of threads."""
    titles = (
        "size",
        "threads",
        "seconds a moment",
        "time / DeepFlow",
        "one thread / so many",
        "peak memory, GB",
    )
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    cores = os.cpu_count() or 1
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            config = SynthConfig(angle=15, size=size, seed=30, frames=FIRST + MANY + 4, video=True)
            subprocess.run([sys.executable, "-c", _render(folder, config)], check=True)
            a, b = (checked_picture(Video(folder / f"{each}.mp4").frame(0)) for each in "ab")
            unit, alone = deepflow_seconds(a, b), 0.0
            for threads in sorted({1, cores}):
                seconds, memory = _measured(folder, threads)
                alone = alone or seconds
                cells = f"{seconds:.2f} | {seconds / unit:.2f} | {alone / seconds:.2f} | {memory:.2f}"
                print(f"| {'x'.join(map(str, size))} | {threads} | {cells} |", flush=True)


def _render(folder: Path, config: SynthConfig) -> str:
    return f"from wideflow.synth import *; render({str(folder)!r}, {config!r})"


def _measured(folder: Path, threads: int) -> tuple[float, float]:
    """Seconds of a further moment, and gigabytes; the first of the runs compiles, or loads what it needs."""
    found = [_run(folder, count, threads) for count in (FEW, FEW, MANY)]
    return (found[2][0] - found[1][0]) / (MANY - FEW), found[2][1]


def _run(folder: Path, count: int, threads: int) -> tuple[float, float]:
    environment = {**os.environ, "NUMBA_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "benchmarks.moments", str(folder), out, str(count)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return found["seconds"], found["gigabytes"]


def _moments(folder: Path, out: Path, count: int) -> None:
    """Run so many moments in this process, and print what they took."""
    import resource

    import cv2

    import wideflow

    cv2.setNumThreads(int(os.environ["NUMBA_NUM_THREADS"]))
    start = time.perf_counter()
    wideflow.run(
        folder / "a.mp4",
        folder / "b.mp4",
        out,
        rig=read_rig(folder / "rig.json"),
        offset=0.0,
        size=4096,
        frames=slice(FIRST, FIRST + count, 1),
        report=False,
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": time.perf_counter() - start, "gigabytes": memory}))


if __name__ == "__main__":
    _moments(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
