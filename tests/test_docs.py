"""The documentation: its code runs, its pages are built without a warning and need no network."""

import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.publish import publish

import wideflow
from page_commands import ROOT, blocks, command_lines, copy_clips, prepare, run_line
from result_scenes import perfect_result
from wideflow.evaluate import run_dataset
from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.experiments import ablation, contamination, failures, initialisation, parts, sequence
from wideflow.evaluate.run_stages import MEASURED
from wideflow.evaluate.stage_result import StageResult
from wideflow.evaluate.video import track
from wideflow.evaluate.video.found import Nothing
from wideflow.files import write_flow
from wideflow.geometry import PairGeometry, fundamental_matrix
from wideflow.synth import SynthConfig
from wideflow.synth import suite as suites
from wideflow.synth.video_suite import video_suite

PAGES = sorted((ROOT / "docs").glob("*.md"))
# what a block can be, other than sh and python, which are run
OTHER_KINDS = ("text", "json", "toml", "yaml")
SCHEDULER = "tcp://head:8786"  # of which a page speaks


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scene and a result as the pages name them."""
    place = tmp_path_factory.mktemp("docs")
    perfect_result(place, frames=2, size=(96, 54))
    return place


@pytest.fixture
def shortened(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the scene in which rendering copies it and stages give the truth, to save the time."""

    def copy(out: Path, config: SynthConfig, *_: Any) -> None:
        shutil.copytree(small / "scene", out, dirs_exist_ok=True)
        if config.video:
            copy_clips(out)

    def stages(sample: Sample, config: Any, stage: str = "all") -> list[StageResult]:
        found = [
            StageResult(s, sample.stereo, sample.optical, sample.loop, sample.depth, sample.motion)
            for s in MEASURED
        ]
        return found if stage == "all" else [found[MEASURED.index(stage)]]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("wideflow.cli.synth.render", copy)
    monkeypatch.setattr("wideflow.synth.render", copy)
    for module in (run_dataset, sequence, initialisation, contamination, failures, parts):
        monkeypatch.setattr(module, "run_stages", stages)
    monkeypatch.setattr("wideflow.evaluate.methods.run_stages", stages)
    flow = SimpleNamespace(forward=SimpleNamespace(uv=np.zeros((54, 96, 2), np.float32)))
    monkeypatch.setattr(ablation, "match", lambda *_: flow)
    copy(tmp_path / "scene", SynthConfig())
    shutil.copytree(small / "out", tmp_path / "out")
    prepare(tmp_path, monkeypatch)
    for name in suites.suite():
        (tmp_path / "mine" / name).mkdir(parents=True)
        write_flow(tmp_path / "mine" / name / "stereo0_0000.flo", np.zeros((54, 96, 2), np.float32))
    for name in video_suite((96, 54)):
        (tmp_path / "mine" / name).mkdir(parents=True)
        np.savez(tmp_path / "mine" / name / "found0_0000.npz", depth=np.ones((54, 96)))
    monkeypatch.setattr(track, "run_clip", lambda clip, *_: Nothing(clip, [0, 1]))
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_of_a_known_kind(page: Path) -> None:
    for language, body in blocks(page):
        assert language in ("sh", "python", *OTHER_KINDS), body


@pytest.mark.xdist_group("pages")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, shortened: Path) -> None:
    lines = command_lines(page)
    if not any(SCHEDULER in line for line in lines):
        for line in lines:
            run_line(line)
        return
    distributed = pytest.importorskip("distributed", reason="needs the extra cluster")
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        for line in lines:
            run_line(line.replace(SCHEDULER, cluster.scheduler_address))


