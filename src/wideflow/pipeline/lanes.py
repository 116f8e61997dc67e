"""Pieces of work that do not need each other, side by side in this process.

A stage that has two threads is not twice as fast as with one: parts of it are serial, and threads wait for
each other after every loop. Two stages that have a thread each are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from wideflow.memory import give_back
from wideflow.threads import thread_count, use_threads
from wideflow.types import Camera

Piece = TypeVar("Piece", bound=Hashable)
Found = TypeVar("Found")
_LANES = 2  # memory grows with each
_LARGE = 1_000_000  # pixels of a picture above which memory counts for more than time
_SEEN = 8  # pieces that could be done next, of which to think


def in_lanes(
    pieces: Sequence[Piece],
    needs: Callable[[Piece], Iterable[Piece]],
    do: Callable[[Piece], Found],
    begin: Callable[[int, Piece], None],
    effort: Callable[[Piece], float],
    pixels: int = 0,
) -> Iterator[tuple[Piece, Found]]:
    """Do all pieces, each after those that it needs; yield each with what it gave as soon as it is done.

    Parameters
    ----------
    pieces : sequence
        In an order in which they could be done one after the other; earlier ones come first.
    needs : callable
        Pieces that must be done before one; others than ``pieces`` are done already.
    do : callable
        Does one; called in threads. The first error ends all: it is raised here once what was begun is done.
    begin : callable
        Told, in the thread of the caller, how many pieces are done and which one begins.
    effort : callable
        How long a piece takes with one thread, in any unit. One that takes longer than all the others that
        could be done meanwhile has all threads.
    pixels : int
        Of the largest picture that pieces work on: large ones are worked on one at a time.
    """
    threads = thread_count()
    lanes = min(_LANES, threads) if pixels <= _LARGE else 1
    waiting = dict.fromkeys(pieces)
    missing = {piece: {need for need in needs(piece) if need in waiting} for piece in pieces}
    running: dict[Future[Found], Piece] = {}
    done = 0

    def work(piece: Piece, share: int) -> Found:
        with use_threads(share):
            return do(piece)

    try:
        with ThreadPoolExecutor(lanes) as pool:
            while waiting or running:
                ready = list(islice((piece for piece in waiting if not missing[piece]), _SEEN))
                now = sum(map(effort, [*ready, *running.values()]))
                for piece in ready[: lanes - len(running)]:
                    begin(done, piece)
                    del waiting[piece]
                    share = threads if effort(piece) > now - effort(piece) else threads // lanes
                    running[pool.submit(work, piece, share)] = piece
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    piece = running.pop(future)
                    found = future.result()
                    done += 1
                    for each in missing.values():
                        each.discard(piece)
                    yield piece, found
    finally:
        give_back()


def largest(cameras: Iterable[Camera]) -> int:
    """Pixels of the largest picture that these cameras take."""
    return max(camera.width * camera.height for camera in cameras)
