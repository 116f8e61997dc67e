"""``make fuzz``: malformed files for all readers, in processes of their own, until the time is over.

    python -m fuzzing [--minutes 480] [--only NAME] [--seed 0]

A process that crashes, takes longer than 5 s for a file, or more than 1 GB beyond what it had, is reported
with the file, which is kept in ``tests/fuzzing/corpus``.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import random
import sys
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from fuzzing.mutate import mutated
from fuzzing.targets import CORPUS, Target, targets
from fuzzing.trial import LONGEST, MOST_MEMORY, try_file

_BATCH = 40  # files that a process is given before another reader has its turn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=480)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chosen = {name: target for name, target in targets().items() if asked.only in name}
    chance, counts, found = random.Random(asked.seed), dict.fromkeys(chosen, 0), 0
    names = [name for name, target in chosen.items() for _ in range(target.weight)]
    end = time.monotonic() + 60 * asked.minutes
    while time.monotonic() < end:
        name = chance.choice(names)
        counts[name] += _BATCH
        problem = _batch(name, chosen[name], chance.randrange(2**32))
        if problem is not None:
            found += 1
            print(f"{name}: {problem}", flush=True)
    print(f"{sum(counts.values())} files, {found} found: {counts}")
    return int(found > 0)


def _batch(name: str, target: Target, seed: int) -> str | None:
    """Try some files in a process of their own; what went wrong, if anything did."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(target, seed, there))
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
            content = mutated(chance.choice(seeds), chance)
            report.send(("file", content))
            try:
                try_file(target, content, Path(folder))
            except BaseException:
                report.send(("wrong", traceback.format_exc(limit=-3)))
                return
    report.send(("done", "done"))


if __name__ == "__main__":
    sys.exit(main())
