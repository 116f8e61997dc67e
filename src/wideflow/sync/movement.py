"""When by movement: both clips show the same things moving at the same moments, wherever the cameras stand.

At the true offset many cells of one clip agree with cells of the other. So they may by chance, at one of
hundreds of offsets. What tells them apart: how far an offset is ahead of all others, and of all offsets
against the other clip played backwards, which moves as much but shares no moment; whether each kind of
movement finds it by itself, and each half of the common time; and how narrow its peak is. One slow gesture
fits another one well, at an offset that is broad.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.sync.coincidence import against_null, agreement, busiest, detail
from wideflow.sync.lags import correlation_width, parabola_peak, peak_width, standardised
from wideflow.sync.motion import KINDS, MotionSeries

Curve = NDArray[np.float64]
Pair = tuple[NDArray[np.float32], NDArray[np.float32]]  # one kind of movement of the busiest cells of A and B
_NEAR = 8  # steps about the best lag that belong to its own peak
_SLOW = 2.0  # seconds: slower changes of a series are taken out
_PART = 0.8  # share of half the common time that must overlap when the half is looked for on its own
_SHORTEST_PART = 8  # steps
_MANY = 9.0  # independent offsets: being ahead of more of them is no better
_ALONE = -1.2  # lead of the last kind but one below which one kind speaks for all
_EXAMINED = 45, 2.5  # offsets, with those of the peak itself, and seconds that they span
_NARROWEST = 2  # steps: the series are smooth, so a narrower peak is none
_WIDEST = 12.5  # steps of a peak that can tell the frame


@dataclass(frozen=True, eq=False)
class MotionMatch:
    """Score of every offset, in spreads of the whole curve, and the best one.

    All leads are in spreads too: above 0 where the best offset is ahead of every other.

    Attributes
    ----------
    offsets, score : (L,) float64
    offset : float
        The best, in seconds, between two of ``offsets``.
    lead : float
        Over all other offsets, and over all offsets against the clip played backwards.
    kinds : float
        The same of each kind of movement by itself: the last but one of four.
    parts : float
        Of either half of the common time by itself, over other offsets: mean of the lower two of four.
    rivals : float
        Other offsets that were examined and are independent: as many as their peaks are narrow.
    width : int
        Of the peak of the best offset at half its height, in steps.
    """

    offsets: Curve
    score: Curve
    offset: float
    lead: float
    kinds: float
    parts: float
    rivals: float
    width: int

    @property
    def confidence(self) -> float:
        """Chance of being right to a frame, 0..1, on the careful side.

        A logistic regression on clips of one event, with clips of different events and of different moments
        as counter-examples, which count several times. However good the rest, it is not enough that one kind
        of movement finds the offset (a lamp may flicker twice), nor that few offsets were examined: in a
        second or two hardly anything happens twice.
        """
        if self.width < _NARROWEST:
            return 0.0
        evidence = (
            2.0 * float(np.clip(self.lead, -2, 5))
            + 1.0 * float(np.clip(self.parts, -2, 3))
            + 2.0 * float(np.log(np.clip(self.rivals, 1, _MANY)))
        )
        several = 1 / (1 + np.exp((_ALONE - self.kinds) / 0.2))
        narrow = 1 / (1 + np.exp((self.width - _WIDEST) / 0.7))
        examined = 1 - np.exp(-(self._examined**4))
        return float(several * narrow * examined / (1 + np.exp(8.8 - evidence)))

    @property
    def _examined(self) -> float:
        """Offsets that were examined, as a multiple of what is enough."""
        return min(len(self.offsets) / _EXAMINED[0], float(np.ptp(self.offsets)) / _EXAMINED[1])

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the answer, of "no lead", "kinds", "parts", "few rivals", "broad"."""
        found = {
            "no lead": self.lead < 1.2,
            "kinds": self.kinds < 0,
            "parts": self.parts < 0,
            "few rivals": self.rivals < 7 or self._examined < 1,
            "broad": self.width >= _WIDEST,
        }
        return tuple(name for name, doubted in found.items() if doubted)


