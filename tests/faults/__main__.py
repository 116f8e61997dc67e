"""``make faults``: faults at the operations of a small job, random kills, and many sequences of events.

    python -m faults [--thorough] [--kills 1000] [--sequences 500]

Every operation on a disk is the last one once; other faults, object storage and workers, which are slower,
come at operations evenly spaced. ``--thorough`` has every fault at every operation everywhere, for a day.
"""

from __future__ import annotations

import argparse
import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from faults.injection import FAULTS
from faults.machine import ResultMachine
from faults.places import cluster, object_storage
from faults.quick_job import Wish
from faults.trial import check_served, fault_and_mend, mend, operations, scratch, suffer

WISH = Wish()
_WITH = {False: "", True: " with workers"}
# kinds of faults, and at every how many-th operation on a disk and in object storage; with workers or not
_SPACED = {
    False: [(("kill",), 1, 30), (("fail",), 10, 30), (tuple(set(FAULTS) - {"kill", "fail"}), 10, 0)],
    True: [(("kill", "fail"), 30, 120)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--sequences", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    logging.getLogger("wideflow").propagate = False
    for workers in (False, True):
        for kinds, every, every_remotely in _SPACED[workers]:
            if every:
                _every_operation(kinds, 1 if asked.thorough else every, workers)
            if every_remotely:
                _every_operation_remotely(kinds, 1 if asked.thorough else every_remotely, workers)
    _random_kills(asked.kills, random.Random(asked.seed))
    _sequences(asked.sequences)


def _every_operation(kinds: tuple[str, ...], every: int, workers: bool) -> None:
    with cluster(workers) as address, scratch() as folder:
        count = operations(WISH, folder / "count", address)
        tried = range(0, count, every)
        for kind in kinds:
            with _told(f"{kind} at {len(tried)} of {count} operations on a disk{_WITH[workers]}"):
                for at in tried:
                    with scratch() as own:
                        fault_and_mend(WISH, own / "out", kind, at, address)


def _every_operation_remotely(kinds: tuple[str, ...], every: int, workers: bool) -> None:
    with object_storage() as bucket, cluster(workers) as address:
        count = operations(WISH, f"{bucket}/count", address)
        tried = range(0, count, every)
        for kind in kinds:
            with _told(f"{kind} at {len(tried)} of {count} operations in object storage{_WITH[workers]}"):
                for at in tried:
                    fault_and_mend(WISH, f"{bucket}/{kind}{at}", kind, at, address)


def _random_kills(kills: int, chance: random.Random) -> None:
    """Runs that are killed again and again until they come to their end by themselves."""
    with _told(f"{kills} random kills"):
        done = 0
        while done < kills:
            with scratch() as folder:
                for _ in range(chance.randrange(1, 12)):
                    kind = chance.choice(["kill", "torn"])
                    suffer(WISH, folder / "out", kind, chance.randrange(700))
                    check_served(folder / "out", WISH)
                    done += 1
                mend(WISH, folder / "out")


def _sequences(count: int) -> None:
    with _told(f"{count} sequences of 10 events"):
        run_state_machine_as_test(
            ResultMachine,
            settings=settings(
                max_examples=count,
                stateful_step_count=10,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


@contextmanager
def _told(what: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    print(f"{what}: nothing lost, nothing blocked ({time.monotonic() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
