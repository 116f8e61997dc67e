"""Rows of a picture, or anything else that can be counted, split among threads.

Compiled loops run without Python's lock, so that threads of Python are enough: loops need not be compiled
twice, and any number of them may be split at once.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache

from numba import config

_BANDS = 4  # for each thread: who is done early takes another
_MOST: int = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # of the environment, or the cores
_share = threading.local()


def thread_count() -> int:
    """How many threads the one that asks may use, itself among them: its share, or all that there are."""
    count: int = getattr(_share, "count", _MOST)
    return count


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Let the present thread use so many meanwhile."""
    before = thread_count()
    _share.count = count
    try:
        yield
    finally:
        _share.count = before


def in_bands(count: int, work: Callable[[int, int], object]) -> None:
    """Call ``work(first, end)`` for bands that are ``range(count)`` together, side by side.

    The first error that a band raises is raised here, once no other is worked on.
    """
    threads = min(thread_count(), count)
    if threads <= 1:
        work(0, count)
        return
    bands, numbers = min(count, _BANDS * threads), itertools.count()

    def pull() -> None:
        for band in numbers:  # each number goes to one thread
            if band >= bands:
                return
            work(band * count // bands, (band + 1) * count // bands)

    helpers: list[Future[None]] = []
    try:
        helpers += (_pool().submit(pull) for _ in range(threads - 1))
        pull()
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]  # others came too late to help
        wait(begun)
    for helper in begun:
        helper.result()


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads that help, of the whole process."""
    return ThreadPoolExecutor(_MOST, "wideflow")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads stay behind
