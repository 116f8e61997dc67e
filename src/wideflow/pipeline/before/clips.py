"""Two clips before the first step: when and where they were filmed, each found once and kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from wideflow.calibration import Calibration, check_rig, fit_rig
from wideflow.check import check_clips
from wideflow.config import SyncConfig
from wideflow.files.fingerprint import content_hash, fingerprint
from wideflow.files.rig import rig_from_bytes, rig_to_bytes
from wideflow.pipeline.before.dense_calibration import calibrate
from wideflow.pipeline.before.frame_choice import calibration_pairs, choose_pairs
from wideflow.pipeline.before.scale import with_scale
from wideflow.pipeline.before.sync_fields import sync_fields, sync_from_fields
from wideflow.pipeline.job import Job
from wideflow.pipeline.step.timings import Seconds, clock
from wideflow.progress import Progress
from wideflow.storage.lock import Claim
from wideflow.storage.place import Place
from wideflow.storage.versions import made_by
from wideflow.storage.work import STEPS, Work
from wideflow.sync import Sync, pair_frames, synchronise
from wideflow.types import Camera, Rig
from wideflow.verdict import Finding, findings_from
from wideflow.video.read import Video
from wideflow.video.same import require_two_clips

LOG = logging.getLogger("wideflow")


@dataclass(frozen=True, eq=False)
class Clips:
    """The two clips of a job, and where what is found about them is kept.

    Attributes
    ----------
    job : Job
    videos : (Video, Video)
    contents : (str, str)
        Hashes of their bytes.
    work : Work
    progress : callable
    seconds : dict
        Filled: what each finding took, now or in an earlier run.
    """

    job: Job
    videos: tuple[Video, Video]
    contents: tuple[str, str]
    work: Work
    progress: Progress
    seconds: Seconds = field(default_factory=dict)

    @classmethod
    def of(cls, job: Job, progress: Progress, claim: Claim | None = None) -> Clips:
        """Open the clips of a job.

        Raises
        ------
        WideflowError
            One cannot be read, or both are the same.
        """
        a, b = (Video(path, job.fps if path.is_dir() else None) for path in (job.a, job.b))
        require_two_clips(job.a, job.b)
        work = Work(Place(job.out), claim)
        return cls(job, (a, b), (content_hash(job.a), content_hash(job.b)), work, progress)

    def synchronised(self) -> tuple[Sync, str]:
        """When: their synchronisation, and its key."""
        job = self.job
        # what becomes of pictures that are apart is no matter of when they were taken
        settings = replace(job.config.sync, one_time=SyncConfig().one_time)
        key = fingerprint(made_by(["sync"]), self.contents, job.fps, settings, job.offset)

        def compute() -> dict[str, Any]:
            return sync_fields(synchronise(*self.videos, job.config.sync, job.offset, self._told("when")))

        fields = self._kept("sync", key, compute)
        a, b = self.videos
        return sync_from_fields(
            fields, pair_frames(a.times, b.times, fields["offset_seconds"], fields["rate"])
        ), key

    def looked_at(self, sync: Sync, sync_key: str) -> tuple[Finding, ...]:
        """What `wideflow check` finds, before cameras are looked for; nothing if they are given."""
        if self.job.rig is not None:
            return ()

        def compute() -> dict[str, Any]:
            settings = self.job.config.sync
            found = check_clips(*self.videos, sync, settings, self.job.offset, self._told("check"))
            return {"findings": [asdict(finding) for finding in found.findings]}

        kept = self._kept("check", fingerprint(made_by(["check"]), sync_key), compute)
        found = findings_from(kept["findings"])
        for finding in found:
            if finding.grade != "good":
                LOG.info("check, %s: %s", finding.topic, finding.words)
        return found

    def calibrated(self, sync: Sync, sync_key: str) -> tuple[Rig, tuple[Rig, ...], dict[str, Any]]:
        """Where: the rig as filmed, rigs that explain the videos about as well, and the report on it."""
        job = self.job
        chosen = choose_pairs(sync.pairs, job.frames, str(job.a))
        pairs = calibration_pairs(sync.pairs, chosen, job.frames.step or 1)
        given = [None if lens is None else _known(lens) for lens in job.intrinsics]
        key = fingerprint(
            made_by(["calibration"]),
            sync_key,
            pairs.a,
            pairs.b,
            given,
            None if job.rig is None else rig_to_bytes(job.rig),
            asdict(job.scale) if job.scale.given else None,
            job.config.calibrate,
        )

        def compute() -> dict[str, Any]:
            told = self._told("where")
            if job.rig is not None:
                found = Calibration(
                    fit_rig(job.rig, *self.videos), check_rig(job.rig, *self.videos, pairs, told)
                )
            else:
                folder = f"{self.work.place}/work/{STEPS}"
                found = calibrate(*self.videos, pairs, job.intrinsics, job.config.calibrate, folder, told)
            found = with_scale(found, job.scale, self.videos, pairs, job.config.match, told)
            rigs = (found.rig, *found.alternatives)
            report = {
                **found.report.as_dict(),
                "source": "given" if job.rig else "what both cameras see and what stands still",
            }
            return {"report": report, "rigs": [rig_to_bytes(rig).decode() for rig in rigs]}

        kept = self._kept("calibration", key, compute)
        rig, *others = (rig_from_bytes(text.encode(), "calibration") for text in kept["rigs"])
        return rig, tuple(others), kept["report"]

    def _kept(self, task: str, key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What ``compute`` gives, or gave in an earlier run."""
        note = self.work.note(task, 0, key)
        if note is None:
            spent: Seconds = {}
            with clock(spent, task):
                found = compute()
            note = {"found": found, "seconds": spent}
            self.work.save(task, 0, key, note)
        self.seconds.update(note["seconds"])
        return dict(note["found"])

    def _told(self, what: str) -> Progress:
        return lambda done, total, text: self.progress(done, total, f"{what}: {text}")


def _known(lens: Camera) -> list[Any]:
    """What a calibration depends on; a read-out only where there is one, so that older work counts."""
    return [lens.K, lens.distortion, lens.size, *([lens.readout] if lens.readout else [])]
