"""An output that changes while its number does not would be mixed with older ones: this notices it."""

import numpy as np
import pytest

from stage_outputs import STORED, arrays_of, give, outputs, scene
from wideflow.pipeline.step.in_memory import StagesInMemory
from wideflow.pipeline.step.order import STAGE
from wideflow.pipeline.step.stage import compute

REMEDY = "raise its number in storage/versions.py and run tests/stage_outputs.py"
# Machines round differently, and a match at a tie falls either way: most values must agree closely.
CLOSE, SHARE = 0.01, 0.97


@pytest.fixture(scope="module")
def stored() -> dict[str, np.ndarray]:
    with np.load(STORED) as file:
        return dict(file)


@pytest.fixture(scope="module")
def given(stored: dict[str, np.ndarray]) -> StagesInMemory:
    found = scene()
    give(found, stored)
    return found


def agreement(one: np.ndarray, two: np.ndarray) -> float:
    """Share of the values that are about the same; unknown is like unknown."""
    if one.shape != two.shape:
        return 0.0
    a, b = one.astype(np.float64), two.astype(np.float64)
    limit = CLOSE * max(1.0, float(np.nanmedian(np.abs(a))) if np.isfinite(a).any() else 1.0)
    with np.errstate(invalid="ignore"):  # infinite minus infinite
        same = (np.abs(a - b) <= limit) | (np.isnan(a) & np.isnan(b)) | (a == b)
    return float(same.mean())


@pytest.mark.parametrize(("name", "t"), outputs())
def test_an_output_changes_only_with_its_number(
    name: str, t: int, stored: dict[str, np.ndarray], given: StagesInMemory
) -> None:
    assert int(stored[f"version of {name}"]) == STAGE[name].version, f"{name} has a new number: {REMEDY}"
    now = compute(STAGE[name], t, given.get, given._config, {})
    for key, array in arrays_of(now, f"{name} {t}").items():
        assert agreement(stored[key], array) >= SHARE, f"{key} has changed: {REMEDY}"


def test_a_changed_output_would_be_noticed(stored: dict[str, np.ndarray]) -> None:
    for key, array in stored.items():
        if array.dtype == np.float32 and np.isfinite(array).any() and "confidence" not in key:
            shifted = array + np.float32(0.03) * max(1.0, float(np.nanmedian(np.abs(array))))
            if np.isfinite(array).mean() > 0.1:
                assert agreement(array, shifted) < SHARE, key
