"""The handheld benchmark: any methods on the same scenes, in one run."""

from __future__ import annotations

from collections.abc import Sequence

from wideflow.config import Config
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.methods import Method, method, stored, with_depth, with_proposals
from wideflow.evaluate.panels import panels
from wideflow.evaluate.run_dataset import mean_rows, write_headlines
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.table import Row, open_folder, write_tables
from wideflow.files import write_image
from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent


def evaluate_methods(
    root: AnyPath,
    out: AnyPath,
    config: Config,
    names: Sequence[str] = (),
    results: AnyPath | None = None,
    progress: Progress = silent,
    proposals: AnyPath | None = None,
) -> list[Row]:
    """Score methods on every time step of the handheld scenes below ``root``.

    Writes ``table.csv``, ``table.md``, ``results.json``, ``figure.svg`` and one picture a step to ``out``.

    Parameters
    ----------
    root, out : path
        The scenes, and the folder for what is written.
    config : Config
        Settings of our own method.
    names : sequence of str
        Of ``wideflow``, ``dis``, ``deepflow`` and ``sgbm``.
    results : path, optional
        Folder with a folder per scene of anyone's results, named after it.
    progress : callable
        Told (steps done, steps in all, what comes next).
    proposals : path, optional
        Folder with a folder per scene of flows that are proposed to our method: a method of its own.
    """
    methods: list[tuple[str, Method]] = [(name, method(name, config)) for name in names]
    if results is not None:
        methods.append(("results", stored(results)))
    if proposals is not None:
        methods.append(("proposals", with_proposals(config, proposals)))
    sources = handheld_samples(root)
    folder = open_folder(out)
    rows: list[Row] = []
    for done, source in enumerate(sources):
        sample = source.load()
        found = []
        for number, (name, run) in enumerate(methods):
            progress(done * len(methods) + number, len(sources) * len(methods), f"{source.name}: {name}")
            found.append(with_depth(sample, run(sample)))
        rows += [{"scene": source.name, "method": one.stage, **score_sample(sample, one)} for one in found]
        write_image(folder / f"{source.name.replace(' ', '_')}.png", panels(sample, found))
    rows += mean_rows(rows, "method")
    write_tables(folder, "handheld", rows)
    write_headlines(folder, rows, "method", "handheld")
    return rows
