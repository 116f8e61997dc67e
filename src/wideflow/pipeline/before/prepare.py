"""Before the work: when and where. Synchronise, calibrate, choose the moments, plan."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from wideflow.calibration import Calibration, check_rig, fit_rig, scaled
from wideflow.check import check_clips
from wideflow.config import Config
from wideflow.errors import InputError
from wideflow.files.fingerprint import content_hash, fingerprint
from wideflow.files.rig import rig_from_bytes, rig_to_bytes
from wideflow.geometry import baseline
from wideflow.pipeline.before.dense_calibration import calibrate
from wideflow.pipeline.before.frame_choice import asked_moments, calibration_pairs, choose_pairs
from wideflow.pipeline.step.timings import Seconds, clock
from wideflow.pipeline.step.undistort import ideal_rig
from wideflow.pipeline.tasks.plan import Plan
from wideflow.progress import Progress
from wideflow.storage.place import Place
from wideflow.storage.versions import made_by
from wideflow.storage.work import Work
from wideflow.sync import FramePairs, Sync, pair_frames, synchronise
from wideflow.types import Camera, Rig, RigFrame
from wideflow.verdict import Finding, findings_from, require_trust
from wideflow.verdict.judge import calibration_doubts, sync_finding
from wideflow.video.read import Video
from wideflow.video.same import require_two_clips

LOG = logging.getLogger("wideflow")


@dataclass(frozen=True, eq=False)
class Job:
    """What the user asks for.

    Attributes
    ----------
    a, b : path
        The clips, or folders of pictures.
    out : str
        Folder or URL of the result.
    config : Config
    frames : slice
        Frames of A.
    size : int
        Longest side of the pictures that are matched, px.
    intrinsics : pair of Camera or None
        Known lenses.
    rig : Rig, optional
        A known calibration.
    offset : float, optional
        Seconds by which B started later.
    scale : float, optional
        Distance between the cameras in the first frame.
    fps : float, optional
        Pictures per second of folders.
    anyway : bool
        Go on where synchronisation or calibration is not to be trusted.
    keep : tuple of str
        Arrays to store beside those of every result, names of `schema.OPTIONAL`.
    discard_work : bool
        Remove at the end what only a run that goes on needs.
    """

    a: Path
    b: Path
    out: str
    config: Config
    frames: slice = field(default_factory=lambda: slice(0, None, 1))
    size: int = 960
    intrinsics: tuple[Camera | None, Camera | None] = (None, None)
    rig: Rig | None = None
    offset: float | None = None
    scale: float | None = None
    fps: float | None = None
    anyway: bool = False
    keep: tuple[str, ...] = ()
    discard_work: bool = False


def make_plan(job: Job, progress: Progress) -> tuple[Plan, dict[str, Any]]:
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
    work = Work(Place(job.out))
    videos = tuple(Video(path, job.fps if path.is_dir() else None) for path in (job.a, job.b))
    require_two_clips(job.a, job.b)
    contents = content_hash(job.a), content_hash(job.b)
    a, b = videos
    seconds: Seconds = {}
    sync, sync_key = _synchronised(job, (a, b), contents, work, seconds, progress)
    pairs = choose_pairs(sync.pairs, job.frames, str(job.a))
    described = described_sync(sync, pairs)
    when = sync_finding(described)
    if not job.anyway:
        require_trust([when])
    if len(pairs.a) < 2:
        raise InputError(
            f"only {len(pairs.a)} moment of '{job.a}' is left by the frames chosen; motion needs two or more"
        )
    looked = _looked_at(job, (a, b), sync, sync_key, work, seconds, progress)
    try:
        found, others, report = _calibrated(job, (a, b), sync, sync_key, work, seconds, progress)
    except InputError as error:
        if when.grade == "good":
            raise _advised(error, looked) from error
        # pictures of different moments are the likelier cause
        raise InputError(f"{error}. But first see to the synchronisation: {when.words}") from error
    if not job.anyway:
        require_trust(calibration_doubts(report, np.asarray(report["axis_angle"])))
    partner = dict(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))
    late = dict(zip(pairs.a.tolist(), pairs.error.tolist(), strict=True))
    static = job.rig is not None and len(job.rig.frames) == 1
    moments = [frame for frame in _rig_frames(found, pairs, static) if frame.index in partner]
    if len(moments) < 2:
        raise InputError(
            f"the cameras are known in {len(moments)} of the {len(pairs.a)} moments chosen; choose others "
            "with --frames, or film with more overlap"
        )
    filmed = Rig(found.cameras, tuple(moments))
    plan = Plan(
        out=job.out,
        videos=(str(job.a.resolve()), str(job.b.resolve())),
        fps=job.fps,
        contents=contents,
        frames=tuple((frame.index, partner[frame.index]) for frame in moments),
        filmed=filmed,
        rig=ideal_rig(filmed, job.size),
        config=job.config,
        clip=None if static else ideal_rig(found, job.size),
        alternatives=tuple(_only(other, moments) for other in others),
        late=tuple(late[frame.index] for frame in moments),
        keep=job.keep,
    )
    counts = {
        "asked": asked_moments(sync.pairs, job.frames, len(a)),
        "filmed": len(pairs.a),
        "placed": len(moments),
    }
    found_before = [asdict(finding) for finding in looked]
    return plan, {
        "sync": described,
        "check": found_before,
        "calibration": report,
        "moments": counts,
        "seconds": seconds,
    }


def described_sync(sync: Sync, pairs: FramePairs) -> dict[str, Any]:
    """A synchronisation for ``summary.json``, with how far apart the frames of these pairs are."""
    error = float(np.abs(pairs.error).mean())
    return {**sync_fields(sync), "pair_error_mean": error}


def sync_fields(sync: Sync) -> dict[str, Any]:
    """A synchronisation for JSON, without its pairs."""
    return {
        "offset_seconds": sync.offset_seconds,
        "rate": sync.rate,
        "method": sync.method,
        "confidence": sync.confidence,
        "notes": list(sync.notes),
        "reasons": list(sync.reasons),
    }


def sync_from_fields(fields: dict[str, Any], pairs: FramePairs) -> Sync:
    """What `sync_fields` has described."""
    sentences = {name: tuple(fields[name]) for name in ("notes", "reasons")}
    return Sync(**{**fields, **sentences}, pairs=pairs)


def _kept(
    work: Work, task: str, key: str, compute: Callable[[], dict[str, Any]], seconds: Seconds
) -> dict[str, Any]:
    """What ``compute`` gives, or gave in an earlier run; ``seconds`` learns how long it took then."""
    note = work.note(task, 0, key)
    if note is None:
        spent: Seconds = {}
        with clock(spent, task):
            found = compute()
        note = {"found": found, "seconds": spent}
        work.save(task, 0, key, note)
    seconds.update(note["seconds"])
    return dict(note["found"])


def _synchronised(
    job: Job,
    videos: tuple[Video, Video],
    contents: tuple[str, str],
    work: Work,
    seconds: Seconds,
    progress: Progress,
) -> tuple[Sync, str]:
    key = fingerprint(made_by(["sync"]), contents, job.fps, job.config.sync, job.offset)

    def compute() -> dict[str, Any]:
        found = synchronise(videos[0], videos[1], job.config.sync, job.offset, _named(progress, "when"))
        return sync_fields(found)

    fields = _kept(work, "sync", key, compute, seconds)
    times = videos[0].times, videos[1].times
    return sync_from_fields(fields, pair_frames(*times, fields["offset_seconds"], fields["rate"])), key


def _looked_at(
    job: Job,
    videos: tuple[Video, Video],
    sync: Sync,
    sync_key: str,
    work: Work,
    seconds: Seconds,
    progress: Progress,
) -> tuple[Finding, ...]:
    """What `wideflow check` finds, before cameras are looked for; nothing if they are given."""
    if job.rig is not None:
        return ()

    def compute() -> dict[str, Any]:
        found = check_clips(*videos, sync, job.config.sync, job.offset, _named(progress, "check"))
        return {"findings": [asdict(finding) for finding in found.findings]}

    kept = _kept(work, "check", fingerprint(made_by(["check"]), sync_key), compute, seconds)
    found = findings_from(kept["findings"])
    for finding in found:
        if finding.grade != "good":
            LOG.info("check, %s: %s", finding.topic, finding.words)
    return found


def _advised(error: InputError, looked: tuple[Finding, ...]) -> InputError:
    """The error with what a look at the clips says about its cause."""
    causes = [finding.words for finding in looked if finding.grade == "poor"]
    return InputError(f"{error}. A look at the clips: {' '.join(causes)}") if causes else error


def _calibrated(
    job: Job,
    videos: tuple[Video, Video],
    sync: Sync,
    sync_key: str,
    work: Work,
    seconds: Seconds,
    progress: Progress,
) -> tuple[Rig, tuple[Rig, ...], dict[str, Any]]:
    """The rig as filmed, rigs that explain the videos about as well, and the report on it."""
    chosen = choose_pairs(sync.pairs, job.frames, str(job.a))
    pairs = calibration_pairs(sync.pairs, chosen, job.frames.step or 1)
    given = [None if lens is None else [lens.K, lens.distortion, lens.size] for lens in job.intrinsics]
    rig_bytes = None if job.rig is None else rig_to_bytes(job.rig)
    key = fingerprint(
        made_by(["calibration"]),
        sync_key,
        pairs.a,
        pairs.b,
        given,
        rig_bytes,
        job.scale,
        job.config.calibrate,
    )

    def compute() -> dict[str, Any]:
        told = _named(progress, "where")
        if job.rig is not None:
            found = Calibration(fit_rig(job.rig, *videos), check_rig(job.rig, *videos, pairs, told))
        else:
            folder = f"{work.place}/work/calibration_steps"
            found = calibrate(*videos, pairs, job.intrinsics, job.config.calibrate, folder, told)
        factor = 1.0 if job.scale is None else job.scale / baseline(*found.rig.frames[0].views)
        rigs = [scaled(rig, factor) for rig in (found.rig, *found.alternatives)]
        report = {
            **found.report.as_dict(),
            "source": "given" if job.rig else "what both cameras see and what stands still",
        }
        if job.scale is not None:
            report["scale"] = f"cameras {job.scale:g} apart in the first frame"
        return {"report": report, "rigs": [rig_to_bytes(rig).decode() for rig in rigs]}

    kept = _kept(work, "calibration", key, compute, seconds)
    rig, *others = (rig_from_bytes(text.encode(), "calibration") for text in kept["rigs"])
    return rig, tuple(others), kept["report"]


def _rig_frames(rig: Rig, pairs: FramePairs, static: bool) -> list[RigFrame]:
    """The rig's frames; the only frame of a static rig serves all moments."""
    if not static:
        return list(rig.frames)
    return [RigFrame(int(index), rig.frames[0].times, rig.frames[0].views) for index in pairs.a]


def _only(rig: Rig, moments: list[RigFrame]) -> Rig:
    """The frames of a rig at these moments."""
    return Rig(rig.cameras, tuple(rig.frame(moment.index) for moment in moments))


def _named(progress: Progress, what: str) -> Progress:
    return lambda done, total, text: progress(done, total, f"{what}: {text}")
