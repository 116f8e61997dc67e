"""`wideflow evaluate`: data sets and the paper's experiments, each with its table and its figure."""

import csv
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from evaluation_sets import constant, sheet, write_kitti, write_middlebury_stereo
from wideflow.cli import evaluate as command
from wideflow.cli import main
from wideflow.config import Config, MatchConfig
from wideflow.evaluate import experiments, run_dataset
from wideflow.evaluate import run_stages as stages
from wideflow.evaluate.datasets import DATASETS
from wideflow.evaluate.datasets.handheld import handheld_samples
from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.experiments import ablation, contamination, failures, parts, sequence
from wideflow.evaluate.experiments import initialisation as start
from wideflow.evaluate.experiments.contamination import Contamination
from wideflow.evaluate.run_stages import MEASURED, run_stages
from wideflow.evaluate.score_sample import score_sample
from wideflow.evaluate.stage_result import StageResult
from wideflow.files import write_flow, write_image
from wideflow.synth import SynthConfig, render
from wideflow.synth.suite import suite


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small scenes, of three frames and of two."""
    place = tmp_path_factory.mktemp("scenes")
    render(place / "one", SynthConfig(angle=10, size=(96, 54), frames=3, seed=5))
    render(place / "two", SynthConfig(angle=20, size=(96, 54), frames=2, seed=4))
    return place


@pytest.fixture
def guessed(monkeypatch: pytest.MonkeyPatch) -> list[Sample]:
    """No stage runs: each gives the truth with an error of its own, 4, 2 and 1 px. Lists the samples."""
    seen: list[Sample] = []

    def run(sample: Sample, config: Config, stage: str = "all") -> list[StageResult]:
        seen.append(sample)
        results = []
        for name, error in zip(MEASURED, (4, 2, 1), strict=True):
            shift = np.float32([error, 0])
            flows = [
                None if flow is None else flow + shift
                for flow in (sample.stereo, sample.optical, sample.loop)
            ]
            results.append(StageResult(name, *flows, sample.depth, sample.motion, ~sample.seen("stereo")))
        return results if stage == "all" else [results[MEASURED.index(stage)]]

    for module in (run_dataset, sequence, start, contamination, failures):
        monkeypatch.setattr(module, "run_stages", run)
    return seen


def rows_of(out: Path) -> list[dict[str, Any]]:
    assert (out / "table.md").read_text().startswith("| ")
    with open(out / "table.csv", newline="") as file:
        assert list(csv.DictReader(file))
    ElementTree.fromstring((out / "figure.svg").read_text())
    return json.loads((out / "results.json").read_text())["rows"]


def test_the_command_knows_every_data_set_and_experiment() -> None:
    assert set(command.DATASETS) == set(DATASETS)
    assert set(command.EXPERIMENTS) == {"filling", *experiments.EXPERIMENTS}


def test_a_data_set_after_each_stage_and_compared_with_before(
    scenes: Path, guessed: list[Sample], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "handheld", str(scenes), "-o", str(tmp_path / "out")]
    assert main(words) == 0
    rows = rows_of(tmp_path / "out")
    assert [(row["scene"], row["stage"]) for row in rows[:4]] == [
        *(("one 0", stage) for stage in MEASURED),
        ("one 1", "match"),
    ]
    assert [row["stereo_bad3"] for row in rows[:3]] == [100, 0, 0]
    assert rows[2]["stereo_mean"] == pytest.approx(1, abs=1e-4)
    assert rows[2]["occluded_f1"] == 100
    assert rows[-1]["scene"] == "mean"
    assert cv2.imread(str(tmp_path / "out/one_0.png")).shape == (4 * 54, 4 * 96, 3)
    assert "| mean | refine |" in capsys.readouterr().out
    before = str(tmp_path / "out/results.json")
    again = ["evaluate", "handheld", str(scenes / "two"), "-o", str(tmp_path / "again"), "--compare", before]
    assert main([*again, "--stage", "match"]) == 0
    told = capsys.readouterr().out
    assert "same    two match" in told
    assert "gone    one 0 match" in told
    assert "| two match | same |" in (tmp_path / "again/comparison.md").read_text()
    assert len(guessed) == 4


def test_the_stages_themselves(scenes: Path) -> None:
    sample = handheld_samples(scenes / "two")[0].load()
    results = run_stages(sample, Config())
    assert [result.stage for result in results] == list(MEASURED)
    for result in results:
        row = score_sample(sample, result)
        assert row["stereo_bad3"] < 60
        assert row["optical_bad3"] < 10
        assert row["depth_bad1"] < 100
        assert {"mae_d", "rmse", "aae", "motion_median", "seconds"} <= set(row)
    pair = replace(sample, pictures=sample.pictures[:2], optical=None, loop=None, depth=None, motion=None)
    (filled,) = run_stages(pair, Config(), "fill")
    assert filled.optical is None
    assert score_sample(pair, filled)["stereo_bad3"] == pytest.approx(
        score_sample(sample, results[1])["stereo_bad3"], abs=5
    )


def test_what_is_computed_only_to_be_measured_takes_no_seconds(
    scenes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = handheld_samples(scenes / "two")[0].load()
    quick = [result.seconds for result in run_stages(sample, Config())]
    inner = stages.first_loop

    def slow(*flows: Any) -> Any:
        time.sleep(sum(quick) + 2)
        return inner(*flows)

    monkeypatch.setattr(stages, "first_loop", slow)
    begun = time.perf_counter()
    seconds = [result.seconds for result in run_stages(sample, Config())]
    assert 0 < seconds[0] < seconds[1] < seconds[2]
    assert seconds[2] < time.perf_counter() - begun - 2 * (sum(quick) + 2)


def test_pairs_and_kitti(tmp_path: Path, guessed: list[Sample], capsys: pytest.CaptureFixture[str]) -> None:
    write_kitti(tmp_path / "kitti")
    assert main(["evaluate", "kitti", str(tmp_path / "kitti"), "-o", str(tmp_path / "k"), "-q"]) == 0
    first, _, last = rows_of(tmp_path / "k")
    assert (first["d1"], first["fl"], first["sf"]) == (100, 100, 100)  # 4 px and 67 % off
    assert (last["d1"], last["d2"], last["fl"], last["sf"]) == (0, 0, 0, 0)
    write_middlebury_stereo(tmp_path / "stereo/Toy")
    assert (
        main(["evaluate", "middlebury-stereo", str(tmp_path / "stereo"), "-o", str(tmp_path / "s"), "-q"])
        == 0
    )
    assert rows_of(tmp_path / "s")[0]["stereo_mean"] == pytest.approx(4, abs=1e-3)
    assert capsys.readouterr() == ("", "")


def test_refinement_of_a_pair_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flow/Toy").mkdir(parents=True)
    write_image(tmp_path / "flow/Toy/frame10.png", sheet(0))
    write_image(tmp_path / "flow/Toy/frame11.png", sheet(3))
    write_flow(tmp_path / "flow/Toy/flow10.flo", constant(3.0, 0.0))
    words = ["evaluate", "middlebury-flow", str(tmp_path / "flow"), "-o", str(tmp_path / "out"), "-q"]
    assert main([*words, "--stage", "refine"]) == 2
    assert "needs four pictures" in capsys.readouterr().err
    assert main(words) == 0
    rows = rows_of(tmp_path / "out")
    assert [row["stage"] for row in rows] == ["match", "fill"]
    assert rows[1]["optical_bad3_all"] < 5


def test_errors_over_a_sequence(
    scenes: Path, guessed: list[Sample], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "sequence", str(scenes), "-o", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    rows = rows_of(tmp_path)
    means = {row["stage"]: row for row in rows if row["scene"] == "mean"}
    assert means["match"]["rmse"] > means["fill"]["rmse"] > means["refine"]["rmse"] > 0.5
    assert ("falls from stage to stage" in told) == sequence.falls(rows)
    falling = [
        {"scene": "a", "stage": s, "mae_d": float(e)} for s, e in zip(MEASURED, (3, 2, 1), strict=True)
    ]
    assert sequence.falls(falling)
    assert not sequence.falls([falling[1] | {"stage": "match"}, falling[0] | {"stage": "fill"}, falling[2]])


def test_with_and_without_matches(scenes: Path, guessed: list[Sample], tmp_path: Path) -> None:
    assert main(["evaluate", "initialisation", str(scenes / "two"), "-o", str(tmp_path), "-q"]) == 0
    without, matched = rows_of(tmp_path)
    assert (without["matches"], matched["matches"]) == ("without", "with")
    assert without["stereo_mean"] > matched["stereo_mean"]
    assert cv2.imread(str(tmp_path / "two_depth.png")).shape == (54, 3 * 96, 3)


def test_contamination(
    scenes: Path,
    guessed: list[Sample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = {name: contamination.CONTAMINATIONS[name] for name in ("clean", "gain 0.4", "all strong")}
    monkeypatch.setattr(contamination, "CONTAMINATIONS", few)
    words = ["evaluate", "contamination", str(scenes / "two"), "-o", str(tmp_path), "--stage", "match"]
    assert main(words) == 0
    rows = rows_of(tmp_path)
    assert [row["ratio"] for row in rows] == [1, 1, 1]
    assert "within the allowed 1.25" in capsys.readouterr().out
    clean, darker, strong = guessed
    assert np.array_equal(clean.pictures[0], darker.pictures[0])
    assert np.allclose(darker.pictures[1], 0.4 * clean.pictures[1], atol=1 / 255)
    assert not np.array_equal(strong.pictures[3], clean.pictures[3])
    rows[2]["ratio"] = 1.3
    assert "beyond" in experiments.conclusion("contamination", rows)


def test_what_each_contamination_does() -> None:
    grey = np.full((50, 50, 3), 0.5, np.float32)
    assert Contamination(gain=0.5)(grey, 0) == pytest.approx(np.full_like(grey, 0.25), abs=0.003)
    assert Contamination(gamma=2.0)(grey, 0) == pytest.approx(np.full_like(grey, 0.25), abs=0.003)
    assert Contamination(balance=(1.2, 1, 0.8))(grey, 0)[0, 0] == pytest.approx([0.6, 0.5, 0.4], abs=0.003)
    noisy = Contamination(noise=0.05)(grey, 0)
    assert noisy.std() == pytest.approx(0.05, rel=0.05)
    assert np.array_equal(noisy, Contamination(noise=0.05)(grey, 0))
    assert not np.array_equal(noisy, Contamination(noise=0.05)(grey, 1))
    assert Contamination(gain=9.0)(grey, 0).max() == 1


def test_ablation(scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[MatchConfig] = []
    real = ablation.match

    def match(a: Any, b: Any, kind: str, views: Any, config: MatchConfig) -> Any:
        configs.append(config)
        return real(a, b, kind, views) if len(configs) == 1 else found[0]

    found = [real(*handheld_samples(scenes / "two")[0].load().pictures[:2], "optical")]
    monkeypatch.setattr(ablation, "match", match)
    assert main(["evaluate", "ablation", str(scenes / "two"), "-o", str(tmp_path), "-q"]) == 0
    rows = rows_of(tmp_path)
    names = [row["without"] for row in rows]
    assert names[:5] == ["nothing", "epipolar term", "search on the line", "sweep of planes", "PMBP"]
    assert len(configs) == len(rows) == len(set(names))
    assert configs[0] == MatchConfig()
    assert configs[names.index("epipolar term")].weight_epipolar == 0
    plain = configs[names.index("PMBP")].stereo
    assert not any(
        (*plain.coarse.pairwise, *plain.swept.pairwise, *plain.middle.pairwise, *plain.final.pairwise)
    )
    colours = [configs[names.index(name)] for name in ("colour term", "colour transform")]
    assert [config.colour_transform for config in colours] == [True, False]
    assert [config.stereo.weight_colour_first for config in colours] == [
        0,
        MatchConfig().stereo.weight_colour,
    ]
    assert [config.stereo.weight_colour for config in colours] == [0, MatchConfig().stereo.weight_colour]
    assert sum(config == MatchConfig() for config in configs) == 1


def test_parts_of_a_step(scenes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[Config] = []

    def stages(sample: Sample, config: Config, stage: str) -> list[StageResult]:
        configs.append(config)
        wrong = sample.stereo + np.float32(10 * (config.match.footprint == 0))
        return [StageResult(stage, wrong, sample.optical, sample.loop, sample.depth, sample.motion)]

    monkeypatch.setattr(parts, "run_stages", stages)
    assert main(["evaluate", "parts", str(scenes / "two"), "-o", str(tmp_path), "-q"]) == 0
    rows = {row["without"]: row for row in rows_of(tmp_path)}
    assert list(rows) == list(parts.WITHOUT)
    assert [config == Config() for config in configs] == [name == "nothing" for name in rows]
    assert {name for name, row in rows.items() if float(row["stereo_bad3"]) > 0} == {"footprints"}


def test_baselines_and_angles(scenes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "cameras", str(scenes / "one"), "-o", str(tmp_path)]) == 0
    rows = rows_of(tmp_path)
    assert [row["scene"] for row in rows] == ["0", "1", "2", "3"]
    assert min(row["baseline"] for row in rows) == 1
    assert all(5 < row["angle"] < 15 for row in rows)
    assert "the baseline varies by" in capsys.readouterr().out
    assert main(["evaluate", "cameras", str(scenes / "one/rig.json"), "-o", str(tmp_path), "-q"]) == 0


def test_failure_cases(
    scenes: Path, guessed: list[Sample], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "failures", str(tmp_path / "suite"), "-o", str(tmp_path / "out"), "-q"]
    (tmp_path / "suite").mkdir()
    assert main(words) == 2
    assert "wideflow synth --suite" in capsys.readouterr().err
    for name in suite():
        (tmp_path / "suite" / name).symlink_to(scenes / "two")
    assert main(words) == 0
    rows = rows_of(tmp_path / "out")
    assert {row["difficulty"] for row in rows} == {"speed", "angle", "weak"}
    assert sorted({row["level"] for row in rows if row["difficulty"] == "angle"}) == [5, 15, 25, 35, 45]
    assert sorted(row["level"] for row in rows if row["difficulty"] == "weak") == [0, 0.2, 0.4, 0.7]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("nonsense here", "there is no experiment 'nonsense'; there are handheld"),
        ("handheld none", "'none' is not a folder"),
        ("handheld . --stage all-of-it", "there is no stage 'all-of-it'"),
        ("sequence . --stage match", "--stage goes with a data set"),
        ("kitti . --methods dis", "--methods goes with handheld, not with kitti"),
        ("handheld . --compare gone.json", "'gone.json' does not exist"),
        ("cameras gone.json", "'gone.json' does not exist"),
        ("sequence .", "neither handheld scenes nor a Daimler set"),
    ],
)
def test_a_mistake_is_one_sentence(
    words: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", *words.split(), "-o", "out", "-q"]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert error.count("\n") == 1
