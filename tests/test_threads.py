"""Rows split among threads: each done once, for any share, and an error in one reaches who asked."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from wideflow.compiled import over_rows
from wideflow.threads import in_bands, thread_count, use_threads


@over_rows()
def _count(first, end, done, total):
    for i in range(first, end):
        done[i] += 1
        for k in range(1, i + 1):
            total[i] += 1 / k


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 100, 1001])
def test_every_row_is_done_once_with_the_same_bits(count: int, threads: int) -> None:
    done, total, alone = np.zeros(count, np.int64), np.zeros(count), np.zeros(count)
    with use_threads(threads):
        _count(count, done, total)
    _count.loop(0, count, np.zeros(count, np.int64), alone)
    assert (done == 1).all()
    assert total.tobytes() == alone.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_bands_cover_all_rows_in_any_number_of_threads(threads: int) -> None:
    found: list[tuple[int, int]] = []
    with use_threads(threads):
        in_bands(50, lambda first, end: found.append((first, end)))
    assert [row for first, end in sorted(found) for row in range(first, end)] == list(range(50))
    assert len(found) >= threads


def test_a_share_is_of_the_thread_that_has_it() -> None:
    everything = thread_count()
    with use_threads(3):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(thread_count).result() == everything
        with use_threads(1):
            assert thread_count() == 1
        assert thread_count() == 3
    assert thread_count() == everything


def test_a_share_of_one_is_worked_on_by_the_caller_alone() -> None:
    found = set()
    with use_threads(1):
        in_bands(40, lambda first, end: found.add((threading.current_thread(), first, end)))
    assert found == {(threading.current_thread(), 0, 40)}


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_in_a_band_reaches_the_caller_once_all_have_ended(threads: int) -> None:
    working = [0]
    lock = threading.Lock()

    def work(first: int, end: int) -> None:
        with lock:
            working[0] += 1
        try:
            if first <= 20 < end:
                raise ValueError("row 20")
        finally:
            with lock:
                working[0] -= 1

    with use_threads(threads):
        for _ in range(20):
            with pytest.raises(ValueError, match="row 20"):
                in_bands(40, work)
            assert working == [0]


def test_several_threads_split_their_rows_at_once() -> None:
    """More of them than there are helpers: none waits for one that is not free."""

    def work(_: int) -> bool:
        done, total = np.zeros(300, np.int64), np.zeros(300)
        with use_threads(4):
            for _ in range(20):
                _count(300, done, total)
        return bool((done == 20).all())

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(12)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    done, total = np.zeros(64, np.int64), np.zeros(64)
    with use_threads(2):
        _count(64, done, total)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _count(64, done, total)
                status = 0 if (done == 2).all() else 2
            finally:
                os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
