"""`wideflow evaluate video`: every clip below a folder, with anyone's results or ours computed now."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from wideflow.config import Config
from wideflow.errors import FileError, WideflowError
from wideflow.evaluate.run_dataset import mean_rows
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.evaluate.video.drawing import clip_panels, write_figure
from wideflow.evaluate.video.found import Answer, Nothing, OfResult, open_answer
from wideflow.evaluate.video.pixels import collect
from wideflow.evaluate.video.score import score_pixels
from wideflow.files import read_intrinsics, write_image
from wideflow.files.disk import AnyPath
from wideflow.handheld.clip import Clip, find_clips
from wideflow.progress import Progress, silent
from wideflow.synth.video_suite import HALVES

LOG = logging.getLogger("wideflow")
_STRETCH = 10  # frames in a row that are computed unless others are asked for


def evaluate_video(
    root: AnyPath,
    out: AnyPath,
    config: Config,
    results: AnyPath | None = None,
    frames: slice | None = None,
    progress: Progress = silent,
) -> list[Row]:
    """Score results on the clips below ``root``.

    Writes ``table.csv``, ``table.md``, ``results.json``, ``figure.svg`` and one picture a clip to ``out``.

    Parameters
    ----------
    root, out : path
        A clip or a folder of clips, and the folder for what is written.
    config : Config
        Settings of our own method.
    results : path, optional
        Results of anyone, a folder per clip, or the folder of the only clip. Without it the whole job runs on
        the two videos of each clip, into ``out/runs``; what is there goes on.
    frames : slice, optional
        Of A, for the whole job; ten in the middle unless given, or all with truth where no two of them follow
        each other.
    progress : callable
        Told (clips done, clips in all, what comes next).

    Returns
    -------
    list of dict
        For each clip a row per class of pixels, then the means over clips: of each half, and of all.
    """
    clips = find_clips(root)
    if results is not None and not Path(results).is_dir():
        raise FileError(f"'{results}' is not a folder; give one with the results of the clips")
    folder = open_folder(out)
    rows: list[Row] = []
    for done, clip in enumerate(clips):
        progress(done, len(clips), clip.name)
        if results is not None:
            answer = open_answer(clip, Path(results), len(clips) == 1)
        else:
            answer = run_clip(clip, folder / "runs" / clip.name, config, frames, progress)
        pixels, moments = collect(clip, answer)
        steps = np.diff(answer.frames)
        about: Row = {"moments": len(moments), "step": int(steps.min()) if len(steps) else 0}
        found: list[Row] = [{"scene": clip.name, **row, **about} for row in score_pixels(pixels)]
        found[0] |= answer.cameras()
        rows += found
        write_image(folder / f"{clip.name}.png", clip_panels(clip, answer, moments))
    rows += _means(rows)
    write_tables(folder, "video", rows)
    write_figure(folder / "figure.svg", rows)
    progress(len(clips), len(clips), "done")
    return rows


def run_clip(
    clip: Clip, out: Path, config: Config, frames: slice | None, progress: Progress = silent
) -> Answer:
    """The whole job on the two files of a clip, as `wideflow run --anyway` would do it.

    Where ``lens_a.json`` and ``lens_b.json`` lie beside them, the lenses are given. A job that fails has
    found nothing.
    """
    from wideflow.pipeline.job import Job
    from wideflow.pipeline.run import run_job

    chosen = frames or default_frames(clip)
    lenses = [clip.path / f"lens_{name}.json" for name in "ab"]
    known = [read_intrinsics(path) if path.exists() else None for path in lenses]
    size = max(clip.views[0][0].camera.size)
    videos = clip.path / "a.mp4", clip.path / "b.mp4"
    job = Job(*videos, str(out), config, chosen, size, (known[0], known[1]), anyway=True)
    try:
        run_job(job, None, None, False, progress)
    except WideflowError as error:
        LOG.warning("%s: %s", clip.name, error)
        return Nothing(clip, list(range(*chosen.indices(len(clip.views[0])))))
    return OfResult(clip, out)


def default_frames(clip: Clip) -> slice:
    """Ten frames in the middle, from one whose next has truth too; else all that have truth."""
    times = clip.times()
    if not times:
        raise FileError(f"'{clip.path}' has no truth (gt0_*.npz); render the clip anew")
    pairs = [time for time in times if time + 1 in times]
    if pairs:
        middle = min(pairs, key=lambda time: abs(time - (times[-1] - _STRETCH) // 2 - 4))
        return slice(middle, middle + _STRETCH, 1)
    step = int(np.gcd.reduce(np.diff(times))) if len(times) > 1 else 1
    return slice(times[0], times[-1] + 1, step) if len(times) > 1 else slice(times[0], times[0] + 2, 1)


def _means(rows: list[Row]) -> list[Row]:
    """Means over clips, of each half of the suite and of all."""
    means: list[Row] = []
    for half in HALVES:
        group = mean_rows([row for row in rows if str(row["scene"]).startswith(f"{half}-")], "class")
        means += [{**row, "scene": half} for row in group]
    return means + mean_rows(rows, "class")
