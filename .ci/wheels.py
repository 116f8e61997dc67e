"""Build the wheel and try it, outside the source tree, as users of every supported Python install it.

    python .ci/wheels.py [VERSION ...]

On each Python of pyproject.toml that is on PATH or in pyenv, but for the one that runs this (it has the
suite), the wheel is installed with the newest versions of what it needs; on the oldest Python, with the
lowest that pyproject.toml allows. There .ci/smoke.py runs the demo and more. What was not found is named,
not failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PREFIX = "Programming Language :: Python :: 3."
SUPPORTED = [f"3.{line.removeprefix(PREFIX)}" for line in PROJECT["classifiers"] if line.startswith(PREFIX)]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Trial:
    """A wheel on a Python; ``pins`` are further arguments of pip."""

    version: str
    python: Path
    kind: str
    pins: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"Python {self.version} with the {self.kind} versions"


def find_python(version: str) -> Path | None:
    """An interpreter of a version that really starts: shims of pyenv may lead nowhere."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    places = [Path(on_path)] if on_path else []
    places += sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)
    asked = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    for place in places:
        done = subprocess.run([place, "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return place
    return None


def lowest_versions() -> tuple[str, ...]:
    """``name==bound`` for every dependency of the core."""
    bounds = tuple(line.replace(">=", "==") for line in PROJECT["dependencies"])
    assert all(bound.count("==") == 1 for bound in bounds), "every dependency has one lower bound"
    return bounds


def plan_trials(found: dict[str, Path], here: str) -> list[Trial]:
    """The newest versions on all Pythons but this one, the lowest on the oldest supported."""
    others = {version: python for version, python in found.items() if version != here}
    trials = [Trial(version, python, "newest") for version, python in others.items()]
    oldest = SUPPORTED[0]
    if oldest in found:
        trials.append(Trial(oldest, found[oldest], "lowest", lowest_versions()))
    return trials or [Trial(version, python, "newest") for version, python in found.items()]


def run_trial(trial: Trial, wheel: Path, folder: Path) -> str | None:
    """Install and try; None if all is well, else what was said."""
    place = folder / f"{trial.version}-{trial.kind}"
    place.mkdir()
    python = place / "venv/bin/python"
    started = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    for command in (
        [trial.python, "-m", "venv", place / "venv"],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, *trial.pins],
        [python, ROOT / ".ci/smoke.py"],
    ):
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=False, env=environment
        )
        if done.returncode != 0:
            return f"{trial.name}: failed\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    print(f"{trial.name}: works, {time.monotonic() - started:.0f} s", flush=True)
    return None


def main(versions: list[str]) -> int:
    """Run all trials that can be run here."""
    found = {v: python for v in versions or SUPPORTED if (python := find_python(v)) is not None}
    trials = plan_trials(found, "" if versions else HERE)
    with tempfile.TemporaryDirectory(prefix="wideflow-wheels-") as name:
        folder = Path(name)
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
        subprocess.run([*build, "--disable-pip-version-check"], check=True)
        (wheel,) = folder.glob("*.whl")
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # compiling is most of the work: a core each
            failures = [text for text in pool.map(lambda t: run_trial(t, wheel, folder), trials) if text]
    for missing in (v for v in versions or SUPPORTED if v not in found):
        print(f"Python {missing}: not found, not tried")
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures or not trials else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
