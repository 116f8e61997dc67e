"""The shoots: what was filmed, what the command is told about it, and what may be hoped for.

Every row is a shoot twice, with other seeds and another angle: the tuned half may be looked at while the
method is worked on, the untouched half only judges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wideflow.synth import SynthConfig

MOMENTS = (14, 17, 20)  # frames of A that are computed and have ground truth
DEPTH_SIZE = 320  # longer side, px, of the pictures that depth is computed from; cameras see all pixels
UNTOUCHED = 500  # the first seed of the untouched half
WRONG_FOCAL = 1.25  # times the true focal length, where wrong lenses are given
WRONG_OFFSET = 0.3  # seconds added to the true offset, where a wrong one is given
_LARGE, _SMALL = (640, 360), (320, 180)  # of the clips below number _SMALL_FROM, and of the others
_SMALL_FROM = 18  # the good ones, of which much is asked, come first
_FIRST_SEEDS = (300, 901)  # unlike remainders by 3: the same row is another place


@dataclass(frozen=True)
class Shoot:
    """Two clips and what is said about them.

    Attributes
    ----------
    name : str
        Ends with the seed of the clips.
    kind : {"good", "hard", "hopeless"}
        Good: 8 to 30 degrees apart, at least a third of the picture static, right inputs, and a lens that is
        either given or shown by cameras that move. Hard: might be solved or refused. Hopeless: the inputs are
        wrong, or do not tell enough.
    clips : SynthConfig
        What was filmed; shoots with equal ones share their clips.
    lenses : {"unknown", "true", "wrong"}
        Whether intrinsics are given, and which.
    offset : {"unknown", "wrong"}
        Whether an offset in time is given.
    """

    name: str
    kind: str
    clips: SynthConfig
    lenses: str = "unknown"
    offset: str = "unknown"

    @property
    def half(self) -> str:
        return "untouched" if self.clips.seed >= UNTOUCHED else "tuned"

    @property
    def folder(self) -> str:
        """Name of the folder of its clips, equal for equal clips: no two clips have one seed."""
        return f"clips-{self.clips.seed}"


# name, kind, number of the clips (added to the first seed, it chooses place and arrangement),
# angles of both halves, options of the clips, what is given
_Row = tuple[str, str, int, tuple[float, float], dict[str, Any], dict[str, str]]
_TRUE = {"lenses": "true"}
_PORTRAIT = {"size_b": (360, 640)}
_ROWS: Sequence[_Row] = (
    ("plain", "good", 0, (8, 10), {}, {}),
    ("plain", "good", 1, (12, 9), {}, {}),
    ("plain", "good", 2, (15, 17), {}, {}),
    ("plain", "good", 3, (22, 25), {}, {}),
    ("plain", "good", 4, (30, 28), {}, {}),
    ("lenses", "good", 5, (26, 20), {}, _TRUE),
    ("movers10", "good", 6, (14, 18), {"movers": 0.1}, {}),
    ("movers30", "good", 7, (18, 11), {"movers": 0.3}, {}),
    ("movers50", "good", 8, (16, 20), {"movers": 0.5}, {}),
    ("movers60", "good", 9, (10, 15), {"movers": 0.6}, {}),
    ("movers60-lenses", "good", 9, (10, 15), {"movers": 0.6}, _TRUE),
    ("walk", "good", 10, (20, 16), {"path": "walk"}, {}),
    ("walk-movers40", "good", 11, (12, 22), {"path": "walk", "movers": 0.4}, {}),
    ("portrait", "good", 12, (15, 12), _PORTRAIT, {}),
    ("sizes", "good", 13, (17, 13), {"size_b": (960, 540)}, {}),
    ("rates", "good", 14, (13, 19), {"fps_b": 24.0}, {}),
    ("silent", "good", 15, (11, 14), {"sound": False}, {}),
    ("colours", "good", 16, (19, 24), {"photometric": "strong"}, {}),
    ("tripod-lenses", "good", 17, (15, 21), {"path": "tripod"}, _TRUE),
    ("tripod", "hopeless", 17, (15, 21), {"path": "tripod"}, {}),
    ("narrow", "hard", 18, (2, 3), {}, {}),
    ("narrow", "hard", 19, (5, 4), {}, {}),
    ("wide", "hard", 20, (40, 45), {}, {}),
    ("wide", "hard", 21, (70, 60), {}, {}),
    ("movers70", "hard", 22, (15, 12), {"movers": 0.7}, {}),
    ("pattern", "hard", 23, (12, 15), {"place": "pattern"}, {}),
    ("pattern-lenses", "hard", 23, (12, 15), {"place": "pattern"}, _TRUE),
    ("blur", "hard", 24, (16, 14), {"motion_blur": 0.9, "speed": 2.0}, {}),
    ("turn", "hard", 25, (14, 18), {"path": "turn"}, {}),
    ("plane", "hopeless", 26, (15, 20), {"place": "plane"}, {}),
    ("plane-lenses", "hard", 26, (15, 20), {"place": "plane"}, _TRUE),
    ("wrong-lenses", "hopeless", 2, (15, 17), {}, {"lenses": "wrong"}),
    ("wrong-lenses", "hopeless", 7, (18, 11), {"movers": 0.3}, {"lenses": "wrong"}),
    ("wrong-offset", "hopeless", 1, (12, 9), {}, {"offset": "wrong"}),
    ("wrong-offset", "hopeless", 8, (16, 20), {"movers": 0.5}, {"offset": "wrong"}),
    ("zoom-a", "hopeless", 27, (15, 18), {"zoom": (1.3, 1.0)}, {}),
    ("zoom-both", "hopeless", 28, (13, 16), {"zoom": (1.3, 1.3)}, {}),
    ("apart", "hopeless", 29, (14, 17), {"offset": 6.0}, {}),
    ("apart-silent", "hopeless", 30, (12, 15), {"offset": -7.0, "sound": False}, {}),
)


def shoots() -> list[Shoot]:
    """All of them, the tuned half first."""
    return [_shoot(row, half) for half in (0, 1) for row in _ROWS]


def choose(names: Sequence[str]) -> list[Shoot]:
    """The shoots of the given names, halves or kinds; all of them if none is given."""
    every = shoots()
    for name in names:
        if not any(name in _labels(shoot) for shoot in every):
            raise SystemExit(
                f"there is no shoot '{name}'; there are {', '.join(shoot.name for shoot in every)}"
            )
    return [shoot for shoot in every if not names or any(name in _labels(shoot) for name in names)]


def _labels(shoot: Shoot) -> tuple[str, ...]:
    return shoot.name, shoot.half, shoot.kind


def _shoot(row: _Row, half: int) -> Shoot:
    name, kind, number, angles, options, given = row
    seed = _FIRST_SEEDS[half] + number
    settings: dict[str, Any] = {
        "angle": float(angles[half]),
        "frames": 40,
        "size": _LARGE if number < _SMALL_FROM else _SMALL,
        "seed": seed,
        "offset": ((seed * 37) % 50 - 25) / 100 + 0.003,  # a quarter of a second either way
        "video": True,
        "samples": 2,
        "truth_frames": MOMENTS,
    }
    return Shoot(f"{name}-{seed}", kind, SynthConfig(**(settings | options)), **given)
