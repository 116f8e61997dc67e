"""Configuration: where values come from, and what a mistake in one is answered with."""

import tomllib
from contextlib import suppress
from dataclasses import FrozenInstanceError, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wideflow.config import PRESETS, Config, LevelPasses, MatchConfig, load_config
from wideflow.config.setting import Stage, build, setting
from wideflow.errors import ConfigError, FileError


@dataclass(frozen=True)
class ToyStage(Stage):
    """A setting of every kind."""

    name: str = setting("red", "a colour", choices=("red", "green", "blue"))
    loud: bool = setting(False, "whether it sounds")
    share: float = setting(0.5, "a part", minimum=0, maximum=1)
    count: int = setting(4, "a number", choices=(1, 2, 4, 8))
    steps: tuple[int, ...] = setting((1, 2), "some numbers", minimum=0)


@dataclass(frozen=True)
class ToyConfig:
    toy: ToyStage = ToyStage()


def toy(**values: Any) -> ToyStage:
    return build(ToyConfig, [("here: ", {"toy": values})]).toy


def write(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_without_anything() -> None:
    assert load_config() == Config()
    assert load_config().match == MatchConfig()


def test_later_layers_win(tmp_path: Path) -> None:
    path = write(tmp_path, "[match]\nparticles = 2\nstep = 5\n[match.stereo]\nweight_colour = 7\n")
    config = load_config(path, ["match.particles=5", "match.particles=4"], preset="paper").match
    assert config.particles == 4  # the last assignment, over the first and the file
    assert config.step == 5.0  # the file, over the preset
    assert config.stereo.weight_colour == 7.0  # in a table within a table
    assert config.stereo.coarse.pairwise == (0.01, 0.02, 0.1, 1.0)  # the preset, over the default
    assert config.seed == MatchConfig().seed


@given(st.integers(1, 16), st.lists(st.floats(0, 1e6), min_size=4, max_size=4))
@settings(deadline=None, max_examples=40)
def test_file_and_assignment_give_the_same(particles: int, weights: list[float]) -> None:
    default = len(MatchConfig().optical.coarse.pairwise)
    weights = (weights * default)[:default]
    layer = tomllib.loads(f"[match]\nparticles = {particles}\n[match.optical.coarse]\npairwise = {weights}\n")
    assigned = load_config(
        settings=[f"match.particles={particles}", f"match.optical.coarse.pairwise = {weights}"]
    )
    assert build(Config, [("", layer)]) == assigned
    coarse = replace(MatchConfig().optical.coarse, pairwise=tuple(weights))
    optical = replace(MatchConfig().optical, coarse=coarse)
    assert assigned.match == MatchConfig(particles=particles, optical=optical)


def test_every_pass_has_its_iterations_and_its_weight() -> None:
    both = ["match.stereo.coarse.iterations=[1]", "match.stereo.coarse.pairwise=[0.2]"]
    assert load_config(settings=both).match.stereo.coarse.pairwise == (0.2,)
    with pytest.raises(
        ConfigError, match=r"match\.stereo\.coarse: iterations has 1 passes and pairwise \d; give both"
    ):
        load_config(settings=both[:1])


def test_every_preset_is_valid_and_differs() -> None:
    assert set(PRESETS) == {"default", "fast", "paper"}
    assert len({load_config(preset=name) for name in PRESETS}) == 3


def test_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="no preset 'papr'; the nearest valid one is paper"):
        load_config(preset="papr")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("match.particels=5", "no setting match.particels; the nearest valid one is match.particles"),
        ("particles=5", "there is no setting particles; the nearest valid one is match.particles"),
        ("mtach.step=5", "there is no setting mtach.step; the nearest valid one is match.step"),
        (
            "match.particles.x=5",
            "there is no setting match.particles.x; the nearest valid one is match.particles",
        ),
        ("match=5", "match is a table, not a value; set match.particles and so on"),
        ("match.particles=0", "match.particles = 0 is too small; the nearest valid value is 1"),
        ("match.particles=1000", "match.particles = 1000 is too large; the nearest valid value is 16"),
        ("match.particles=2.9", "match.particles = 2.9 is not a whole number; the nearest valid value is 3"),
        ("match.particles=-2.9", "= -2.9 is not a whole number; the nearest valid value is 1"),
        ("match.particles=true", "match.particles = true must be a whole number, such as 2"),
        ("match.particles=many", "match.particles = 'many' must be a whole number, such as 2"),
        ("match.particles=[3]", r"match.particles = \[3\] must be a whole number, such as 2"),
        ("match.particles=2020-01-01", "match.particles = .* must be a whole number, such as 2"),
        ("match.step=true", "match.step = true must be a number, such as"),
        ("match.step=nan", "match.step = nan must be a finite number, such as"),
        ("match.step=inf", "match.step = inf must be a finite number, such as"),
        ("match.step=-1", "match.step = -1.* is too small; the nearest valid value is 0"),
        ("match.stereo.coarse.pairwise=5", r"coarse.pairwise = 5 must be a list of values, such as \[0.0"),
        (
            "match.stereo.coarse.pairwise=[]",
            r"coarse.pairwise = \[\] must be a list of values, such as \[0.0",
        ),
        ("match.stereo.coarse.pairwise=[9, -1]", r"coarse.pairwise = \[9, -1\]: -1.* is too small; .* is 0"),
        ("match.stereo.coarse.pairwise=[9, 'x']", r"coarse.pairwise = \[9, 'x'\]: 'x' must be a number"),
        ("match.particles", "--set 'match.particles' is not of the form stage.key=value"),
        ("match.particles=", "--set 'match.particles=' is not of the form stage.key=value"),
        ("=5", "--set '=5' is not of the form stage.key=value"),
        ("match.seed=0x" + "f" * 9000, "= 0xfff.* is too large; the nearest valid value is 4294967295"),
        ("match.step=1" + "0" * 400, "must be a finite number"),
        ("match.particles=5\nmatch.coarsest=64", "must be a whole number"),  # one assignment, not two
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_nearest(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        load_config(settings=[text])
    assert str(caught.value).startswith("--set")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[match]\nparticels = 5\n", "no setting match.particels; the nearest valid one is match.particles"),
        ("[match]\nparticles = 0\n", "match.particles = 0 is too small; the nearest valid value is 1"),
        ("[mtach]\n", "there is no setting mtach"),
        ("match = 3\n", "match is a table, not a value"),
        ("[match\n", "is not valid TOML: .* line 1"),
        ("a" + ".a" * 500 + " = 1\n", "there is no setting a.a.a"),  # deeper than a recursion should go
        ("a = " + "[" * 5000 + "\n", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_names_the_file(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=sentence) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"'{path}'")


def test_a_file_that_is_no_text_or_missing(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(ConfigError, match=r"picture.png' is not a text file in UTF-8"):
        load_config(tmp_path / "picture.png")
    with pytest.raises(FileError, match=r"none.toml' does not exist"):
        load_config(tmp_path / "none.toml")


def test_an_empty_table_changes_nothing(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, "# all as it is\n[match]\n")) == Config()


@given(st.text(), st.text())
@settings(deadline=None, max_examples=100)
def test_no_text_raises_anything_else(key: str, value: str) -> None:
    for text in (
        key,
        f"{key}={value}",
        f"match.particles={value}",
        f"match.stereo.coarse.pairwise=[{value}]",
    ):
        with suppress(ConfigError):
            assert isinstance(load_config(settings=[text]), Config)


@pytest.mark.parametrize("depth", [10, 100, 250, 400, 1000])
def test_nested_lists_are_only_a_wrong_type(depth: int) -> None:
    with pytest.raises(ConfigError, match="must be a"):
        load_config(settings=[f"match.stereo.coarse.pairwise={'[' * depth}1{']' * depth}"])


def test_all_kinds_of_settings() -> None:
    made = toy(name="green", loud=True, share=1, count=8, steps=[3, 0])
    assert made == ToyStage("green", True, 1.0, 8, (3, 0))
    assert type(made.share) is float
    assert type(made.steps) is tuple


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"name": "gren"},
            r"toy.name = 'gren' is not one of \['red', 'green', 'blue'\]; .* value is 'green'",
        ),
        ({"name": 3}, "toy.name = 3 must be a text, such as 'red'"),
        ({"loud": 1}, "toy.loud = 1 must be true or false, such as false"),
        ({"share": 1.5}, "toy.share = 1.5 is too large; the nearest valid value is 1"),
        ({"count": 7}, r"toy.count = 7 is not one of \[1, 2, 4, 8\]; the nearest valid value is 8"),
        ({"steps": [1, True]}, r"toy.steps = \[1, true\]: true must be a whole number, such as 1"),
        ({"steps": {}}, "toy.steps = a table must be a list of values"),
    ],
)
def test_all_kinds_of_mistakes(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^here: {sentence}"):
        toy(**values)


def test_values_given_in_python_are_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"MatchConfig.particles = 0 is too small; .* value is 1"):
        MatchConfig(particles=0)
    passes = LevelPasses(iterations=[1, 2], pairwise=[0, 1])  # type: ignore[arg-type]
    assert passes.pairwise == (0.0, 1.0)
    with pytest.raises(FrozenInstanceError):
        MatchConfig().particles = 5  # type: ignore[misc]
