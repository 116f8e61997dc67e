"""Pieces of work side by side: each after what it needs, none lost, and an error ends them all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from wideflow.pipeline.lanes import in_lanes
from wideflow.threads import thread_count, use_threads

PIECES = list(range(12))


def before(piece: int) -> list[int]:
    """A chain of even pieces; odd ones need the even one before them, and something done long ago."""
    return [piece - 2, -5] if piece % 2 == 0 else [piece - 1]


def run(
    do: Callable[[int], int], effort: Callable[[int], float] = lambda piece: 1.0
) -> Iterator[tuple[int, int]]:
    return in_lanes(PIECES, before, do, lambda done, piece: None, effort)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_is_done_once_after_what_it_needs(threads: int) -> None:
    ended: list[int] = []
    told: list[tuple[int, int]] = []

    def do(piece: int) -> int:
        assert all(need in ended for need in before(piece) if need >= 0)
        time.sleep(0.002 * (piece % 3))
        ended.append(piece)
        return 10 * piece

    def begin(done: int, piece: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append((done, piece))

    with use_threads(threads):
        found = dict(in_lanes(PIECES, before, do, begin, lambda piece: 1.0))
    assert found == {piece: 10 * piece for piece in PIECES}
    assert sorted(ended) == sorted(piece for _, piece in told) == PIECES
    assert all(first[0] <= second[0] for first, second in pairwise(told))


def test_two_run_at_once_with_a_share_of_the_threads() -> None:
    meeting, shares = threading.Barrier(2, timeout=5), {}

    def do(piece: int) -> int:
        shares[piece] = thread_count()
        if piece in (1, 2):
            meeting.wait()  # neither goes on without the other
        return 0

    with use_threads(4):
        list(run(do))
        assert thread_count() == 4
    assert shares[0] == 4  # nothing else could be done
    assert shares[1] == shares[2] == 2


def test_what_takes_longer_than_all_the_others_has_all_threads() -> None:
    shares = {}

    def do(piece: int) -> int:
        shares[piece] = thread_count()
        return 0

    with use_threads(4):
        list(run(do, lambda piece: 100.0 if piece == 2 else 1.0))
    assert shares[2] == 4
    assert shares[1] < shares[2]


def test_an_error_is_raised_and_nothing_more_is_begun() -> None:
    begun = []

    def do(piece: int) -> int:
        begun.append(piece)
        if piece == 3:
            raise ValueError("three")
        return 0

    with pytest.raises(ValueError, match="three"):
        list(run(do))
    assert 3 in begun
    assert max(begun) < 8


def most_at_once(pixels: int) -> int:
    at_once, most = [0], [0]

    def do(piece: int) -> int:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        time.sleep(0.002)
        at_once[0] -= 1
        return 0

    with use_threads(2):
        list(in_lanes(PIECES, before, do, lambda done, piece: None, lambda piece: 1.0, pixels))
    return most[0]


def test_large_pictures_are_worked_on_one_at_a_time() -> None:
    assert most_at_once(960 * 540) == 2
    assert most_at_once(1920 * 1080) == 1
