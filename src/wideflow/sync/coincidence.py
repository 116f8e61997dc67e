"""How well two clips' movement agrees at every lag.

A thing that moves is seen by some cell of either clip, so at the true lag many cells find a partner whose
series agrees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.ndimage import gaussian_filter1d

from wideflow.sync.lags import spread_about_median

Series = NDArray[np.float32]
Curve = NDArray[np.float64]
_BUSIEST = 60  # cells of a clip that are compared
_CORRELATED = 3.0  # neighbouring values that say about the same
_COMPRESSED = 0.3  # power: large motion must not outshout all else
_SMOOTH = 0.7  # steps


def detail(values: NDArray[np.float32], slow: float) -> NDArray[np.float32]:
    """What moves beyond the rest of the picture, compressed, without changes slower than ``slow`` steps.

    Parameters
    ----------
    values : (n, kinds, cells) float32
        Movement, 0 or more. What most cells have in common is the camera's, or a failure to see the camera's.
    slow : float
        Steps.
    """
    own = np.maximum(values - np.median(values, axis=2, keepdims=True), 0) ** np.float32(_COMPRESSED)
    smooth = gaussian_filter1d(own, _SMOOTH, axis=0)
    return np.asarray(smooth - gaussian_filter1d(smooth, slow, axis=0), np.float32)


def busiest(values: Series) -> NDArray[np.int64]:
    """Indices of the cells, of a series (n, cells), in which most happens."""
    spread = values.std(axis=0)
    order = np.argsort(-spread, kind="stable")[:_BUSIEST]
    return order[spread[order] > max(0.05 * float(spread.max()), 1e-4)]


def agreement(a: Series, b: Series, least: int) -> Curve:
    """How well each cell's best partner agrees with it, for every lag with ``least`` common values.

    Parameters
    ----------
    a, b : (n, cells), (m, cells) float32
        Series on one time grid.
    least : int
        Values that must overlap; the lags are -(m - least) .. n - least, a[i + lag] goes with b[i].
    """
    n, m = len(a), len(b)
    lags = np.arange(-(m - least), n - least + 1)
    begin, end = np.maximum(0, lags), np.minimum(n, lags + m)
    count = (end - begin).astype(np.float64)
    size = fft.next_fast_len(n + m, real=True)
    sum_a, spread_a = _moments(a, begin, end)
    sum_b, spread_b = _moments(b, begin - lags, end - lags)
    spectrum_a, spectrum_b = (fft.rfft(one.T.astype(np.float64), size, axis=1) for one in (a, b))
    best_a, best_b = np.empty((a.shape[1], len(lags))), np.full((b.shape[1], len(lags)), -1.0)
    for cell in range(a.shape[1]):
        product = fft.irfft(spectrum_a[cell] * np.conj(spectrum_b), size, axis=1)[:, lags]
        shared = product - sum_a[cell] * sum_b / count
        coefficient = shared / np.maximum(spread_a[cell] * spread_b, 1e-9)
        best_a[cell] = coefficient.max(axis=0)
        np.maximum(best_b, coefficient, out=best_b)
    # Fisher's transform: a coefficient over many values counts more than the same over few
    weight = np.sqrt(np.maximum(count / _CORRELATED - 2, 1.0))
    found = sum(np.arctanh(np.clip(best, -0.95, 0.95)).mean(axis=0) for best in (best_a, best_b))
    return np.asarray(found * weight)


def _moments(
    values: Series, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and root of the sum of squares about the mean of each column over ranges, (columns, ranges)."""
    total, square = (
        np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(power, axis=0, dtype=np.float64)])
        for power in (values, values.astype(np.float64) ** 2)
    )
    sums, squares = (total[end] - total[begin]).T, (square[end] - square[begin]).T
    return sums, np.sqrt(np.maximum(squares - sums**2 / (end - begin), 1e-9))


def against_null(curve: Curve, null: Curve) -> tuple[Curve, Curve]:
    """Both in spreads about the median of the two together."""
    together = np.concatenate([curve, null])
    middle, spread = float(np.median(together)), spread_about_median(together)
    return (curve - middle) / spread, (null - middle) / spread
