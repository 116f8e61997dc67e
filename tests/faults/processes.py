"""A run in processes of its own, alone or with a Dask scheduler and two workers, any of which may be killed.

    python -m faults.processes [--kills 30] [--quick] [--alone]

Kills are SIGKILL at random moments of a run; the same command then goes on, until it comes to its end by
itself, with the bits of a run that nothing disturbed. ``--alone`` is the run without a cluster, from
synchronisation on; ``--quick`` has quick stages in place of the real ones.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from faults.quick_job import served

_TESTS = Path(__file__).parents[1]
_PATIENCE = 300  # seconds for anything: others may keep the machine busy
ROLES = ("client", "worker", "scheduler")


@dataclass
class Job:
    """How a run is started.

    Attributes
    ----------
    command : list of str
        Of the run, with ``OUT`` and ``ADDRESS`` for what differs.
    preload : tuple of str
        Modules that workers load first.
    """

    command: list[str]
    preload: tuple[str, ...] = ()

    def words(self, out: Path, address: str) -> list[str]:
        return [{"OUT": str(out), "ADDRESS": address}.get(word, word) for word in self.command]


QUICK = Job([sys.executable, "-m", "faults.slow_stages", "OUT", "ADDRESS"], ("faults.slow_stages",))


def real_job(folder: Path, alone: bool) -> Job:
    """A run on two clips of 160x90 that are rendered into a folder."""
    wideflow = [sys.executable, "-m", "wideflow"]
    subprocess.run(
        [*wideflow, "synth", str(folder), "--video", "--frames", "12", "--size", "160x90", "-q"],
        check=True,
        env=_environment(),
    )
    run = ["run", str(folder / "a.mp4"), str(folder / "b.mp4"), "-o", "OUT", "--offset", "0", "--anyway"]
    run += ["--frames", "0:4", "--size", "160", "--no-report", "-q"]
    return Job(
        [*wideflow, *run, *([] if alone else ["--rig", str(folder / "rig.json"), "--cluster", "ADDRESS"])]
    )


def _environment() -> dict[str, str]:
    paths = [str(_TESTS), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONFAULTHANDLER": "1"}


def _start(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    """A process with a group of its own, so that all it starts ends with it."""
    with open(log, "ab") as file:
        return subprocess.Popen(words, stdout=file, stderr=file, env=_environment(), start_new_session=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(_PATIENCE)


@dataclass
class Cluster:
    """A scheduler and workers of this machine; what was killed is started again by `mend`."""

    folder: Path
    preload: tuple[str, ...]
    size: int = 2
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    address: str = ""

    def mend(self) -> None:
        if self.scheduler is None or self.scheduler.poll() is not None:
            for worker in self.workers:  # they would look for the one that is gone
                _kill(worker)
            self.workers, self.address = [], self._begun()
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < self.size:
            words = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1"]
            words += ["--no-dashboard", "--local-directory", str(self.folder)]
            words += [word for module in self.preload for word in ("--preload", module)]
            self.workers.append(_start(words, self.folder / "workers.log"))

    def _begun(self) -> str:
        described = self.folder / "scheduler.json"
        described.unlink(missing_ok=True)
        words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        words += ["--no-dashboard", "--scheduler-file", str(described)]
        self.scheduler = _start(words, self.folder / "scheduler.log")
        for _ in range(10 * _PATIENCE):
            try:
                return str(json.loads(described.read_text())["address"])
            except (OSError, ValueError):
                time.sleep(0.1)
        raise TimeoutError("the scheduler does not start")

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process is not None:
                _kill(process)


@contextmanager
def cluster(wanted: bool, preload: tuple[str, ...], size: int = 2) -> Iterator[Cluster | None]:
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        opened = Cluster(Path(folder), preload, size)
        try:
            yield opened
        finally:
            opened.end()


@dataclass
class Count:
    """What was done: kills by whom they met, runs that came to their end, and what interrupted ones said."""

    kills: dict[str, int] = field(default_factory=dict)
    ends: int = 0
    said: set[str] = field(default_factory=set)


def kill_at_random(job: Job, kills: int, with_cluster: bool, chance: random.Random, folder: Path) -> Count:
    """Kill until so many have met a run at work; every run that ends must have the right bits."""
    count, log = Count(), folder / "client.log"
    with cluster(with_cluster, job.preload) as machines:
        right, seconds = undisturbed(job, machines, folder, log)
        round_ = 0
        while sum(count.kills.values()) < kills:
            round_ += 1
            out = folder / f"out{round_}"
            while True:
                victim = chance.choice(ROLES) if machines else "client"
                done = sum(count.kills.values())
                last = done >= kills
                code = one_run(
                    job, machines, out, log, "" if last else victim, chance.uniform(0, seconds), count
                )
                if code == 0:
                    break
            assert served(out) == right, f"{out} has other bits"
            count.ends += 1
    return count


def undisturbed(
    job: Job, machines: Cluster | None, folder: Path, log: Path
) -> tuple[dict[str, bytes], float]:
    """What a run serves, and the seconds of a second one, which need compile nothing."""
    for name in ("first", "whole"):
        begun = time.monotonic()
        code = one_run(job, machines, folder / name, log, "", 0, Count())
        assert code == 0, log.read_text()[-2000:]
    right = served(folder / "whole")
    assert len(right) > 10
    assert served(folder / "first") == right
    return right, time.monotonic() - begun


def one_run(
    job: Job, machines: Cluster | None, out: Path, log: Path, victim: str, after: float | None, count: Count
) -> int:
    """Start the run, kill somebody after some seconds, and wait for its end; its exit code.

    Without a number of seconds it is when the first arrays have been written.
    """
    if machines is not None:
        machines.mend()
    heard = log.stat().st_size if log.exists() else 0
    client = _start(job.words(out, machines.address if machines else ""), log)
    if victim and after is None:
        while client.poll() is None and not list(out.glob("work/*/*.bin")):
            time.sleep(0.02)
        after = 0.0
    try:
        client.wait(after if victim else _PATIENCE)
    except subprocess.TimeoutExpired:
        if not victim:
            raise
        found = {"client": client}
        if machines is not None and machines.scheduler is not None:
            found |= {"scheduler": machines.scheduler, "worker": machines.workers[0]}
        _kill(found[victim])
        if machines is not None and victim == "worker":
            machines.mend()
        count.kills[victim] = count.kills.get(victim, 0) + 1
    try:
        code = client.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        client.send_signal(signal.SIGABRT)  # it tells where it is
        client.wait(_PATIENCE)
        raise AssertionError(f"blocked after {victim} was killed: {_since(log, heard)}") from None
    finally:
        _kill(client)
    said = _since(log, heard)
    assert "Traceback" not in said, said[-3000:]
    if code == 2:
        count.said.add(said.strip().splitlines()[-1])
    assert code in (0, 2, 3, -signal.SIGKILL), said
    return 0 if code == 3 else code  # 3: complete, but not to be trusted


def _since(log: Path, start: int) -> str:
    return log.read_bytes()[start:].decode(errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true")
    asked = parser.parse_args()
    begun = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        job = QUICK if asked.quick else real_job(folder / "clips", asked.alone)
        count = kill_at_random(job, asked.kills, not asked.alone, random.Random(asked.seed), folder)
    print(
        f"{asked.kills} kills ({', '.join(f'{n} of the {who}' for who, n in sorted(count.kills.items()))}), "
        f"{count.ends} runs that ended: the same bits each time, {time.monotonic() - begun:.0f} s"
    )
    for sentence in sorted({re.sub(r"\d+\.\S+:\d+", "…", each) for each in count.said}):
        print(f"  interrupted runs said: {sentence}")


if __name__ == "__main__":
    main()
