"""Who does the tasks of a run: this process, or the workers of a Dask cluster. The tasks are the same."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from wideflow.errors import InputError, MissingExtraError
from wideflow.memory import keep_memory
from wideflow.pipeline.lanes import in_lanes, largest
from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.tasks.do import do_task
from wideflow.pipeline.tasks.plan import Plan, Task
from wideflow.pipeline.tasks.recent import RECENT
from wideflow.progress import Progress

# told each task that is done, and what was noted of it
Done = Callable[[Task, dict[str, Any]], None]
_PATIENCE = 20  # seconds for a scheduler to answer
_DASK = ("distributed", "tornado", "asyncio")  # who writes its log
_RETRIES = 2  # of a task, beside those that Dask grants when a worker is lost


def run_here(plan: Plan, tasks: Sequence[Task], progress: Progress, done: Done) -> None:
    """In this process, two tasks at a time where the threads allow it."""
    clock = _Clock(tasks)

    def begin(number: int, task: Task) -> None:
        clock.begin(task)
        progress(number, len(tasks), clock.text(task, plan))

    size = largest(plan.rig.cameras)
    users = Counter(need for task in tasks for need in plan.needs(task))
    try:
        for task, note in in_lanes(tasks, plan.needs, partial(do_task, plan), begin, _effort, size):
            clock.add(task)
            done(task, note)
            users.subtract(plan.needs(task))
            RECENT.drop(plan, [each for each in (task, *plan.needs(task)) if not users[each]])
    finally:
        RECENT.clear()
    progress(len(tasks), len(tasks), "done")


def run_on_cluster(
    plan: Plan, tasks: Sequence[Task], address: str | None, workers: int, progress: Progress, done: Done
) -> None:
    """The tasks on the cluster at an address, or on worker processes of this machine.

    A task whose worker is lost is done again by another.
    """
    with _silent_dask(), _client(address, workers) as client, _told_if_lost(address):
        from distributed import as_completed

        run = plan.claim.token if plan.claim else ""  # what another run has found under a name is not ours
        futures: dict[Task, Any] = {}
        # a task of its own, not scattered: if all workers that have it are lost, it is sent again
        shared = client.submit(_itself, plan, key=f"plan-{uuid4().hex}")
        for number, task in enumerate(tasks):
            needs = [futures[need] for need in plan.needs(task) if need in futures]
            name = f"{task.name}-{task.t}-{plan.key(task)}-{run}"
            futures[task] = client.submit(
                _task_after, shared, task, needs, key=name, retries=_RETRIES, priority=-number
            )
        names = {future.key: task for task, future in futures.items()}
        clock = _Clock(tasks)
        # not with its results: one whose scheduler is lost at that moment would be waited for, for ever
        for number, future in enumerate(as_completed(list(futures.values()))):
            task, note = names[future.key], _outcome(future)
            clock.add(task)
            done(task, note)
            progress(number + 1, len(tasks), clock.text(task, plan))
    progress(len(tasks), len(tasks), "done")


def _outcome(future: Any) -> dict[str, Any]:
    """What a task that has ended noted; its error is raised here, not in Dask's own thread.

    One that is no `Exception` would end that thread, and the run would wait for ever.
    """
    if future.status == "error":
        raise future.exception()
    return dict(future.result())


def _itself(plan: Plan) -> Plan:
    return plan


def _task_after(plan: Plan, task: Task, needs: list[Any]) -> dict[str, Any]:
    """``needs`` only makes Dask wait for them: what they found lies in the result's folder."""
    keep_memory()
    return do_task(plan, task)


def _effort(task: Task) -> float:
    return STAGE[task.name].effort


class _Clock:
    """How long what is left will take, from the tasks that were not done before."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._left, self._last = sum(map(_effort, tasks)), time.monotonic()
        self._spent = self._done = 0.0
        self._fresh = 0
        self._begun: dict[Task, float] = {}

    def begin(self, task: Task) -> None:
        self._begun[task] = time.monotonic()

    def add(self, task: Task) -> None:
        now = time.monotonic()
        self._left -= _effort(task)
        self._spent += now - self._last
        # one that was done before takes no time; two that end together have both taken theirs
        if now - self._begun.pop(task, self._last) > 0.05:
            self._done += _effort(task)
            self._fresh += 1
        self._last = now

    def text(self, task: Task, plan: Plan) -> str:
        text = f"{STAGE[task.name].doing} of moment {task.t + 1} of {len(plan)}"
        if self._fresh < 4:
            return text
        left = self._spent / self._done * self._left
        return f"{text}, about {left / 60:.0f} min left" if left > 90 else f"{text}, about {left:.0f} s left"


@contextmanager
def _client(address: str | None, workers: int) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError(
            "--workers and --cluster need Dask; run pip install 'wideflow[cluster]'"
        ) from error
    if address is not None:
        try:
            client = Client(address, timeout=_PATIENCE)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at {address}; check the address, or start 'dask scheduler'"
            ) from error
        try:
            yield client
        finally:
            client.close()
        return
    threads = max(1, (os.cpu_count() or 1) // workers)
    # of our loops, and of NumPy's linear algebra
    environment = {"NUMBA_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    try:
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", env=environment, silence_logs=50
        )
    except (OSError, RuntimeError, MemoryError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"worker processes cannot be started here: {reason[:200]}; start the run without --workers"
        ) from error
    with cluster, Client(cluster) as client:
        yield client


@contextmanager
def _silent_dask() -> Iterator[None]:
    """Without Dask's own log on standard error, which tells of a lost scheduler in pages."""
    with suppress(ImportError):
        import distributed  # noqa: F401  (its loggers come with it)
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _DASK]
    levels = {name: logging.getLogger(name).level for name in (*_DASK, *names)}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextmanager
def _told_if_lost(address: str | None) -> Iterator[None]:
    """One sentence where Dask has many kinds of errors for a scheduler or workers that are gone."""
    from asyncio import CancelledError
    from concurrent.futures import CancelledError as FutureCancelledError

    from distributed import KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise InputError(
            "workers were ended again and again while they did the same task, perhaps for lack of memory; "
            "start again with fewer --workers or a smaller --size, what is done is kept"
        ) from error
    except (CancelledError, FutureCancelledError, CommClosedError, TimeoutError) as error:
        where = "the workers" if address is None else f"the Dask scheduler at {address}"
        raise InputError(f"{where} can no longer be reached; start again, what is done is kept") from error
