"""Where the measuring data lies: beside the checkout, or where WIDEFLOW_DATA says. It may be absent."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("WIDEFLOW_DATA", Path(__file__).parents[2] / "shared" / "data"))


def shared(name: str) -> Path:
    """Path of a data set; skips the calling test where it is absent."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"measuring data '{name}' is not here (set WIDEFLOW_DATA to its root)")
    return path