def match_motion(a: MotionSeries, b: MotionSeries) -> MotionMatch | None:
    """Compare the movement of two clips at all offsets; None where nothing moves or too little is common."""
    if min(len(a.times), len(b.times)) < 6:
        return None
    step = max(float(np.median(np.diff(series.times))) for series in (a, b))
    grids = _on_grid(a, step), _on_grid(b, step)
    n, m = len(grids[0]), len(grids[1])
    shorter = min(n, m)
    least = min(shorter, max(20, shorter // 3))
    lags = np.arange(-(m - least), n - least + 1)
    pairs = _pairs(grids, slow=min(_SLOW, shorter * step / 4) / step)
    if not pairs or len(lags) < 2 * _NEAR + 3:
        return None
    kinds = [against_null(agreement(x, y, least), agreement(x, y[::-1], least)) for x, y in pairs]
    score, null = against_null(*(np.sum([kind[k] for kind in kinds], axis=0) for k in range(2)))
    best = int(np.argmax(score))
    leads = sorted(_lead(curve, best, rival) for curve, rival in kinds)
    offsets = lags * step + a.times[0] - b.times[0]
    width = peak_width(score, best)
    others = np.count_nonzero(np.abs(np.arange(len(lags)) - best) > _NEAR)
    return MotionMatch(
        offsets,
        score,
        offset=float(offsets[0] + parabola_peak(score, best) * step),
        lead=_lead(score, best, null),
        # of fewer than three kinds the better one does not speak for the others
        kinds=leads[1] if len(leads) > 2 else min(leads[0], 0.0),
        parts=float(np.mean(sorted(_part_leads(pairs, int(lags[best])))[:2])),
        rivals=float(others / max(width, correlation_width(score), _NARROWEST)),
        width=width,
    )


def _pairs(grids: tuple[NDArray[np.float32], NDArray[np.float32]], slow: float) -> list[Pair]:
    """The kinds of movement that both clips show."""
    details = [detail(grid, slow) for grid in grids]
    pairs = []
    for kind in range(KINDS):
        x, y = (values[:, kind] for values in details)
        cells_x, cells_y = busiest(x), busiest(y)
        if min(len(cells_x), len(cells_y)):
            pairs.append((x[:, cells_x], y[:, cells_y]))
    return pairs


def _part_leads(pairs: list[Pair], lag: int) -> list[float]:
    """Leads of ``lag`` by either half of the common time: A's half looked for in B, and B's in A."""
    n, m = len(pairs[0][0]), len(pairs[0][1])
    first, last = max(0, lag), min(n, lag + m)
    middle = (first + last) // 2
    leads = []
    for start, stop in ((first, middle), (middle, last)):
        length = stop - start
        least = max(_SHORTEST_PART, int(_PART * length))
        if length < least:
            return [0.0, 0.0]
        in_b = [agreement(x[start:stop], y, least) for x, y in pairs]
        in_a = [agreement(x, y[start - lag : stop - lag], least) for x, y in pairs]
        leads.append(_joint_lead(in_b, lag - start + m - least))
        leads.append(_joint_lead(in_a, start + length - least))
    return leads


def _joint_lead(curves: list[Curve], best: int) -> float:
    return _lead(standardised(np.sum([standardised(curve) for curve in curves], axis=0)), best)


def _lead(score: Curve, best: int, null: Curve | None = None) -> float:
    """Of the best step or its neighbours over all others, and over a null."""
    top = float(score[max(0, best - 1) : best + 2].max())
    away = score[np.abs(np.arange(len(score)) - best) > _NEAR]
    rivals = away if null is None else np.concatenate([away, null])
    return top - float(rivals.max()) if rivals.size else 0.0


def _on_grid(series: MotionSeries, step: float) -> NDArray[np.float32]:
    """Values (n, 4, cells) at equal time steps from the first one on."""
    times = np.arange(series.times[0], series.times[-1] + 1e-9, step)
    left = np.clip(np.searchsorted(series.times, times, side="right") - 1, 0, len(series.times) - 2)
    gap = series.times[left + 1] - series.times[left]
    share = np.clip((times - series.times[left]) / gap, 0, 1).astype(np.float32)[:, None, None]
    return (1 - share) * series.values[left] + share * series.values[left + 1]
