"""``wideflow depth``: dense depth of photographs with a COLMAP model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import Quiet, Threads
from wideflow.progress import show_progress

EXAMPLE = "wideflow depth project/sparse/0 project/images -o dense"


def run(
    model: Annotated[Path, Argument(metavar="MODEL", help="Directory of a COLMAP model, text or binary.")],
    images: Annotated[Path, Argument(metavar="IMAGES", help="Folder of the model's pictures.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to.")],
    size: Annotated[int, Option(help="Longest side of the pictures, px; they are never enlarged.")] = 960,
    views: Annotated[int, Option(help="Other pictures that each is compared with, at most.")] = 8,
    agree: Annotated[int, Option(help="Others whose depth must agree within 1 % for it to be kept.")] = 2,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Find dense depth of every picture of a COLMAP model, and one cloud of all.

    The scene must stand still. Depth is that of the undistorted pictures, which
    are written beside it with their cameras. Started again after a kill, it
    goes on; pictures whose inputs are the same are not computed again.
    """
    import cv2

    from wideflow.photos import DepthSettings, dense_depth
    from wideflow.threads import thread_count, use_threads

    settings = DepthSettings(size, views, agree)
    most = thread_count()
    if threads is not None:
        most = min(threads, most)
        cv2.setNumThreads(threads)
    with use_threads(most), show_progress(quiet) as progress:
        progress(0, 1, "reading the model (the first run compiles for half a minute)")
        found = dense_depth(model, images, out, settings, progress)
    if not quiet:
        share, points, count = found["kept"], found["points"], len(found["pictures"])  # type: ignore[arg-type]
        print(f"{out}: {count} pictures, {share:.0%} of their depth kept, {points} points in fused.ply")
