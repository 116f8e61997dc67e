"""A number for each stage, raised whenever its output changes: part of the key of all that it makes.

So a result never mixes what an older version of a stage has found with what the present one finds. A test
with stored outputs notices an output that has changed while its number has not.
"""

from __future__ import annotations

from collections.abc import Iterable

VERSIONS = {
    "sync": 4,
    "check": 3,
    "calibration": 10,
    "pictures": 1,
    "one time": 1,
    "match": 10,
    "evidence": 4,
    "refute": 2,
    "fill": 7,
    "refine": 6,
    "lift": 9,
    "steady": 3,
}


def made_by(stages: Iterable[str]) -> dict[str, int]:
    """Stages with their present numbers."""
    return {stage: VERSIONS[stage] for stage in stages}
