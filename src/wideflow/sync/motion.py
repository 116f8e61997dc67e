"""When by movement: both clips show the same things moving at the same moments, wherever the cameras stand.

A clip becomes a few series of numbers for each cell of a coarse grid: how much moves there, how much upwards,
how much downwards, and how much changes, all after the camera's own motion is taken out. A thing that moves
is seen by some cell of either clip, so at the true offset many cells find a partner whose series agrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.ndimage import gaussian_filter1d

from wideflow.sync.lags import parabola_peak, standardised
from wideflow.video.read import Video

Grey = NDArray[np.uint8]
_WIDTH = 240  # px of the longer side: enough to see what moves
_CELLS = 16  # along the longer side
_CHANNELS = 4
_NOISE_PX = 0.15  # flow below this is noise
_NOISE_GREY = 6.0  # of 255: differences below this are noise
_BUSIEST = 60  # cells of a clip that are compared
_CORRELATED = 3.0  # neighbouring values that say about the same
_NEAR = 8  # steps about the best lag that belong to its own peak


@dataclass(frozen=True, eq=False)
class MotionSeries:
    """Movement in every cell of a clip: ``values`` (T, 4, cells) at the ``times`` (T,) between two frames."""

    times: NDArray[np.float64]
    values: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class MotionMatch:
    """Score of every offset, in spreads of the whole curve, and the best one.

    ``margin`` is what the best offset is ahead of all others, in the same unit: below about 1.3 it is chance.
    ``agreeing`` is the share of the kinds of movement that by themselves have their best offset there, and
    ``rivals`` how many others were examined.
    """

    offsets: NDArray[np.float64]
    score: NDArray[np.float64]
    offset: float
    margin: float
    agreeing: float
    rivals: int

    @property
    def confidence(self) -> float:
        """0..1, by clips of one event, with clips of different events or moments as counter-examples.

        A margin alone can be chance: where two kinds of movement of four agree it was mostly wrong, and so
        it was ahead of some 20 rivals, the most that clips of 3 s at 10 frames a second have.
        """
        ahead = 1 / (1 + np.exp(-(self.margin - 1.3) / 0.25))
        agreed = 1 / (1 + np.exp(-(self.agreeing - 0.6) / 0.06))
        return float(ahead * agreed * (1 - np.exp(-((self.rivals / 30) ** 4))))


def motion_series(video: Video, start: int, stop: int, stride: int) -> MotionSeries:
    """Movement between the frames ``start``, ``start + stride`` ... before ``stop``."""
    times, values = [], []
    before: tuple[int, Grey] | None = None
    for index, picture in video.grey(_WIDTH, start, stop, stride):
        grey = cv2.GaussianBlur(picture, (0, 0), 1.0)
        if before is not None:
            times.append(0.5 * (video.times[before[0]] + video.times[index]))
            values.append(_movement(before[1], grey))
        before = index, grey
    if not values:
        return MotionSeries(np.zeros(0), np.zeros((0, _CHANNELS, 1), np.float32))
    return MotionSeries(np.array(times), np.array(values))


def joined(parts: list[MotionSeries]) -> MotionSeries:
    """One series of several that follow each other."""
    seen = [part for part in parts if len(part.times)] or parts[:1]
    if not seen:
        return MotionSeries(np.zeros(0), np.zeros((0, _CHANNELS, 1), np.float32))
    return MotionSeries(np.concatenate([p.times for p in seen]), np.concatenate([p.values for p in seen]))


def _movement(first: Grey, second: Grey) -> NDArray[np.float32]:
    """(4, cells): flow beyond the camera's, its upward and downward parts, and change of brightness."""
    height, width = first.shape
    camera = _camera_motion(first, second)
    flow = cv2.calcOpticalFlowFarneback(first, second, None, 0.5, 3, 11, 2, 5, 1.1, 0)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    own_x = flow[..., 0] - (camera[0, 0] * x + camera[0, 1] * y + camera[0, 2] - x)
    own_y = flow[..., 1] - (camera[1, 0] * x + camera[1, 1] * y + camera[1, 2] - y)
    back = cv2.warpAffine(
        second, camera, (width, height), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    change = np.abs(back.astype(np.float32) - first)
    channels = (
        np.hypot(own_x, own_y) - _NOISE_PX,
        -own_y - _NOISE_PX,
        own_y - _NOISE_PX,
        change - _NOISE_GREY,
    )
    scale = _CELLS / max(width, height)
    grid = max(1, round(width * scale)), max(1, round(height * scale))
    cells = [
        cv2.resize(np.maximum(channel, 0, dtype=np.float32), grid, interpolation=cv2.INTER_AREA).ravel()
        for channel in channels
    ]
    return np.stack(cells)


def _camera_motion(first: Grey, second: Grey) -> NDArray[np.float64]:
    """Affine motion (2, 3) of most of the picture."""
    still = np.eye(2, 3)
    corners = cv2.goodFeaturesToTrack(first, 200, 0.01, 6)
    if corners is None or len(corners) < 10:
        return still
    moved, status, _ = cv2.calcOpticalFlowPyrLK(first, second, corners, None, winSize=(11, 11), maxLevel=3)
    seen = status.ravel() > 0
    if np.count_nonzero(seen) < 10:
        return still
    affine, _ = cv2.estimateAffine2D(corners[seen], moved[seen], ransacReprojThreshold=0.5)
    return still if affine is None else affine


def match_motion(a: MotionSeries, b: MotionSeries) -> MotionMatch | None:
    """Compare the movement of two clips at all offsets; None where nothing moves or too little is common."""
    if min(len(a.times), len(b.times)) < 6:
        return None
    step = max(float(np.median(np.diff(series.times))) for series in (a, b))
    grids = [_on_grid(series, step) for series in (a, b)]
    shorter = min(len(grid) for grid in grids)
    least = min(shorter, max(20, shorter // 3))
    slow = min(1.0, shorter * step / 4) / step
    curves = []
    for channel in range(_CHANNELS):
        series = [_busiest(_detail(grid[:, channel], slow)) for grid in grids]
        if min(one.shape[1] for one in series):
            curves.append(standardised(_agreement(series[0], series[1], least)))
    lags = np.arange(-(len(grids[1]) - least), len(grids[0]) - least + 1)
    if not curves or len(lags) < 2 * _NEAR + 3:
        return None
    score = standardised(np.sum(curves, axis=0))
    offsets = lags * step + a.times[0] - b.times[0]
    best = int(np.argmax(score))
    away = np.abs(np.arange(len(score)) - best) > _NEAR
    return MotionMatch(
        offsets,
        score,
        offset=float(offsets[0] + parabola_peak(score, best) * step),
        margin=float(score[best] - score[away].max()),
        # one kind alone agrees with itself: at least three are asked
        agreeing=sum(abs(int(np.argmax(curve)) - best) <= 1 for curve in curves) / max(len(curves), 3),
        rivals=int(np.count_nonzero(away)),
    )


def _on_grid(series: MotionSeries, step: float) -> NDArray[np.float32]:
    """Values (n, 4, cells) at equal time steps from the first one on."""
    times = np.arange(series.times[0], series.times[-1] + 1e-9, step)
    left = np.clip(np.searchsorted(series.times, times, side="right") - 1, 0, len(series.times) - 2)
    gap = series.times[left + 1] - series.times[left]
    share = np.clip((times - series.times[left]) / gap, 0, 1).astype(np.float32)[:, None, None]
    return (1 - share) * series.values[left] + share * series.values[left + 1]


def _detail(values: NDArray[np.float32], slow: float) -> NDArray[np.float32]:
    """Compressed (large motion must not outshout all else), without slow changes of ``slow`` steps."""
    smooth = gaussian_filter1d(np.sqrt(values), 0.7, axis=0)
    return smooth - gaussian_filter1d(smooth, slow, axis=0)


def _busiest(values: NDArray[np.float32]) -> NDArray[np.float32]:
    spread = values.std(axis=0)
    order = np.argsort(-spread, kind="stable")[:_BUSIEST]
    return values[:, order[spread[order] > max(0.05 * spread.max(), 1e-4)]]


def _agreement(a: NDArray[np.float32], b: NDArray[np.float32], least: int) -> NDArray[np.float64]:
    """For every lag with ``least`` common values: how well each cell's best partner agrees with it."""
    n, m = len(a), len(b)
    lags = np.arange(-(m - least), n - least + 1)
    begin, end = np.maximum(0, lags), np.minimum(n, lags + m)
    count = (end - begin).astype(np.float64)
    size = fft.next_fast_len(n + m, real=True)
    sum_a, spread_a = _moments(a, begin, end)
    sum_b, spread_b = _moments(b, begin - lags, end - lags)
    spectrum_a, spectrum_b = (fft.rfft(one.T.astype(np.float64), size, axis=1) for one in (a, b))
    # Fisher's transform: a coefficient over many values counts more than the same over few
    weight = np.sqrt(np.maximum(count / _CORRELATED - 2, 1.0))
    best_a, best_b = np.zeros(len(lags)), np.full((b.shape[1], len(lags)), -np.inf)
    for cell in range(a.shape[1]):
        product = fft.irfft(spectrum_a[cell] * np.conj(spectrum_b), size, axis=1)[:, lags]
        shared = product - sum_a[cell] * sum_b / count
        coefficient = np.clip(shared / np.maximum(spread_a[cell] * spread_b, 1e-9), -0.95, 0.95)
        agreement = np.arctanh(coefficient) * weight
        best_a += agreement.max(axis=0)
        np.maximum(best_b, agreement, out=best_b)
    return best_a / a.shape[1] + best_b.mean(axis=0)


def _moments(
    values: NDArray[np.float32], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and root of the sum of squares about the mean of each column over ranges, (columns, ranges)."""
    total, square = (
        np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(power, axis=0, dtype=np.float64)])
        for power in (values, values.astype(np.float64) ** 2)
    )
    sums, squares = (total[end] - total[begin]).T, (square[end] - square[begin]).T
    return sums, np.sqrt(np.maximum(squares - sums**2 / (end - begin), 1e-9))
