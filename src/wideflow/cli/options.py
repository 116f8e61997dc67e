"""Options that several commands share, so that they read and behave alike."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wideflow.errors import InputError
from wideflow.verdict import Verdict

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor summary.")]
Seed = Annotated[int, typer.Option(help="Where chance starts; the same seed gives the same bits.")]
MatchSeed = Annotated[
    int | None,
    typer.Option(help="Where chance starts; the same seed gives the same bits.", min=0, max=2**32 - 1),
]
Threads = Annotated[int | None, typer.Option(help="Threads; all cores unless given.", min=1)]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings, a table for each stage.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="STAGE.KEY=VALUE", help="One setting, such as match.particles=5; may be repeated."
    ),
]
Proposals = Annotated[
    Path | None,
    typer.Option(
        help="Flows of your own to propose: a folder as export --to flo writes it, or a network.onnx."
    ),
]
Preset = Annotated[str, typer.Option(help="Settings to start from: fast, default or paper.")]


def parse_size(option: str, text: str) -> tuple[int, int]:
    """Width and height of ``960x540``, the value of ``option``."""
    match = re.fullmatch(r"([0-9]{1,6})\s*[xX×]\s*([0-9]{1,6})", text.strip())
    if match is None:
        raise InputError(
            f"{option} {text} is not a picture size; write width x height in pixels, such as 960x540"
        )
    return int(match[1]), int(match[2])


def parse_frames(text: str | None, stride: int) -> slice:
    """The frames of ``10:60``; either number may be missing."""
    if text is None:
        return slice(0, None, stride)
    parts = re.fullmatch(r"\s*([0-9]{0,9})\s*:\s*([0-9]{0,9})\s*", text)
    if parts is None:
        raise InputError(f"--frames {text} is not of the form START:STOP, such as 10:60")
    start, stop = int(parts[1] or 0), int(parts[2]) if parts[2] else None
    if stop is not None and stop <= start:
        raise InputError(f"--frames {text} holds no frame; give a STOP above START")
    return slice(start, stop, stride)


def end_with(verdict: Verdict, quiet: bool) -> None:
    """Say what to think of a result, doubts on stderr, and leave with exit code 3 if it is not trusted."""
    if verdict.grade != "good":
        for words in (verdict.headline, *verdict.reasons):
            say(words)
    elif not quiet:
        print(verdict.headline)
    if not verdict.trusted:
        raise typer.Exit(verdict.exit_code)


def say(message: Any, *_: Any, **__: Any) -> None:
    """A warning as one line for the user; takes the place of ``warnings.showwarning``."""
    print(f"wideflow: {message}", file=sys.stderr)