def names(folder: Path) -> dict[str, Any]:
    """What the Python of the pages takes for granted: the pictures, cameras and flows of a step."""
    scene = wideflow.read_handheld(folder / "scene")
    a, b, a_next, b_next = (scene.image(c, t) for t in (0, 1) for c in (0, 1))
    flows, back = scene.flows(0, 0), scene.flows(1, 0)
    forward = wideflow.Flow(flows.stereo, np.ones(flows.stereo.shape[:2], np.float32))
    found = SimpleNamespace(forward=forward, backward=SimpleNamespace(uv=back.stereo))
    frames = scene.rig.frame(0), scene.rig.frame(1)
    seen = np.zeros(flows.stereo.shape[:2], bool)
    dense = {"optical_a": flows.optical, "stereo": flows.stereo, "optical_b": back.optical}
    return {
        "wideflow": wideflow, "rig": scene.rig, "first": a, "second": b, "found": found,
        "a": a, "b": b, "a_next": a_next, "b_next": b_next,
        **{name: np.nan_to_num(flow) for name, flow in dense.items()},
        "stereo_next": np.nan_to_num(scene.flows(0, 1).stereo), "occlusion_masks": [seen] * 4,
        "stereo_confidence": forward.confidence,
        "F_t": fundamental_matrix(*frames[0].views), "F_t1": fundamental_matrix(*frames[1].views),
        "occluded": seen,
    }  # fmt: skip


PYTHON = [page for page in PAGES if any(language == "python" for language, _ in blocks(page))]


@pytest.mark.parametrize("page", PYTHON, ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small)
    space = names(small)
    # such small pictures have too few points to find the cameras by
    true = PairGeometry.from_views(*space["rig"].frame(0).views)
    monkeypatch.setattr("wideflow.matching.estimate_geometry", lambda _: true)
    monkeypatch.setattr("wideflow.matching.reestimate_geometry", lambda *_: true)
    for language, body in blocks(page):
        if language == "python":
            exec(compile(body, page.name, "exec"), space)


def test_formulas_become_mathml_and_code_stays() -> None:
    pytest.importorskip("latex2mathml")
    sys.path.insert(0, str(ROOT / "docs/_build"))
    try:
        from mathml import on_page_markdown
    finally:
        sys.path.pop(0)
    text = on_page_markdown("Let $x^2$ be.\n\n$$\\frac{a}{b}$$\n\n`$HOME` and\n\n```sh\necho $A $B\n```\n")
    assert text.count("<math") == 2
    assert "<mfrac>" in text
    assert "`$HOME`" in text
    assert "echo $A $B" in text


def test_the_site_is_built_without_a_warning_and_asks_nobody(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    import subprocess

    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # the theme advertises its successor
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    loaded = re.compile(
        r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*stylesheet[^>]*//"""
    )
    for page in pages:
        assert not loaded.search(page.read_text(encoding="utf-8")), page
    assert "<mfrac>" in (tmp_path / "method/index.html").read_text(encoding="utf-8")


def test_tables_of_experiments_are_put_into_the_pages(tmp_path: Path) -> None:
    from wideflow.evaluate.table import write_tables

    docs, results = tmp_path / "docs", tmp_path / "results"
    (results / "toy").mkdir(parents=True)
    docs.mkdir()
    rows = [
        {"scene": scene, "method": method, "stereo_bad3": value}
        for scene, method, value in (("one", "a", 1.0), ("one", "b", 2.0), ("mean", "a", 3.0))
    ]
    write_tables(results / "toy", "toy", rows)
    (results / "toy/figure.svg").write_text("<svg/>")
    page = docs / "page.md"
    before = "at <!-- size -->1x1<!-- end -->.\n"
    before += "<!-- table toy scene=mean: method, stereo_bad3 -->\nold\n<!-- end -->\ny\n"
    page.write_text(
        before
        + "<!-- pivot toy: scene, method, stereo_bad3 -->\n<!-- end -->\n<!-- table no: a -->\n<!-- end -->\n"
    )
    publish(results, docs, size="8x4")
    text = page.read_text()
    assert "at <!-- size -->8x4<!-- end -->." in text
    assert "| method | stereo_bad3 |\n| --- | --- |\n| a | 3.00 |\n\n<!-- end -->\ny" in text
    assert "| scene | a | b |" in text
    assert "| one | 1.00 | 2.00 |" in text
    assert "old" not in text
    assert (docs / "results/toy.svg").exists()
    publish(results, docs)
    assert page.read_text() == text
