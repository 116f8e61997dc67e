"""The whole job of tracking: both directions through a result, then what all moments say together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent
from wideflow.storage.result import Result
from wideflow.storage.tracks import Tracks, require_room
from wideflow.tracks.moments import flow_to, lens, read_moment
from wideflow.tracks.queries import checked_queries, grid_queries
from wideflow.tracks.settle import settle
from wideflow.tracks.state import Trails, empty_trails, new_state
from wideflow.tracks.walk import begin, step


def track(
    result: Result | AnyPath,
    points: ArrayLike | None = None,
    *,
    grid: int | None = None,
    moment: int | None = None,
    store: bool = True,
    progress: Progress | None = None,
) -> Tracks:
    """Follow pixels of A through a whole result, in 3D.

    Parameters
    ----------
    result : Result or path
        What `wideflow run` has written; all its moments must be there.
    points : (N, 3) array_like, optional
        x, y and the moment of each point.
    grid : int, optional
        In place of points: every so many pixels in x and y.
    moment : int, optional
        Of the grid; the one in the middle unless given.
    store : bool
        Keep them with the result, in place of those that it has: `Result.tracks`, the report and exports then
        have them. A result behind ``view="b"`` cannot.
    progress : callable, optional
        Called with steps done, steps in all and what comes next.

    Returns
    -------
    Tracks

    Raises
    ------
    InputError
        A point is outside the pictures, or the result has a single moment.
    FileError
        There is no result, a moment is missing or damaged, or another run works on it.
    """
    opened = result if isinstance(result, Result) else Result(result)
    report = progress or silent
    if (points is None) == (grid is None):
        raise InputError("tracking takes points or a grid; give one of them")
    if store and opened.view != "a":
        raise InputError("tracks of B's pictures are not kept with a result; take them as they are returned")
    count = len(opened)
    if grid is not None:
        middle = count // 2 if moment is None else moment
        points = grid_queries(opened.size_a, grid, middle)
    queries = checked_queries([] if points is None else points, opened.size_a, count)
    require_room(count, len(queries))
    tracks = follow(opened, queries, report)
    if store:
        opened.keep_tracks(tracks)
    report(1, 1, "done")
    return tracks


def follow(result: Result, queries: NDArray[np.float64], progress: Progress = silent) -> Tracks:
    """Tracks of pixels (N, 3) of which each is known to be in a picture."""
    moments, count = len(result), len(queries)
    starts = queries[:, 2].astype(np.intp)
    trails = empty_trails(moments, count)
    first, last = int(starts.min()), int(starts.max())
    total = (moments - first) + (last + 1)
    _walk(result, queries, starts, trails, range(first, moments), progress, (0, total))
    _walk(result, queries, starts, trails, range(last, -1, -1), progress, (moments - first, total))
    lenses = [lens(result.frame(t).views[0]) for t in range(moments)]
    forth, back = (np.stack(each) for each in zip(*lenses, strict=True))
    xyz, confidence, still = settle(trails, starts, forth, back)
    return Tracks(queries.astype(np.float32), xyz, trails.seen, confidence, ~still)


def _walk(
    result: Result,
    queries: NDArray[np.float64],
    starts: NDArray[np.intp],
    trails: Trails,
    way: range,
    progress: Progress,
    count: tuple[int, int],
) -> None:
    """One direction; points join at their moments."""
    state = new_state(queries[:, :2])
    before = None
    for done, t in enumerate(way):
        progress(count[0] + done, count[1], f"points at moment {t}")
        moment = read_moment(result, t)
        if before is not None:
            flow = flow_to(result, before, t - way.step, moment, t)
            step(state, trails, moment, before.depth, flow, t)
        own = np.flatnonzero(starts == t)
        if len(own):
            motion = np.full((*moment.depth.shape, 3), np.nan, np.float32)
            if len(result) > 1:
                motion = way.step * result.motion(min(t, len(result) - 2))
            begin(own, state, trails, moment, motion, t)
        before = moment
