"""Many malformed files for one reader, in a process that may crash."""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import re
import subprocess
import sys
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from fuzzing.targets import CORPUS, Target, shared_result
from fuzzing.trial import LONGEST, MOST_MEMORY, try_file

_BATCH = 400


def blind(name: str, target: Target, seed: int) -> tuple[int, str | None]:
    """Files that were changed at random; how many, and what went wrong with the last, if anything did."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(target, seed, there))
    process.start()
    there.close()
    content, said, tried = b"", None, 0
    while True:
        if not here.poll(120):
            said = f"takes longer than {LONGEST} s"
            break
        try:
            kind, content_or_words = here.recv()
        except EOFError:
            break
        if kind == "file":
            content, tried = content_or_words, tried + 1
        else:
            said = content_or_words
            break
    process.join(5)
    if said is None and process.exitcode not in (0, None):
        said = f"ended the interpreter (exit code {process.exitcode})"
    if process.is_alive():
        process.kill()
        process.join()
    return tried, None if said is None or said == "done" else f"{said}, kept as {_keep(name, content)}"


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


@dataclass(frozen=True)
class Guided:
    """Turns of atheris.

    Attributes
    ----------
    folder : path
        For the files that each reader goes on from.
    seconds : int
        Of a turn.
    """

    folder: Path
    seconds: int

    def __call__(self, name: str, target: Target, seed: int) -> tuple[int, str | None]:
        own = self.folder / _plain(name)
        own.mkdir(exist_ok=True)
        words = [sys.executable, "-m", "fuzzing.guided", name, str(self.seconds), str(seed), str(own)]
        ended = subprocess.run(words, capture_output=True, env=shared_result())
        said = ended.stderr.decode(errors="replace") + ended.stdout.decode(errors="replace")
        runs = re.search(r"number_of_executed_units:\s*(\d+)", said)
        tried = int(runs[1]) if runs else 0
        if ended.returncode == 0:
            return tried, None
        wrong = sorted(own.glob("wrong-*"))
        if not wrong:
            return tried, f"ended with {ended.returncode}: {said[-2000:]}"
        kept = ", ".join(_keep(name, path.read_bytes()) for path in wrong)
        for path in wrong:
            path.unlink()
        start = max(said.find("Uncaught Python exception"), 0)
        return tried, f"{said[start : start + 2000]}, kept as {kept}"


def _keep(name: str, content: bytes) -> str:
    """Put a file among those that are tried again for ever; its name there."""
    CORPUS.mkdir(exist_ok=True)
    kept = CORPUS / f"{hashlib.sha256(content).hexdigest()[:12]}.{_plain(name)}"
    kept.write_bytes(content)
    return kept.name


def _plain(name: str) -> str:
    return name.replace("/", "_").replace(" ", "_")
