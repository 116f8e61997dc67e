"""The log of a job, beside its result."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from wideflow.errors import WideflowError
from wideflow.storage.place import Place

LOG = logging.getLogger("wideflow")


@contextmanager
def logged(place: Place) -> Iterator[None]:
    """Everything that is logged goes into ``log.txt`` too, warnings and the sentence of an error included."""
    lines = _Lines(place)
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    level = LOG.level
    LOG.setLevel(logging.INFO)
    LOG.addHandler(lines)
    begun = time.monotonic()
    try:
        yield
        LOG.info("ended after %.1f s", time.monotonic() - begun)
    except WideflowError as error:
        LOG.error("%s", error)
        raise
    except BaseException:
        LOG.error("ended early", exc_info=sys.exc_info())
        raise
    finally:
        LOG.removeHandler(lines)
        LOG.setLevel(level)
        lines.close()


class _Lines(logging.Handler):
    """Appends to ``log.txt`` beside the result; behind a URL, writes it whole at the end."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place, self._kept = place, [""]
        if place.remote and place.exists("log.txt"):
            self._kept = [place.read("log.txt").decode(errors="replace").rstrip("\n")]

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        if self._place.remote:
            self._kept.append(line)
            return
        try:
            with open(self._place.folder / "log.txt", "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError:
            pass  # a full disk is told by what the run itself cannot write

    def close(self) -> None:
        if self._place.remote:
            self._place.write("log.txt", "\n".join(self._kept).lstrip("\n").encode())
        super().close()
