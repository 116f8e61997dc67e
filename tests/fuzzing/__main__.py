"""``make fuzz``: malformed files for all readers, in processes of their own, until the time is over.

    python -m fuzzing [--minutes 480] [--only NAME] [--seed 0] [--lanes N] [--blind]

With atheris, where it is installed, files that reach new lines of ours are changed further; without it, or
with ``--blind``, all changes start from valid files. A process that crashes, takes longer than 5 s for a
file, or more than 1 GB beyond what it had, is reported with the file, which is kept in
``tests/fuzzing/corpus``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from fuzzing import batches
from fuzzing.targets import Target, targets

# a reader's name, the reader, a seed: how many files it was given, and what went wrong
Turn = Callable[[str, Target, int], tuple[int, str | None]]
_LONGEST_TURN, _SHORTEST_TURN = 60, 4  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=480)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--blind", action="store_true", help="without atheris")
    asked = parser.parse_args()
    chosen = {name: target for name, target in targets().items() if asked.only in name}
    begun = time.monotonic()
    end, pipes = begun + 60 * asked.minutes, []
    with tempfile.TemporaryDirectory() as folder:
        turn = _way(asked.blind, 60 * asked.minutes * asked.lanes, chosen, Path(folder))
        context = get_context("fork")
        for lane in range(asked.lanes):
            here, there = context.Pipe()
            context.Process(target=_lane, args=(chosen, turn, asked.seed + lane, end, there)).start()
            there.close()
            pipes.append(here)
        told = [pipe.recv() for pipe in pipes]
    counts = {name: sum(each[name] for each, _ in told) for name in chosen}
    total, found = sum(counts.values()), sum(problems for _, problems in told)
    rate = total / (time.monotonic() - begun) * 60
    print(f"{total} files, {rate:.0f} a minute, {found} found: {counts}")
    return int(found > 0)


def _way(blind: bool, seconds: float, chosen: dict[str, Target], folder: Path) -> Turn:
    """How a reader is tried when it has its turn; all have theirs in the time that there is."""
    if blind or importlib.util.find_spec("atheris") is None:
        print("without atheris: every change starts from a valid file", flush=True)
        return batches.blind
    turns = sum(target.weight for target in chosen.values())
    return batches.Guided(folder, min(_LONGEST_TURN, max(_SHORTEST_TURN, int(seconds / turns) - 3)))


def _lane(chosen: dict[str, Target], turn: Turn, seed: int, end: float, report: Connection) -> None:
    """One turn after the other; tells how many files each reader was given, and how many went wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # OpenCV and FFmpeg tell of every malformed picture
    chance, counts, found = random.Random(seed), dict.fromkeys(chosen, 0), 0
    names = [name for name, target in chosen.items() for _ in range(target.weight)]
    turns: list[str] = []
    while time.monotonic() < end:
        turns = turns or chance.sample(names, len(names))  # everyone has a turn before anyone has another
        name = turns.pop()
        tried, problem = turn(name, chosen[name], chance.randrange(2**31))
        counts[name] += tried
        if problem is not None:
            found += 1
            print(f"{name}: {problem}", flush=True)
    report.send((counts, found))


if __name__ == "__main__":
    sys.exit(main())
