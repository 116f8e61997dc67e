"""``wideflow calibrate``: the cameras of every frame."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from wideflow.cli.options import ConfigFile, Preset, Quiet, Settings, parse_frames, say
from wideflow.cli.scale import Distance, Frame, Length, Points, TagSize, known_scale
from wideflow.config import Config, load_config
from wideflow.errors import FileError, InputError
from wideflow.progress import Progress, show_progress

if TYPE_CHECKING:
    from wideflow.calibration import Calibration
    from wideflow.sync import Sync
    from wideflow.types import Rig
    from wideflow.video.read import Video

EXAMPLE = "wideflow calibrate a.mp4 b.mp4 -o rig.json"
_REPORT = "calibration.json"


def run(
    first: Annotated[Path, Argument(metavar="A", help="First video, or folder of pictures.")],
    second: Annotated[Path, Argument(metavar="B", help="Second video of the same moment.")],
    out: Annotated[Path, Option("--out", "-o", help="Cameras to write, .json; its folder is made.")],
    intrinsics_a: Annotated[
        Path | None, Option(help="Lens of A: JSON, OpenCV calibration, or intri.yml:NAME, Calib.toml:NAME.")
    ] = None,
    intrinsics_b: Annotated[Path | None, Option(help="Lens of B.")] = None,
    rig: Annotated[
        Path | None,
        Option(help="Cameras to check instead: rig.json, COLMAP model, EasyMocap folder, Pose2Sim .toml."),
    ] = None,
    offset: Annotated[float | None, Option(help="Known offset in seconds; above 0, B started later.")] = None,
    frames: Annotated[
        str | None, Option(metavar="START:STOP", help="Frames of A, all unless given; STOP is left out.")
    ] = None,
    stride: Annotated[int, Option(help="Take every n-th frame of A.", min=1)] = 1,
    scale: Distance = None,
    scale_points: Points = None,
    scale_length: Length = None,
    scale_frame: Frame = None,
    tag_size: TagSize = None,
    fps: Annotated[float | None, Option(help="Pictures per second of folders.")] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    seed: Annotated[
        int | None,
        Option(help="Where chance starts; the same seed gives the same bits.", min=0, max=2**31 - 1),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Find the lenses of two cameras and where they were in every frame.

    Writes the cameras and, beside them, calibration.json with the figures. What
    was done is kept in a folder beside them: a run that was ended goes on.

    Ends with exit code 3 if the cameras are not to be trusted; standard error
    says why.
    """
    stages = load_config(config, settings or (), preset)
    if seed is not None:
        stages = replace(stages, calibrate=replace(stages.calibrate, seed=seed))
    _check_output(out)
    if rig is not None and (intrinsics_a or intrinsics_b):
        raise InputError("--rig has the intrinsics already; leave out --intrinsics-a and --intrinsics-b")
    known = known_scale(scale, scale_points, scale_length, scale_frame, tag_size)
    chosen = parse_frames(frames, stride)

    import numpy as np

    from wideflow.files import read_intrinsics, read_rig, write_bytes, write_rig
    from wideflow.pipeline.before.frame_choice import choose_pairs
    from wideflow.pipeline.before.scale import with_scale
    from wideflow.pipeline.before.sync_fields import described_sync
    from wideflow.storage.place import make_folder
    from wideflow.verdict import Verdict
    from wideflow.verdict.judge import calibration_doubts, scale_findings, sync_finding
    from wideflow.video.read import Video
    from wideflow.video.same import require_two_clips

    with warnings.catch_warnings(), show_progress(quiet) as progress:
        warnings.showwarning = say
        a, b = (Video(path, fps if path.is_dir() else None) for path in (first, second))
        require_two_clips(first, second)
        given = None if rig is None else read_rig(rig)
        lenses = tuple(
            None if path is None else read_intrinsics(path) for path in (intrinsics_a, intrinsics_b)
        )
        make_folder(out.parent)
        sync = _synchronised(a, b, stages, offset, out.with_suffix(".work"), progress)
        pairs = choose_pairs(sync.pairs, chosen, str(first))
        found = _calibrated(a, b, pairs, given, lenses, stages, out.with_suffix(".work"), progress)
        found = with_scale(found, known, (a, b), pairs, stages.match, progress)
    write_rig(out, found.rig)
    when, where = described_sync(sync, pairs), found.report.as_dict()
    doubts = calibration_doubts(where, np.asarray(found.report.axis_angle))
    verdict = Verdict((sync_finding(when), *doubts, *scale_findings(where)))
    described = {"sync": when, **where, "verdict": verdict.as_dict()}
    write_bytes(out.with_name(_REPORT), (json.dumps(described, indent=1) + "\n").encode())
    if not quiet:
        print(_summary(out, found))
    for reason in verdict.reasons:
        say(reason)
    if not verdict.trusted:
        raise typer.Exit(verdict.exit_code)


