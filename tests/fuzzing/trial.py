"""One malformed file."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from types import FrameType

from fuzzing.targets import Target
from wideflow.errors import WideflowError

LONGEST = 5  # seconds for one file
MOST_MEMORY = 2**30  # bytes beyond what a process has before


def try_file(target: Target, content: bytes, folder: Path) -> None:
    """Read a file of this content: it may be refused in one sentence, and nothing else may go wrong."""
    path = folder / target.suffix
    path.write_bytes(content)
    begun, said = time.monotonic(), ""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST)
    try:
        target.read(path)
    except WideflowError as error:
        said = str(error)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert "\n" not in said
    assert time.monotonic() - begun < LONGEST


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"takes longer than {LONGEST} s")
