"""From what the user asks for to a plan: synchronise, calibrate, choose the moments."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from wideflow.errors import InputError
from wideflow.pipeline.before.clips import Clips
from wideflow.pipeline.before.frame_choice import asked_moments, choose_pairs
from wideflow.pipeline.before.sync_fields import described_sync
from wideflow.pipeline.job import Job
from wideflow.pipeline.step.undistort import ideal_rig
from wideflow.pipeline.step.voices import open_voice
from wideflow.pipeline.tasks.plan import Plan
from wideflow.progress import Progress
from wideflow.storage.lock import Claim
from wideflow.storage.schema import OF_B
from wideflow.sync import FramePairs
from wideflow.types import Rig, RigFrame
from wideflow.verdict import Finding, require_trust
from wideflow.verdict.judge import calibration_doubts, sync_finding
from wideflow.video.read import Video


def make_plan(job: Job, progress: Progress, claim: Claim | None = None) -> tuple[Plan, dict[str, Any]]:
    """Synchronise and calibrate, unless that is done, and choose the moments.

    Returns
    -------
    Plan
    dict
        What was found, for ``summary.json``: sync, calibration, and how many of the moments asked for come;
        and the seconds that each took.

    Raises
    ------
    RefusedError
        A result would not be worth its time; what was found is kept for a job that goes on anyway.
    """
    clips = Clips.of(job, progress, claim)
    sync, sync_key = clips.synchronised()
    pairs = choose_pairs(sync.pairs, job.frames, str(job.a))
    described = {**described_sync(sync, pairs), "one_time": job.config.sync.one_time}
    when = sync_finding(described)
    if not job.anyway:
        require_trust([when])
    if len(pairs.a) < 2:
        raise InputError(
            f"only {len(pairs.a)} moment of '{job.a}' is left by the frames chosen; motion needs two or more"
        )
    looked = clips.looked_at(sync, sync_key)
    try:
        found, others, report = clips.calibrated(sync, sync_key)
    except InputError as error:
        if when.grade == "good":
            raise _advised(error, looked) from error
        # pictures of different moments are the likelier cause
        raise InputError(f"{error}. But first see to the synchronisation: {when.words}") from error
    if not job.anyway:
        require_trust(calibration_doubts(report, np.asarray(report["axis_angle"])))
    partner = dict(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    late = dict(zip(pairs.a.tolist(), pairs.error.tolist(), strict=True))
    filmed_b = dict(zip(sync.pairs.a.tolist(), sync.pairs.b.tolist(), strict=True))
    static = job.rig is not None and len(job.rig.frames) == 1
    moments = [
        replace(frame, late=late[frame.index] if job.config.sync.one_time else 0.0)
        for frame in _rig_frames(found, pairs, clips.videos if static else None)
        if frame.index in partner
    ]
    if len(moments) < 2:
        raise InputError(
            f"the cameras are known in {len(moments)} of the {len(pairs.a)} moments chosen; choose others "
            "with --frames, or film with more overlap"
        )
    clip = Rig(found.cameras, tuple(frame for frame in found.frames if frame.index in filmed_b))
    filmed = Rig(found.cameras, tuple(moments))
    ideal = ideal_rig(filmed, job.size)
    voice = None if job.proposals is None else open_voice(job.proposals, ideal.cameras, len(moments))
    plan = Plan(
        out=job.out,
        videos=(str(job.a.resolve()), str(job.b.resolve())),
        fps=job.fps,
        contents=clips.contents,
        frames=tuple((frame.index, partner[frame.index]) for frame in moments),
        filmed=filmed,
        rig=ideal,
        config=job.config,
        clip=None if static else ideal_rig(clip, job.size),
        clip_b=tuple(filmed_b[frame.index] for frame in clip.frames),
        alternatives=tuple(_only(other, moments) for other in others),
        late=() if job.config.sync.one_time else tuple(late[frame.index] for frame in moments),
        voice=voice,
        keep=(*job.keep, *(OF_B if job.view == "both" else ())),
    )
    counts = {
        "asked": asked_moments(sync.pairs, job.frames, len(clips.videos[0])),
        "filmed": len(pairs.a),
        "placed": len(moments),
    }
    found_before = [asdict(finding) for finding in looked]
    return plan, {
        "sync": described,
        "check": found_before,
        "calibration": report,
        "moments": counts,
        "seconds": clips.seconds,
    }


def _advised(error: InputError, looked: tuple[Finding, ...]) -> InputError:
    """The error with what a look at the clips says about its cause."""
    causes = [finding.words for finding in looked if finding.grade == "poor"]
    return InputError(f"{error}. A look at the clips: {' '.join(causes)}") if causes else error


def _rig_frames(rig: Rig, pairs: FramePairs, videos: tuple[Video, Video] | None) -> list[RigFrame]:
    """The rig's frames; the only frame of a static rig serves all moments, at the times of the videos."""
    if videos is None:
        return list(rig.frames)
    (a, b), frame = videos, rig.frames[0]
    return [
        replace(frame, index=int(i), times=(float(a.times[i]), float(b.times[j])))
        for i, j in zip(pairs.a, pairs.b, strict=True)
    ]


def _only(rig: Rig, moments: list[RigFrame]) -> Rig:
    """The frames of a rig at these moments."""
    return Rig(rig.cameras, tuple(rig.frame(moment.index) for moment in moments))
