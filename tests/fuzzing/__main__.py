"""``make fuzz``: malformed files for all readers, in processes of their own, until the time is over.

    python -m fuzzing [--minutes 480] [--only NAME] [--seed 0] [--lanes N]

A process that crashes, takes longer than 5 s for a file, or more than 1 GB beyond what it had, is reported
with the file, which is kept in ``tests/fuzzing/corpus``.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from fuzzing.targets import CORPUS, Target, targets
from fuzzing.trial import LONGEST, MOST_MEMORY, try_file

_BATCH = 400  # files that a process is given before another reader has its turn
_FORK = multiprocessing.get_context("fork")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=480)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="processes at a time")
    asked = parser.parse_args()
    chosen = {name: target for name, target in targets().items() if asked.only in name}
    end = time.monotonic() + 60 * asked.minutes
    pipes = []
    for lane in range(asked.lanes):
        here, there = _FORK.Pipe()
        _FORK.Process(target=_lane, args=(chosen, asked.seed + lane, end, there)).start()
        there.close()
        pipes.append(here)
    counts, found = dict.fromkeys(chosen, 0), 0
    for told, problems in (pipe.recv() for pipe in pipes):
        found += problems
        counts = {name: counts[name] + told[name] for name in counts}
    total = sum(counts.values())
    print(f"{total} files, {total / asked.minutes:.0f} a minute, {found} found: {counts}")
    return int(found > 0)


def _lane(chosen: dict[str, Target], seed: int, end: float, report: Connection) -> None:
    """One batch after the other; tells how many files each reader was given, and how many went wrong."""
    _quiet()
    chance, counts, found = random.Random(seed), dict.fromkeys(chosen, 0), 0
    names = [name for name, target in chosen.items() for _ in range(target.weight)]
    turns: list[str] = []
    while time.monotonic() < end:
        turns = turns or chance.sample(names, len(names))  # everyone has a turn before anyone has another
        name = turns.pop()
        counts[name] += _BATCH
        problem = _batch(name, chosen[name], chance.randrange(2**32))
        if problem is not None:
            found += 1
            print(f"{name}: {problem}", flush=True)
    report.send((counts, found))


def _quiet() -> None:
    """OpenCV and FFmpeg tell of every malformed picture."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _batch(name: str, target: Target, seed: int) -> str | None:
    """Try some files in a process of their own; what went wrong, if anything did."""
    here, there = _FORK.Pipe()
    process = _FORK.Process(target=_work, args=(target, seed, there))
    process.start()
    there.close()
    content, said = b"", None
    while True:
        if not here.poll(120):
            said = f"takes longer than {LONGEST} s"
            break
        try:
            kind, content_or_words = here.recv()
        except EOFError:
            break
        if kind == "file":
            content = content_or_words
        else:
            said = content_or_words
            break
    process.join(5)
    if said is None and process.exitcode not in (0, None):
        said = f"ended the interpreter (exit code {process.exitcode})"
    if process.is_alive():
        process.kill()
        process.join()
    if said is None or said == "done":
        return None
    CORPUS.mkdir(exist_ok=True)
    kept = CORPUS / f"{hashlib.sha256(content).hexdigest()[:12]}.{name.replace('/', '_').replace(' ', '_')}"
    kept.write_bytes(content)
    return f"{said}, kept as {kept.name}"


def _work(target: Target, seed: int, report: Connection) -> None:
    import resource
    import tempfile

    chance = random.Random(seed)
    seeds = target.seeds()
    with tempfile.TemporaryDirectory() as folder:
        for seed_file in seeds:  # what is imported on the way is no part of a trial
            try_file(target, seed_file, Path(folder))
    with open(f"/proc/{multiprocessing.current_process().pid}/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_MEMORY,) * 2)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_BATCH):
            content = target.mutate(chance.choice(seeds), chance)
            report.send(("file", content))
            try:
                try_file(target, content, Path(folder))
            except BaseException:
                report.send(("wrong", traceback.format_exc(limit=-3)))
                return
    report.send(("done", "done"))


if __name__ == "__main__":
    sys.exit(main())
