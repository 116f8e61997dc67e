"""The commands that make the tables of the pages run: each benchmark, on pictures as small as it gets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from benchmarks import calibrate, chances, confidence, evidence, filling, frames, match, refine, sync

from wideflow.config import CalibrateConfig
from wideflow.synth import SynthConfig, render

TINY = (96, 54)


def tiny(**settings: Any) -> SynthConfig:
    """`SynthConfig` of tiny pictures."""
    return SynthConfig(**{**settings, "size": TINY})


def rows(told: str) -> list[list[str]]:
    """Cells of every line of the tables that were printed, without their heads."""
    lines = [line.strip("| \n").split("|") for line in told.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line]
        for line, after in zip(lines, [*lines[1:], ["x"]], strict=True)
        if not set("".join(line)) <= {"-"} and not set("".join(after)) <= {"-"}
    ]


@pytest.fixture(autouse=True)
def _nothing_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WIDEFLOW_DATA", "WIDEFLOW_CLIPS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("module", "settings", "scenes"),
    [
        (match, {"ANGLES": (8,), "SIZES": (TINY,)}, {"synth08", "96x54"}),
        (evidence, {"SIZES": (TINY,)}, {"96x54"}),
        (filling, {"SIZES": (TINY,)}, {"96x54"}),
        (refine, {"ANGLES": (8,)}, {"synth08"}),
    ],
    ids=["match", "evidence", "filling", "refine"],
)
def test_a_table_of_rendered_scenes(
    module: ModuleType,
    settings: dict[str, Any],
    scenes: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(module, "SynthConfig", tiny)
    for name, value in settings.items():
        monkeypatch.setattr(module, name, value)
    module.main()
    told = rows(capsys.readouterr().out)
    assert {row[0] for row in told} >= scenes
    assert all(any(character.isdigit() for character in row[-1] + row[2]) for row in told)


def test_confidence_against_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(confidence, "SCENES", {"one": SynthConfig(angle=10, seed=501, size=TINY)})
    monkeypatch.setattr(confidence, "CHART", tmp_path / "confidence.svg")
    confidence.main()
    told = rows(capsys.readouterr().out)
    assert [row[0] for row in told] == ["one", "within 1 %", "pixels"]
    assert (tmp_path / "confidence.svg").read_text().startswith("<svg")


def test_speed_and_memory(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(frames, "SIZES", (TINY,))
    frames.main()
    told = rows(capsys.readouterr().out)
    assert {row[1] for row in told if row[0] == "96x54"} >= set(frames.CLOCKS)
    moved = {row[1]: float(row[5]) for row in told if row[1] in frames.CLOCKS}
    assert moved["refine"] > moved["match optical_a"] > 0
    page = frames.PAGE.read_text(encoding="utf-8")
    assert {size for size, _ in frames.published(page)} == {"480x270", "960x540", "1920x1080"}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one rendered clip."""
    folder = tmp_path_factory.mktemp("clips")
    config = SynthConfig(angle=15, frames=36, size=(160, 90), seed=31, video=True, offset=0.2567)
    render(folder / "one", config)
    return folder


@pytest.mark.xdist_group("clips")
@pytest.mark.parametrize(
    ("module", "each", "unit"), [(sync, 3, "ms"), (calibrate, 2, "px")], ids=["sync", "calibrate"]
)
def test_a_table_of_clips(
    module: ModuleType,
    each: int,
    unit: str,
    clips: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIDEFLOW_CLIPS", str(clips))
    few = replace(CalibrateConfig(), dense_moments=2)
    monkeypatch.setattr(calibrate, "calibrate", partial(calibrate.calibrate, config=few))
    module.main()
    told = rows(capsys.readouterr().out)
    assert [row[0] for row in told] == each * ["one"]
    assert any(cell.endswith(f" {unit}") for row in told for cell in row), told


def test_fitted_odds_are_those_that_were_drawn() -> None:
    chance = np.random.default_rng(1)
    tells = np.column_stack([np.ones(40_000), chance.normal(size=(40_000, 2))])
    true = np.array([-0.5, 1.5, -2.0])
    right = chance.random(40_000) < 1 / (1 + np.exp(-tells @ true))
    np.testing.assert_allclose(chances.logistic(tells, right), true, atol=0.1)
