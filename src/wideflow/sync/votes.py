"""From many votes for an offset, most of them wrong, to the one that the true ones share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.sync.lags import parabola_peak

_STEP = 0.002  # seconds from one examined offset to the next
_BLUR = 0.008  # seconds within which votes agree
_PIXEL = 0.5  # px to which a tracked point is known
_NEAR = 0.05  # seconds about the winner that belong to its own peak
_SHY = 3.0  # votes that a pair of frames must have to be heard
_FEWEST_VOTES, _FEWEST_VOICES = 6, 3
_APART = 0.03  # seconds of `Election.spread` beyond which the halves do not agree
_VOICES_AGREED, _VOICES = 5, 8  # pairs of frames that are enough where the halves agree, and where not


@dataclass(frozen=True, eq=False)
class Votes:
    """What one pair of frames says.

    Attributes
    ----------
    offset : (M,) float64
        Offset in seconds that each moving point asks for.
    speed : (M,) float64
        How fast it crosses its epipolar line, in pixels per second: the faster, the surer.
    low, high : float
        Offsets between which this pair could have voted.
    """

    offset: NDArray[np.float64]
    speed: NDArray[np.float64]
    low: float
    high: float


@dataclass(frozen=True)
class Election:
    """The offset with most support.

    ``lead`` is the factor by which it is ahead of every other, 1 a draw; ``voices`` how many pairs of frames
    stand behind it. Neither is enough alone: where hardly any pair votes, chance leads easily. ``spread`` is
    half of what the answers of every other pair and of the rest differ, in seconds; infinite where one of
    the halves has none.
    """

    offset: float
    lead: float
    voices: int
    spread: float = math.inf

    @property
    def confidence(self) -> float:
        """0..1; set on rendered clips, with parts that share no moment as the counter-example.

        More pairs of frames are asked for where their halves do not find the same.
        """
        clear = 1 / (1 + np.exp(-(min(self.lead, 10.0) - 1.5) / 0.12))
        enough = _VOICES_AGREED if self.spread <= _APART else _VOICES
        return float(clear * (1 - np.exp(-((self.voices / enough) ** 2))))

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the answer, of "no lead" and "few votes"."""
        found = {"few votes": self.voices < (6 if self.spread <= _APART else 9), "no lead": self.lead < 1.7}
        return tuple(name for name, doubted in found.items() if doubted)


def count_votes(pairs: list[Votes], low: float, high: float) -> Election | None:
    """The offset between ``low`` and ``high`` that most pairs of frames share; None if hardly any votes."""
    found = _count(pairs, low, high)
    halves = [half for half in (_count(pairs[k::2], low, high) for k in range(2)) if half is not None]
    if found is None or len(halves) < 2:
        return found
    return replace(found, spread=0.5 * abs(halves[0].offset - halves[1].offset))


def _count(pairs: list[Votes], low: float, high: float) -> Election | None:
    offsets = np.arange(low, high + _STEP / 2, _STEP)
    total, able = np.zeros(len(offsets)), np.zeros(len(offsets))
    for pair in pairs:
        able += (offsets >= pair.low) & (offsets <= pair.high)
        sigma = np.hypot(_BLUR, _PIXEL / pair.speed)
        bells = np.exp(-0.5 * ((offsets[:, None] - pair.offset) / sigma) ** 2) * (_BLUR / sigma)
        # its share of the votes: a pair with a wrong geometry has many votes and all at one place
        total += bells.sum(axis=1) / (_SHY + len(pair.offset))
    score = total / np.sqrt(able + 2)
    if not score.any():
        return None
    best = int(np.argmax(score))
    offset = float(offsets[0] + parabola_peak(score, best) * _STEP)
    near = [int(np.count_nonzero(np.abs(pair.offset - offset) < 2 * _BLUR)) for pair in pairs]
    voices = int(np.count_nonzero(near))
    if sum(near) < _FEWEST_VOTES or voices < _FEWEST_VOICES:
        return None
    others = score[np.abs(offsets - offsets[best]) > _NEAR]
    rival = float(others.max()) if others.size else 0.0
    return Election(offset, float(score[best]) / max(rival, 0.1 * float(score[best])), voices)
