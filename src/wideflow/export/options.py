"""What every format lets the user choose."""

from __future__ import annotations

from dataclasses import dataclass

from wideflow.errors import InputError
from wideflow.storage.result import Result


@dataclass(frozen=True)
class ExportOptions:
    """Which moments and pixels go out.

    Attributes
    ----------
    start, stop : int, int or None
        Moments from ``start`` up to, not including, ``stop``; to the end if None.
    stride : int
        Every so many moments. Flow and motion remain those to the next moment of the result.
    confidence : float
        Pixels of A below this confidence, 0..1, count as unknown; 0 keeps all that is finite.
    """

    start: int = 0
    stop: int | None = None
    stride: int = 1
    confidence: float = 0.0

    def __post_init__(self) -> None:
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise InputError(
                f"the frames {self._frames} are no range; give START:STOP with 0 <= START < STOP"
            )
        if self.stride < 1:
            raise InputError(f"the stride must be at least 1, not {self.stride}")
        if not 0 <= self.confidence <= 1:
            raise InputError(f"the confidence must be between 0 and 1, not {self.confidence}")

    @property
    def _frames(self) -> str:
        return f"{self.start}:{'' if self.stop is None else self.stop}"

    def moments(self, result: Result) -> range:
        """The chosen moments of a result, at least one."""
        chosen = range(self.start, min(self.stop or len(result), len(result)), self.stride)
        if not chosen:
            raise InputError(
                f"the frames {self._frames} hold none of the {len(result)} moments of '{result.place}', "
                "which are numbered from 0; choose others"
            )
        return chosen
