"""What stands still, of many moments, as one cloud: points that fall into one cell become their mean.

Where something moves at other moments is left out: what stands still for a moment only is no background. A
cell is about as wide as the pixels that see it, so what was filmed from near stays finer than what is far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.export.moments import Cloud, cloud
from wideflow.export.moving import moving_mask
from wideflow.export.options import ExportOptions
from wideflow.files import PointCloud
from wideflow.progress import Progress
from wideflow.storage.result import TRUSTED, Result

MOST_CELLS = 2_000_000  # beyond, all become twice as wide: below 0.8 GB, however long the video is
_SHARE = 0.2  # of the points in a cell and around it that may move
_AROUND = 2  # times that a cell is doubled to see what is around it
_PIXELS = 1.5  # width of a cell in pixels, on average
_BITS = 18  # of each coordinate in a cell's number: 19 with its sign
_LOWEST, _HIGHEST = -31, 32  # widths of cells are these powers of two


def fused_background(
    result: Result,
    moments: Sequence[int],
    options: ExportOptions,
    progress: Progress,
    most: int = MOST_CELLS,
) -> PointCloud:
    """Points of these moments that stand still, with the mean colour of each cell.

    Parameters
    ----------
    result : Result
        It must tell what moves.
    moments : sequence of int
        Which of its moments.
    options : ExportOptions
        Its confidence is used; 0 stands for 0.5, as a single wrong point stays in the cloud for good.
    progress : callable
        Called with the moments done, all moments, and what comes next.
    most : int
        Cells that are held at most.

    Returns
    -------
    PointCloud
        xyz and rgb; without points if none stands still.
    """
    require_moving(result)
    sure = background_options(options)
    cells = Cells(result.frame(moments[0]).views[0].centre, most)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"background of moment {t}")
        points, still = split_cloud(result, t, sure)
        width = _PIXELS * points.depth.astype(np.float64) / result.rig.cameras[0].K[0, 0]
        cells.add(points.xyz.astype(np.float64), points.rgb, width, still)
    return cells.cloud()


def require_moving(result: Result) -> None:
    """Refuse a result of a version that did not tell what moves."""
    if not result.has("moving"):
        raise InputError(f"'{result.place}' does not tell what moves; start the run again, which adds it")


def background_options(options: ExportOptions) -> ExportOptions:
    """The options with a confidence that suffices for points that are kept for all moments."""
    if options.confidence:
        return options
    return ExportOptions(options.start, options.stop, options.stride, TRUSTED)


def split_cloud(result: Result, t: int, options: ExportOptions) -> tuple[Cloud, NDArray[np.bool_]]:
    """The known points of a moment, and which of them, (N,), stand still."""
    points = cloud(result, t, options)
    x, y = points.pixels.T
    return points, ~moving_mask(result, t)[y, x]


class Cells:
    """Sums over the cells of a grid whose width is a power of two near that which each point asks for.

    Parameters
    ----------
    origin : (3,) float64
        World point from which cells are counted.
    most : int
        Cells that are held; if there are more, all become twice as wide, and again.
    """

    def __init__(self, origin: NDArray[np.float64], most: int) -> None:
        self._origin, self._most = origin, most
        self._coarser = 0
        self._numbers = np.empty(0, np.int64)
        self._sums = np.empty((8, 0))  # of points that stand still: x, y, z, red, green, blue, 1; moving: 1

    def add(
        self,
        xyz: NDArray[np.float64],
        rgb: NDArray[np.uint8],
        width: NDArray[np.float64],
        still: NDArray[np.bool_],
    ) -> None:
        """Add points with their colours, (N, 3) each, to cells of about these widths, (N,) world units.

        Of those that do not stand still, (N,), only the number counts.
        """
        local = xyz - self._origin
        power = np.rint(np.log2(width)) + self._coarser
        # where coordinates would not fit, far from the origin, cells are as wide as it takes
        reach = np.abs(local).max(axis=1, initial=0)
        power = np.maximum(power, np.ceil(np.log2(np.maximum(reach, 1e-300))) - _BITS + 1)
        power = np.clip(power, _LOWEST, _HIGHEST)
        index = np.floor(local / np.exp2(power)[:, None]).astype(np.int64)
        numbers = (power - _LOWEST).astype(np.int64)
        for axis in range(3):
            numbers = (numbers << (_BITS + 1)) | (index[:, axis] + 2**_BITS)
        sums = np.concatenate([local.T, rgb.T, [still, ~still]])
        sums[:6] *= still
        self._merge(numbers, sums)
        while len(self._numbers) > self._most:
            self._coarser += 1
            self._merge(_parents(self._numbers), self._sums, anew=True)

    def _merge(self, numbers: NDArray[np.int64], sums: NDArray[np.float64], anew: bool = False) -> None:
        if not anew:
            numbers = np.concatenate([self._numbers, numbers])
            sums = np.concatenate([self._sums, sums], axis=1)
        self._numbers, cell = np.unique(numbers, return_inverse=True)
        count = len(self._numbers)
        self._sums = np.stack([np.bincount(cell.ravel(), row, count) for row in sums])

    def cloud(self) -> PointCloud:
        """The mean of each cell around which hardly anything moves."""
        around = self._numbers
        for _ in range(_AROUND):
            around = _parents(around)
        block = np.unique(around, return_inverse=True)[1].ravel()
        still, moving = self._sums[6:]
        still_nearby, moving_nearby = (np.bincount(block, count)[block] for count in (still, moving))
        keep = (still > 0) & (moving_nearby <= _SHARE * (still_nearby + moving_nearby))
        mean = self._sums[:6, keep] / still[keep]
        xyz = (mean[:3].T + self._origin).astype(np.float32)
        return PointCloud(xyz, np.rint(mean[3:].T).astype(np.uint8))


def _parents(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the cells of twice the width that these lie in."""
    mask, half = 2 ** (_BITS + 1) - 1, 2**_BITS
    parts = [((numbers >> (shift * (_BITS + 1))) & mask) - half for shift in (2, 1, 0)]
    found = np.minimum((numbers >> (3 * (_BITS + 1))) + 1, _HIGHEST - _LOWEST)
    for part in parts:
        found = (found << (_BITS + 1)) | ((part >> 1) + half)
    return found
