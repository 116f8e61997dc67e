"""What a stage is: what it needs and gives, and how it is computed wherever its needs come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from wideflow.config import Config
from wideflow.errors import NothingInCommonError
from wideflow.pipeline.step.timings import Seconds, clock

Fetch = Callable[[str, int], Any]  # what a stage or a source of this name gives; None outside of the clip


class Need(NamedTuple):
    """What another stage or a source gives, so many moments later.

    ``name`` is that of the stage or source, or the slot that several stages share. With ``until``, it is the
    list of what all moments from ``ahead`` to ``until`` give; None for those that do not exist or that have
    nothing. The moments before ``least`` mean what that one means. Where a ``block`` of so many moments
    begins, nothing is meant.
    """

    name: str
    ahead: int = 0
    until: int | None = None
    least: int = 0
    block: int = 0

    def moments(self, t: int) -> range:
        """Those meant by the stage at moment t; some may lie outside of the clip."""
        if self.block and t % self.block == 0:
            return range(-1, 0)
        t = max(t, self.least)
        return range(t + self.ahead, t + (self.ahead if self.until is None else self.until) + 1)


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a time step.

    Attributes
    ----------
    name : str
        Also of what it gives, for those that need it.
    function : callable
        Called with its settings, if it has any, and with what it needs, in that order. It knows nothing else,
        so that what it gives is the same whenever these are.
    needs : tuple of Need
    gives : type
        A dataclass; what is kept of it are its arrays, by their names.
    version : int
        Raised whenever what it gives changes: what an older version has kept is then not used.
    settings : str
        The part of `Config` that it gets; none if empty.
    at : str
        When there is one: at every "moment", at every "step" from a moment to the next, or at the "last".
    kept : str
        Where a run keeps what it gives: in its "work", in the "result", or nowhere, if empty: the stages that
        need it then compute it on their way.
    view : str
        Whose pictures it is about, "a" (or both) or "b": the latter only if that is asked for.
    slot : str
        Under which name; a stage replaces what another one with the same slot has kept of that moment.
    clock : str
        Under which name its time is counted.
    doing : str
        What messages call it.
    effort : float
        How long it takes, beside the others: about so many seconds of one core at 960x540.
    """

    name: str
    function: Callable[..., Any]
    needs: tuple[Need, ...]
    gives: type
    version: int
    settings: str = ""
    at: str = "moment"
    kept: str = "work"
    view: str = "a"
    slot: str = ""
    clock: str = ""
    doing: str = ""
    effort: float = 0.1

    def moments(self, count: int) -> range:
        """The moments, of so many, at which there is this stage."""
        return {"moment": range(count), "step": range(count - 1), "last": range(count - 1, count)}[self.at]


def compute(stage: Stage, t: int, fetch: Fetch, config: Config, seconds: Seconds) -> Any:
    """What a stage gives at a moment; ``seconds`` has its time added, but not that of its needs."""
    needs = [_given(need, t, fetch) for need in stage.needs]
    settings = [getattr(config, stage.settings)] if stage.settings else []
    with clock(seconds, stage.clock):
        return stage.function(*settings, *needs)


def _given(need: Need, t: int, fetch: Fetch) -> Any:
    if need.until is None:
        return fetch(need.name, need.moments(t)[0])
    found = []
    for each in need.moments(t):
        try:
            found.append(fetch(need.name, each))
        except NothingInCommonError:
            if each == t:
                raise
            found.append(None)
    return found
