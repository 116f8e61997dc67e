"""Scores over lags: correlation, peaks, and what stands out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import fft


def overlap_correlation(
    a: NDArray[np.float32], b: NDArray[np.float32], least: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How significantly two series with the same channels agree at each lag.

    Parameters
    ----------
    a, b : (n, C), (m, C) float32
        Series on one time grid, each channel with mean 0.
    least : int
        Values that must overlap.

    Returns
    -------
    lags : (L,) int64
        Steps by which b starts later than a: a[i + lag] goes with b[i].
    score : (L,) float64
        Correlation coefficient over the overlap times the root of its length: a coefficient of 0.5 over
        400 values says more than 0.7 over 10.
    """
    n, m = len(a), len(b)
    size = fft.next_fast_len(n + m, real=True)

    def correlate(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        return fft.irfft(fft.rfft(x, size) * np.conj(fft.rfft(y, size)), size)

    product = np.zeros(size)
    for channel in range(a.shape[1]):
        product += correlate(a[:, channel].astype(float), b[:, channel].astype(float))
    energy_a = correlate((a.astype(float) ** 2).sum(axis=1), np.ones(m))
    energy_b = correlate(np.ones(n), (b.astype(float) ** 2).sum(axis=1))
    lags = np.arange(-(m - least), n - least + 1)
    overlap = np.minimum(n, lags + m) - np.maximum(0, lags)
    energy = np.sqrt(np.maximum(energy_a[lags], 1e-9) * np.maximum(energy_b[lags], 1e-9))
    return lags, product[lags] / energy * np.sqrt(overlap)


def peaks(score: NDArray[np.float64], count: int, apart: int) -> list[int]:
    """Indices of the highest values, none nearer than ``apart`` to a higher one."""
    left = score.copy()
    found: list[int] = []
    while len(found) < count and np.isfinite(left).any():
        best = int(np.argmax(left))
        found.append(best)
        left[max(0, best - apart) : best + apart + 1] = -np.inf
    return found


def parabola_peak(score: NDArray[np.float64], best: int) -> float:
    """Place of the peak between samples, from the parabola through the highest value and its neighbours."""
    if not 0 < best < len(score) - 1:
        return float(best)
    left, middle, right = (float(value) for value in score[best - 1 : best + 2])
    bend = left - 2 * middle + right
    return best + (0.5 * (left - right) / bend if bend < 0 else 0.0)


def standardised(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance from the median in units of the spread of the bulk."""
    return (score - np.median(score)) / spread_about_median(score)


def spread_about_median(score: NDArray[np.float64]) -> float:
    """Standard deviation of the bulk of the values, untouched by a few peaks; never 0."""
    return max(1.4826 * float(np.median(np.abs(score - np.median(score)))), 1e-12)


def peak_width(score: NDArray[np.float64], best: int) -> int:
    """Steps about ``best`` that are higher than half of it, without a gap."""
    low = np.flatnonzero(score <= 0.5 * score[best])
    left, right = low[low < best], low[low > best]
    return int((right[0] if len(right) else len(score)) - (left[-1] if len(left) else -1) - 1)


def correlation_width(score: NDArray[np.float64]) -> int:
    """Steps over which neighbouring scores say about the same: until their correlation is below a half."""
    centred = score - score.mean()
    size = fft.next_fast_len(2 * len(score), real=True)
    correlation = fft.irfft(np.abs(fft.rfft(centred, size)) ** 2, size)[: len(score)]
    below = np.flatnonzero(correlation < 0.5 * correlation[0])
    return int(below[0]) if len(below) else len(score)
