"""What CONTRIBUTING.md tells people to do works, and its map is that of the house."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import wideflow
from conftest import SLOW_FILES, SLOW_TESTS
from page_commands import ROOT, blocks, run_line
from result_scenes import perfect_result

PAGE = ROOT / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
PACKAGE = ROOT / "src/wideflow"


def test_an_exporter_is_one_file_and_one_line(tmp_path: Path) -> None:
    made = perfect_result(tmp_path, frames=2, size=(64, 36))
    house = tmp_path / "house" / "wideflow"
    shutil.copytree(PACKAGE, house, ignore=shutil.ignore_patterns("__pycache__"))
    (line,) = (text for language, text in blocks(PAGE) if language == "text")
    (place,) = re.findall(r"into `FORMATS` in `src/wideflow/([\w/.]+)`", TEXT)
    registry = house / place
    before = registry.read_text()
    registry.write_text(before.replace("FORMATS = {\n", f"FORMATS = {{\n{line}", 1))
    (place,) = re.findall(r"The file is `src/wideflow/([\w/]+)/NAME\.py`", TEXT)
    shutil.copy(ROOT / "examples/add_an_exporter/xyz.py", house / place)

    command = [sys.executable, "-m", "wideflow", "export"]
    env = os.environ | {"PYTHONPATH": str(house.parent)}
    words = [str(tmp_path / "out"), "--to", "xyz", "-o", str(tmp_path / "points")]
    subprocess.run([*command, *words], check=True, env=env, cwd=tmp_path)
    told = subprocess.run([*command, "--help"], check=True, env=env, capture_output=True, text=True)
    assert "xyz: points as text" in " ".join(re.sub(r"[│\s]+", " ", told.stdout).split())
    known = np.isfinite(made.depth(1))
    read = np.loadtxt(tmp_path / "points/points.0001.xyz")
    np.testing.assert_allclose(read[:, :3], made.points(1)[known], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(read[:, 3:], made.picture_a(1)[known])


def test_every_room_is_on_the_map() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(re.findall(r"`(\w+)/`", TEXT))


def test_commands_and_links_exist() -> None:
    for language, text in blocks(PAGE):
        for line in text.splitlines() if language == "sh" else ():
            run_line(line)
    for target in re.findall(r"`make (\w+)`", TEXT):
        run_line(f"make {target}")
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / link).is_file(), link


def test_the_version_stands_once_and_the_newest_change_is_its() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest
    assert newest[1] == wideflow.__version__


def test_the_lock_has_every_dependency_and_no_address() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    names = pytest.importorskip("packaging.utils")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert "://" not in lock
    locked: dict[str, list[str]] = {}
    for line in lock.splitlines():
        if found := re.match(r"([\w.-]+)==([^\s;]+)", line):
            locked.setdefault(names.canonicalize_name(found[1]), []).append(found[2])
    wanted = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    for requirement in map(requirements.Requirement, wanted):
        versions = locked.get(names.canonicalize_name(requirement.name), [])
        assert versions, f"{requirement.name} is not in constraints.txt: make lock"
        assert all(requirement.specifier.contains(version) for version in versions), requirement


def test_the_citation_names_software_and_paper() -> None:
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(cited)
    paper = cited["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == [
        "Richardt", "Kim", "Valgaerts", "Theobalt",
    ]  # fmt: skip
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace(">", " ")
    assert paper["title"] in " ".join(readme.split())
    assert paper["year"] == 2016


def test_tests_that_are_said_to_be_slow_exist() -> None:
    tests = ROOT / "tests"
    for name in SLOW_FILES:
        assert list(tests.rglob(name)), name
    for name, functions in SLOW_TESTS.items():
        text = (tests / name).read_text(encoding="utf-8")
        for function in functions:
            assert f"def {function}(" in text, f"{name}: {function}"


def test_pythons_that_were_tried_are_those_of_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / ".ci")
    import wheels

    assert wheels.SUPPORTED == ["3.11", "3.12", "3.13"]
    place = {version: Path(f"/usr/bin/python{version}") for version in wheels.SUPPORTED}
    every = [(trial.version, trial.kind) for trial in wheels.plan_trials(place, "3.12")]
    assert every == [("3.11", "newest"), ("3.13", "newest"), ("3.11", "lowest")]
    lowest = wheels.plan_trials(place, "3.11")[-1].pins
    assert "numpy==1.26" in lowest
    alone = wheels.plan_trials({"3.12": place["3.12"]}, "3.12")
    assert [(trial.version, trial.kind) for trial in alone] == [("3.12", "newest")]
    assert wheels.find_python("3.99") is None
