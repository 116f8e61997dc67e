"""The undistorted pictures of both cameras, for the formats that refer to them."""

from __future__ import annotations

from pathlib import Path

from wideflow.files import write_image
from wideflow.storage.result import Result


def picture_name(letter: str, t: int) -> str:
    """File name of the picture of camera a or b; no folders, as some readers drop them."""
    return f"{letter}_{t:06d}.png"


def write_pictures(result: Result, t: int, folder: Path) -> None:
    """Write both pictures of a moment."""
    write_image(folder / picture_name("a", t), result.picture_a(t))
    write_image(folder / picture_name("b", t), result.picture_b(t))
