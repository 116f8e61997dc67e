"""Options of a known length, which `run` and `calibrate` share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from typer import Option

from wideflow.errors import InputError

if TYPE_CHECKING:
    from wideflow.pipeline.scale import KnownScale

Distance = Annotated[float | None, Option(metavar="D", help="Known distance between the cameras.")]
Points = Annotated[
    str | None, Option(metavar="X,Y:X,Y", help="Two pixels of A whose distance is --scale-length.")
]
Length = Annotated[float | None, Option(metavar="D", help="Known length between --scale-points.")]
Frame = Annotated[int | None, Option(help="Frame of A for which these hold; the first unless given.")]
TagSize = Annotated[
    float | None,
    Option(metavar="D", help="Side in metres of a tag that both videos show; 'wideflow tag' prints it."),
]


def known_scale(
    distance: float | None, points: str | None, length: float | None, frame: int | None, tag: float | None
) -> KnownScale:
    """What the options say, checked."""
    from wideflow.pipeline.scale import KnownScale

    return KnownScale(distance, None if points is None else _parse_points(points), length, tag, frame)


def _parse_points(text: str) -> tuple[tuple[float, float], tuple[float, float]]:
    number = r"\s*([0-9]+(?:\.[0-9]*)?)\s*"
    parts = re.fullmatch(f"{number},{number}:{number},{number}", text)
    if parts is None:
        raise InputError(f"--scale-points {text} is not of the form X,Y:X,Y, such as 120,80:300,82")
    x, y, x2, y2 = map(float, parts.groups())
    return (x, y), (x2, y2)
