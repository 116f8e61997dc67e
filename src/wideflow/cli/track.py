"""``wideflow track``: pixels followed through a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import Quiet
from wideflow.errors import InputError
from wideflow.progress import show_progress

EXAMPLE = "wideflow track result --grid 8"


def run(
    result: Annotated[str, Argument(metavar="OUT", help="Folder or URL that 'wideflow run' has written.")],
    grid: Annotated[
        int | None, Option(metavar="N", help="Follow every N-th pixel of a moment in x and y.", min=1)
    ] = None,
    moment: Annotated[
        int | None, Option(metavar="T", help="Moment of the grid.", show_default="the middle one", min=0)
    ] = None,
    points: Annotated[
        Path | None, Option(metavar="FILE", help="Follow the points of a text file, a line x,y,t each.")
    ] = None,
    at: Annotated[
        list[str] | None,
        Option(metavar="X,Y,T", help="Follow the pixel x,y of A at moment t; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="FILE", help="Write a .npz or .csv instead of keeping them in OUT."),
    ] = None,
    view: Annotated[
        str, Option(metavar="a|b", help="Whose pictures: those of B need a run with --view both, and -o.")
    ] = "a",
    report: Annotated[bool, Option(help="Draw them into OUT/report.html, if there is one.")] = True,
    quiet: Quiet = False,
) -> None:
    """Follow pixels of A through all moments, forwards and backwards, in 3D.

    A point that something hides is followed by its motion and found again.
    The tracks are kept in OUT: 'view' and the report draw them, 'export --to
    tracks' and '--to usd' write them. With -o, OUT is left as it is.
    """
    if sum(given is not None for given in (grid, points, at)) != 1:
        raise InputError("give one of --grid, --points and --at: which pixels are to be followed")
    if moment is not None and grid is None:
        raise InputError("--moment is that of a grid; the points of --points and --at have their own")
    if view == "b" and out is None:
        raise InputError("tracks of B's pictures are not kept with a result; give -o FILE")
    from wideflow.export.formats.tracks import check_target, write_track_file
    from wideflow.storage.result import Result
    from wideflow.tracks import track
    from wideflow.tracks.queries import parse_query, read_queries

    if out is not None:
        check_target(out)
    opened = Result(result, view)
    named = None if at is None else [parse_query(text) for text in at]
    chosen = named if points is None else read_queries(points)
    with show_progress(quiet) as progress:
        progress(0, 1, "reading the first moment (the first run compiles for half a minute)")
        found = track(opened, chosen, grid=grid, moment=moment, store=out is None, progress=progress)
        if out is not None:
            write_track_file(out, opened, found)
        elif report and opened.place.exists("report.html"):
            from wideflow.report import write_report

            write_report(opened, progress)
    if not quiet:
        share = found.visible.mean(axis=1)
        print(
            f"{out or result}: {len(found)} tracks over {len(opened)} moments, {found.moving.sum()} of them "
            f"move; {100 * share.min():.0f} to {100 * share.max():.0f} % are seen at a moment"
        )
