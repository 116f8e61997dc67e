"""Options that several commands share, so that they read and behave alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from wideflow.errors import InputError

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor summary.")]
Seed = Annotated[int, typer.Option(help="Where chance starts; the same seed gives the same bits.")]
MatchSeed = Annotated[
    int | None,
    typer.Option(help="Where chance starts; the same seed gives the same bits.", min=0, max=2**32 - 1),
]
Workers = Annotated[int | None, typer.Option(help="Threads; all cores unless given.", min=1)]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file with settings, a table for each stage.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="STAGE.KEY=VALUE", help="One setting, such as match.particles=5; may be repeated."
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
