"""Is it worth a run? Looks at two clips for some seconds and says what a run would meet."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from wideflow.check.findings import findings_about
from wideflow.check.measures import ClipMeasures, measure_clip
from wideflow.check.moments import look_at, steps_of
from wideflow.check.shared import Shared, shared_view
from wideflow.config import SyncConfig
from wideflow.progress import Progress, silent
from wideflow.sync import Sync, synchronise
from wideflow.verdict import Finding, Grade, worst
from wideflow.video.read import Video


@dataclass(frozen=True, eq=False)
class ClipCheck:
    """What was found about two clips before a run.

    Attributes
    ----------
    findings : tuple of Finding
        In the order in which a run needs what they are about.
    sync : Sync
    clips : (ClipMeasures, ClipMeasures)
        Of A and of B.
    shared : Shared
        Of both together.
    """

    findings: tuple[Finding, ...]
    sync: Sync
    clips: tuple[ClipMeasures, ClipMeasures]
    shared: Shared

    @property
    def grade(self) -> Grade:
        """The worst of all grades."""
        return worst(finding.grade for finding in self.findings)

    @property
    def worth_a_run(self) -> bool:
        """Whether the result of a run could be trusted: nothing is poor."""
        return self.grade != "poor"

    def as_json(self) -> dict[str, Any]:
        """Everything as dictionaries, lists and plain values; what is unknown is None."""
        numbers = {
            "worth_a_run": self.worth_a_run,
            "grade": self.grade,
            "findings": [asdict(finding) for finding in self.findings],
            "sync": {
                "offset_seconds": self.sync.offset_seconds,
                "method": self.sync.method,
                "confidence": self.sync.confidence,
                "pairs": len(self.sync.pairs.a),
            },
            "shared": asdict(self.shared),
            "a": asdict(self.clips[0]),
            "b": asdict(self.clips[1]),
        }
        found: dict[str, Any] = _plain(numbers)
        return found


def check_clips(
    a: Video,
    b: Video,
    sync: Sync | None = None,
    config: SyncConfig | None = None,
    offset: float | None = None,
    progress: Progress | None = None,
) -> ClipCheck:
    """Look at a few moments of two clips and say whether a run on them could be trusted.

    Parameters
    ----------
    a, b : Video
        The two clips.
    sync : Sync, optional
        Their synchronisation if it is known already; found here otherwise, to a frame.
    config : SyncConfig, optional
        How to synchronise.
    offset : float, optional
        A known offset in seconds; nothing is synchronised then.
    progress : callable, optional
        Called with the steps done, all steps, and what comes next.

    Raises
    ------
    FileError
        A clip cannot be read.
    InputError
        The clips cannot be synchronised at all, or share no moment.
    """
    report = progress or silent
    if sync is None:
        rough = replace(config or SyncConfig(), refine=False)  # a frame more or less shows the same points
        sync = synchronise(a, b, rough, offset, report)
    total, done = steps_of(sync.pairs) + 3, 0

    def step() -> None:
        nonlocal done
        done = min(done + 1, total - 3)
        report(done, total, "looking at the pictures")

    moments = look_at(a, b, sync.pairs, step)
    report(total - 3, total, "comparing the cameras")
    shared = shared_view(moments.both)
    clips = []
    for count, (video, stills) in enumerate(zip((a, b), moments.each, strict=True)):
        report(total - 2 + count, total, "comparing the moments")
        clips.append(measure_clip(video, stills))
    report(total, total, "done")
    both = clips[0], clips[1]
    return ClipCheck(findings_about(sync, both, shared), sync, both, shared)


def _plain(value: Any) -> Any:
    """The same for JSON, rounded to what can be meant."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, 4) if math.isfinite(value) else None
    return value
