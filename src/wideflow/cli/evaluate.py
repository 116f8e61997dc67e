"""``wideflow evaluate``: data sets and the paper's experiments against ground truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from wideflow.cli.options import ConfigFile, Preset, Quiet, Settings, parse_frames
from wideflow.config import load_config
from wideflow.errors import InputError
from wideflow.progress import show_progress

if TYPE_CHECKING:
    from wideflow.evaluate.table import Row

EXAMPLE = "wideflow evaluate handheld scene -o scores"
DATASETS = ("handheld", "daimler", "carpetball", "kitti", "sintel", "middlebury-flow", "middlebury-stereo")
EXPERIMENTS = (
    "filling",
    "ablation",
    "parts",
    "sequence",
    "initialisation",
    "contamination",
    "cameras",
    "failures",
)
VIDEO = "video"
STAGED = ("contamination", "failures")  # experiments that can stop after a stage


def run(
    experiment: Annotated[
        str, Argument(metavar="EXPERIMENT", help="A data set or an experiment, see above.")
    ],
    root: Annotated[Path, Argument(metavar="ROOT", help="Folder with the data; for cameras, a rig.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for the tables, the figure and pictures.")],
    stage: Annotated[str, Option(help="Whose results are scored: match, fill, refine or all.")] = "all",
    methods: Annotated[
        str, Option(help="handheld: methods to compare, of wideflow,dis,deepflow,sgbm.", metavar="NAMES")
    ] = "",
    results: Annotated[
        Path | None, Option(help="handheld, video: folder with any method's results, a folder per scene.")
    ] = None,
    proposals: Annotated[
        Path | None,
        Option(help="handheld: score wideflow with these flows too; a folder per scene, as frames takes it."),
    ] = None,
    frames: Annotated[
        str | None, Option(metavar="START:STOP", help="video: frames of A to compute; STOP is left out.")
    ] = None,
    stride: Annotated[int, Option(help="video: take every n-th of them.", min=1)] = 1,
    compare: Annotated[Path | None, Option(help="results.json of an earlier run to compare with.")] = None,
    config: ConfigFile = None,
    settings: Settings = None,
    preset: Preset = "default",
    quiet: Quiet = False,
) -> None:
    """Measure against ground truth; writes table.csv, table.md, results.json, a figure and pictures.

    Data sets, scored after each stage: handheld (folders of wideflow synth),
    daimler, carpetball, kitti (2015 scene flow), sintel, middlebury-flow,
    middlebury-stereo. video: results of whole clips (wideflow synth --suite
    video), computed if not given. Experiments of the paper: filling (on Sintel);
    ablation (of matching), parts (of the whole step), sequence, initialisation
    and contamination (on handheld scenes); cameras (of a rig); failures (on
    wideflow synth --suite).
    """
    _check(experiment, stage, methods, results, proposals)
    if (frames is not None or stride > 1) and (experiment != VIDEO or results is not None):
        raise InputError("--frames and --stride say what 'evaluate video' computes; leave them out here")
    stages = load_config(config, settings or (), preset)
    before = _read_before(compare)
    with show_progress(quiet) as progress:
        progress(0, 1, "loading (the first run compiles for half a minute)")
        if experiment == "filling":
            from wideflow.evaluate.experiments.filling import evaluate_filling

            rows = evaluate_filling(root, out, stages.fill, progress)
        elif experiment == VIDEO:
            from wideflow.evaluate.video import evaluate_video

            chosen = None if frames is None and stride == 1 else parse_frames(frames, stride)
            rows = evaluate_video(root, out, stages, results, chosen, progress)
        elif methods or results is not None or proposals is not None:
            from wideflow.evaluate.benchmark import evaluate_methods

            names = [name.strip() for name in methods.split(",") if name.strip()]
            rows = evaluate_methods(root, out, stages, names, results, progress, proposals)
        elif experiment in DATASETS:
            from wideflow.evaluate.run_dataset import evaluate_dataset

            rows = evaluate_dataset(experiment, root, out, stages, stage, progress)
        else:
            from wideflow.evaluate.experiments import EXPERIMENTS as RUN

            rows = RUN[experiment](root, out, stages, stage, progress)
    _report(experiment, out, rows, before, quiet)


def _check(experiment: str, stage: str, methods: str, results: Path | None, proposals: Path | None) -> None:
    """Refuse what does not go together before anything is computed."""
    every = (*DATASETS, VIDEO, *EXPERIMENTS)
    if experiment not in every:
        raise InputError(f"there is no experiment '{experiment}'; there are {', '.join(every)}")
    if stage not in ("match", "fill", "refine", "all"):
        raise InputError(f"there is no stage '{stage}'; there are match, fill, refine and all")
    if stage != "all" and (methods or results or proposals or experiment not in DATASETS + STAGED):
        raise InputError(f"--stage goes with a data set, {' and '.join(STAGED)} only")
    for option, given in (("--methods", methods), ("--proposals", proposals)):
        if given and experiment != "handheld":
            raise InputError(f"{option} goes with handheld, not with {experiment}")
    if results and experiment not in ("handheld", VIDEO):
        raise InputError(f"--results goes with handheld and video, not with {experiment}")


def _read_before(path: Path | None) -> list[Row]:
    if path is None:
        return []
    from wideflow.evaluate.table import read_results

    return read_results(path)


def _report(experiment: str, out: Path, rows: list[Row], before: list[Row], quiet: bool) -> None:
    """Say what came out, and how it compares."""
    from wideflow.evaluate.table import TOLERANCE, compare, markdown, write_comparison

    verdicts = compare(rows, before) if before else []
    if verdicts:
        write_comparison(out, verdicts)
    if quiet:
        return
    means = [row for row in rows if row.get("scene") == "mean"]
    print(markdown(means or rows[:40]), end="")
    if experiment in EXPERIMENTS and experiment != "filling":
        from wideflow.evaluate.experiments import conclusion

        print(conclusion(experiment, rows) or "", end="\n")
    for verdict in verdicts:
        change = f"{100 * verdict.change:+.1f} %" if verdict.change == verdict.change else ""
        print(f"{verdict.verdict:7s} {verdict.name} {change}".rstrip())
    if verdicts:
        print(f"(a change of at most {TOLERANCE:.0%} counts as the same)")
    print(f"{out}/table.md: {len(rows)} rows")