def _synchronised(
    a: Video, b: Video, stages: Config, offset: float | None, work: Path, progress: Progress
) -> Sync:
    """As `synchronise`, but what an earlier run has found is taken from its folder."""
    import numpy as np

    from wideflow.files.fingerprint import fingerprint
    from wideflow.pipeline.before.sync_fields import sync_fields, sync_from_fields
    from wideflow.storage.parts import Parts
    from wideflow.storage.place import Place
    from wideflow.storage.versions import made_by
    from wideflow.sync import FramePairs, synchronise
    from wideflow.video.state import video_state

    def compute() -> dict[str, Any]:
        found = synchronise(a, b, stages.sync, offset, progress)
        text = json.dumps(sync_fields(found))
        return {"text": np.array(text), "a": found.pairs.a, "b": found.pairs.b, "error": found.pairs.error}

    kept = Parts(Place(work), fingerprint(video_state((a, b)), made_by(["sync"]), stages.sync, offset)).part(
        "sync", compute
    )
    pairs = FramePairs(kept["a"], kept["b"], kept["error"])
    return sync_from_fields(json.loads(str(kept["text"])), pairs)


def _calibrated(
    a: Video,
    b: Video,
    pairs: Any,
    given: Rig | None,
    lenses: tuple[Any, ...],
    stages: Config,
    work: Path,
    progress: Progress,
) -> Calibration:
    from wideflow.calibration import Calibration, check_rig, fit_rig
    from wideflow.pipeline.before.dense_calibration import calibrate

    if given is not None:
        return Calibration(fit_rig(given, a, b), check_rig(given, a, b, pairs, progress))
    return calibrate(a, b, pairs, (lenses[0], lenses[1]), stages.calibrate, work, progress)


def _check_output(path: Path) -> None:
    """Refuse now what could not be written after a long computation."""
    if path.suffix.lower() != ".json":
        raise FileError(f"cannot write '{path}': cameras go into .json; rename it")
    if path.name == _REPORT:
        raise FileError(f"cannot write '{path}': the report has this name; call the cameras rig.json")
    if path.is_dir():
        raise FileError(f"cannot write '{path}': it is a directory; give the name of a file")


def _summary(out: Path, found: Calibration) -> str:
    from wideflow.verdict.judge import rolling_words, scale_words

    report = found.report
    angle = sorted(report.axis_angle)[len(report.axis_angle) // 2]
    error = report.reprojection_error_median
    known = f"error {error:.2f} px, " if error == error and not report.doubts else ""
    return (
        f"{out}: {len(found.rig.frames)} of {report.frames} frames, optical axes {angle:.1f} degrees apart, "
        f"{known}{report.inliers_across:.0f} points seen by both; "
        f"focal lengths {report.focal_lengths[0]:.0f} px ({report.intrinsics_source[0]}) and "
        f"{report.focal_lengths[1]:.0f} px ({report.intrinsics_source[1]}); "
        f"{rolling_words(report.as_dict(), 'rows are exposed over {}; ')}"
        f"scale: {scale_words(report.as_dict())}"
    )
