"""One malformed file."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType

from fuzzing.targets import Target
from wideflow.errors import WideflowError

LONGEST = 5  # seconds of computing for one file
_PATIENCE = 60  # seconds of waiting: others may keep the machine busy
_CLOCKS = (signal.SIGPROF, signal.SIGALRM)
MOST_MEMORY = 2**30  # bytes beyond what a process has before


def try_file(target: Target, content: bytes, folder: Path) -> None:
    """Read a file of this content: it may be refused in one sentence, and nothing else may go wrong."""
    path = folder / target.suffix
    path.write_bytes(content)
    said = ""
    before = [signal.signal(number, _too_long) for number in _CLOCKS]
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.alarm(_PATIENCE)
    try:
        target.read(path)
    except WideflowError as error:
        said = str(error)
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in zip(_CLOCKS, before, strict=True):
            signal.signal(number, handler)
    assert "\n" not in said


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"takes longer than {LONGEST} s")
