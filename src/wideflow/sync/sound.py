"""When by ear: the delay between two sound tracks, to a fraction of a sample, and the drift of their clocks.

First the onsets of several frequency bands are correlated over the whole length: this finds the offset to a
hundredth of a second whatever the microphones. Then short windows are compared sample by sample with the
phase transform (Knapp and Carter 1976, GCC-PHAT); a line through their delays gives offset and drift. Groups
of bands that share no frequency must give the same delay: two claps of different moments fall on each other
as well as one clap heard twice does, but not at one sample in every band.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from wideflow.sync.fit import robust_line
from wideflow.sync.lags import overlap_correlation, parabola_peak, peaks

Samples = NDArray[np.float32]
RATE = 8000  # samples per second: more than enough for a tenth of a millisecond
_HOP = 80  # samples from one onset value to the next: 10 ms
_FRAME = 256  # samples under one spectrum
_BANDS = 12
_CANDIDATES = 8
_SLACK = 0.06  # seconds around a candidate in which the exact delay is looked for
_WINDOW = 8.0  # seconds of sound compared at once
_MOST_WINDOWS = 48
_FLOOR = 1e-5  # amplitude below which a track is silence
_QUIET_HZ = 120.0  # below: wind and handling
_LONG = 120.0  # seconds of common sound from which a drift of the clocks can be seen
_FAINT = 9.0  # height of a peak that is as likely chance as not
_CLEAR = 7.0  # height from which a window has a delay of its own
_AGREED = (0.0, 0.05, 0.3, 1.0)  # factor of the confidence if that many groups agree
_AS_GOOD = 0.85  # of the highest peak: as likely as that
_FASTEST_DRIFT = 2e-4  # clocks of phones differ by less
_GROUPS = 3  # of bands that are compared on their own
_GROUP_BANDS = 9  # dealt out to the groups in turn
_SAME = 4  # samples within which the delays of the groups agree: half a millisecond
_LOUDEST = 3.0  # times the median of the spectrum: a hum that both tracks have counts no more than that


@dataclass(frozen=True)
class SoundMatch:
    """B's first sample was heard at ``offset`` seconds of A; ``rate`` seconds of A pass in one of B.

    ``doubts`` names what speaks against it.
    """

    offset: float
    rate: float
    confidence: float
    doubts: tuple[str, ...] = ()


def match_sound(a: Samples, b: Samples) -> SoundMatch | None:
    """Find two mono tracks of `RATE` samples per second in each other; None where there is nothing to hear.

    Parameters
    ----------
    a, b : (n,), (m,) float32
        Samples in -1..1.
    """
    if min(len(a), len(b)) < 2 * _FRAME or min(float(np.std(a)), float(np.std(b))) < _FLOOR:
        return None
    features = _onsets(a), _onsets(b)
    hops = min(len(features[0]), len(features[1]))
    least = max(8, min(hops // 4, 300))
    lags, score = overlap_correlation(features[0], features[1], least)
    found = []
    for lag in peaks(score, _CANDIDATES, apart=round(2 * _SLACK * RATE / _HOP)):
        fine = _fine(a, b, int(lags[lag]) * _HOP)
        if fine is not None:
            found.append(fine)
    if not found:
        return None
    highest = max(fine.height for fine in found)
    # sound that repeats fits at several places: the one nearest to a common start is the likeliest
    equal = [fine for fine in found if fine.height > _AS_GOOD * highest]
    best = min(equal, key=lambda fine: abs(fine.offset))
    offset = best.offset
    rate = 1.0
    if len(best.times) >= 6 and float(np.ptp(best.times)) >= _LONG:
        slope, at_zero = robust_line(best.times, best.delays, tolerance=0.002)
        if abs(slope) <= _FASTEST_DRIFT:
            offset, rate = at_zero, 1.0 + slope
    doubts = {"bands": best.agreeing < _GROUPS, "repeats": len(equal) > 1, "faint": best.height < _FAINT}
    reasons = tuple(name for name, doubted in doubts.items() if doubted)
    return SoundMatch(offset, rate, _confidence(best) / len(equal), reasons)


def _confidence(fine: _Fine) -> float:
    """From the height of the peak, where tracks that do not belong together stay below 7, and the groups."""
    high = 1 / (1 + np.exp(-(fine.height - _FAINT) / 1.2))
    return float(high * _AGREED[fine.agreeing])


def _onsets(samples: Samples) -> NDArray[np.float32]:
    """Rise of loudness (T, bands), every `_HOP` samples, each band with mean 0 and variance 1."""
    edges = np.geomspace(_QUIET_HZ, RATE / 2, _BANDS + 1) / RATE * _FRAME
    bins = np.arange(_FRAME // 2 + 1)
    bank = np.stack([(bins >= low) & (bins < max(high, low + 1)) for low, high in pairwise(edges)])
    window = np.hanning(_FRAME).astype(np.float32)
    count = (len(samples) - _FRAME) // _HOP + 1
    loud = np.empty((count, _BANDS), np.float32)
    for begin in range(0, count, 4096):  # pieces, so that memory does not grow with the spectra
        end = min(count, begin + 4096)
        piece = samples[begin * _HOP : (end - 1) * _HOP + _FRAME]
        frames = np.lib.stride_tricks.sliding_window_view(piece, _FRAME)[::_HOP] * window
        loud[begin:end] = (np.abs(fft.rfft(frames, axis=1)) ** 2) @ bank.T.astype(np.float32)
    loud = np.log(loud + 1e-3 * loud.mean(axis=0) + np.float32(1e-10))
    rise = np.maximum(np.diff(loud, axis=0, prepend=loud[:1]), 0)
    rise -= rise.mean(axis=0)
    return rise / np.maximum(rise.std(axis=0), 1e-6)


@dataclass(frozen=True)
class _Fine:
    """Exact delay near a candidate."""

    offset: float  # seconds
    height: float  # of the peak, in standard deviations of its surroundings
    agreeing: int  # groups of bands that have their own highest peak at the same place
    times: NDArray[np.float64]  # middle of each window that has a clear delay of its own, seconds of B
    delays: NDArray[np.float64]  # and that delay, seconds


def _fine(a: Samples, b: Samples, lag: int) -> _Fine | None:
    """Compare windows all along the common sound, near a delay of ``lag`` samples."""
    slack = round(_SLACK * RATE)
    first, last = max(0, -lag), min(len(b), len(a) - lag)  # samples of B that A has heard too
    length = min(round(_WINDOW * RATE), last - first)
    if length < 2 * slack:
        return None
    count = min(_MOST_WINDOWS, 1 + 2 * ((last - first) // length))
    starts = np.unique(np.linspace(first, last - length, count).astype(int))
    rows = [_phat(a, b, start, lag, length, slack) for start in starts]
    place, height = _sharp_peak(np.sum([row[0] for row in rows], axis=0))
    groups = [_sharp_peak(np.sum([row[k] for row in rows], axis=0))[0] for k in range(1, _GROUPS + 1)]
    agreeing = sum(abs(group - place) <= _SAME for group in groups)
    own = np.array([_sharp_peak(row[0]) for row in rows])
    clear = own[:, 1] > _CLEAR
    times, delays = (starts[clear] + length / 2) / RATE, (lag + own[clear, 0] - slack) / RATE
    return _Fine((lag + place - slack) / RATE, height, agreeing, times, delays)


def _phat(a: Samples, b: Samples, start: int, lag: int, length: int, slack: int) -> NDArray[np.float64]:
    """Correlation of whitened windows at lags -slack .. slack about ``lag``, each row with a spread of 1.

    The first row is that of all frequencies, the others are those of the groups of bands.
    """
    size = fft.next_fast_len(2 * length, real=True)
    spectra = []
    for samples, begin in ((a, start + lag), (b, start)):
        inside = slice(max(begin, 0), max(begin + length, 0))
        window = np.zeros(length, np.float32)
        piece = samples[inside]
        window[inside.start - begin : inside.start - begin + len(piece)] = piece
        spectra.append(fft.rfft(window * _bell(length), size))
    cross = spectra[0] * np.conj(spectra[1])
    cross[: int(_QUIET_HZ / RATE * size)] = 0
    # between plain correlation and pure phase: loud frequencies count more, as noise fills the others
    strength = np.abs(cross)
    loudness = strength**0.3
    heard = loudness[loudness > 0]
    limit = _LOUDEST * float(np.median(heard)) if heard.size else 0.0
    whitened = cross / np.maximum(strength, 1e-20) * np.minimum(loudness, limit)
    rows = np.concatenate([whitened[None], whitened * _combs(len(whitened), size)])
    near = np.roll(fft.irfft(rows, size, axis=1), slack, axis=1)[:, : 2 * slack + 1]
    return near / np.maximum([[_spread(row)] for row in near], 1e-20)


@lru_cache(maxsize=2)
def _combs(bins: int, size: int) -> NDArray[np.bool_]:
    """Which frequencies belong to each group of bands, (groups, bins)."""
    edges = np.geomspace(_QUIET_HZ, RATE / 2, _GROUP_BANDS + 1)[1:-1]
    band = np.searchsorted(edges, np.arange(bins) * RATE / size)
    return np.arange(_GROUPS)[:, None] == band % _GROUPS


@lru_cache(maxsize=2)
def _bell(length: int) -> Samples:
    return np.hanning(length).astype(np.float32)


def _spread(row: NDArray[np.float64]) -> float:
    """Standard deviation of the bulk of the values, untouched by a peak."""
    return float(np.median(np.abs(row))) / 0.6745


def _sharp_peak(row: NDArray[np.float64]) -> tuple[float, float]:
    """Place of the highest value, between samples by a parabola, and its height over the spread."""
    i = int(np.argmax(row))
    height = float(row[i]) / max(_spread(row), 1e-20)
    return parabola_peak(row, i), height
