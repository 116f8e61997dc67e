"""Try an installed Wideflow, without its extras, in the current folder: the demo, a run, exports.

python .ci/smoke.py
"""

from __future__ import annotations

import importlib.metadata
import json
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import wideflow
from wideflow.demo import CLIPS

TREE = Path(__file__).resolve().parents[1]


def wide(*words: str | Path, code: int = 0) -> str:
    """Run a command and return what it said; fail on another exit code or a traceback."""
    command = [Path(sys.executable).parent / "wideflow", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == code, f"{words}: exit code {done.returncode}\n{said}"
    assert "Traceback" not in said, said
    return said


def check_package() -> None:
    """It is the installed one, all public names are there, every module loads."""
    home = Path(wideflow.__file__).resolve()
    assert TREE not in home.parents, f"{home} is not an installed package"
    assert importlib.metadata.version("wideflow") == wideflow.__version__
    for name in wideflow.__all__:
        getattr(wideflow, name)
    for module in pkgutil.walk_packages(wideflow.__path__, "wideflow."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def check_demo() -> None:
    """The demo is right, and its result can be taken elsewhere."""
    wide("demo", "-o", "demo")
    truth = json.loads(Path("demo/summary.json").read_text())["truth"]
    assert truth["depth_percent"] < 1, truth
    assert truth["trusted_off_by_1_percent"] < 20, truth
    for name in ("ply", "flo", "colmap"):
        wide("export", "demo", "--to", name, "-o", name, "-q")
        assert any(path.is_file() for path in Path(name).rglob("*")), name


def check_run() -> None:
    """The main job from given cameras."""
    short = ("--frames", "16:18", "--size", "160", "--preset", "fast")
    wide("run", CLIPS / "a.mp4", CLIPS / "b.mp4", "-o", "run", "--rig", CLIPS / "rig.json", *short)
    assert len(wideflow.Result("run")) == 2


def check_extras() -> None:
    """What is not installed says how to get it."""
    for extra, words in (("usd", "export demo --to usd -o a.usd"), ("synth", "synth scene --size 96x54")):
        assert f"wideflow[{extra}]" in wide(*words.split(), code=2)


if __name__ == "__main__":
    assert wideflow.__version__ in wide("--version")
    check_package()
    check_demo()
    check_run()
    check_extras()
