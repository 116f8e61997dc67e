"""A folder of pictures taken as a video."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files import read_image

_SUFFIXES = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".pgm", ".ppm"}


def list_pictures(folder: str | os.PathLike[str]) -> list[Path]:
    """Pictures of a folder in the order of their names, of which the numbers count as numbers."""
    try:
        names = [entry for entry in Path(folder).iterdir() if entry.suffix.lower() in _SUFFIXES]
    except OSError as error:
        raise FileError(f"'{folder}' may not be read; check its permissions") from error
    pictures = sorted((name for name in names if not name.name.startswith(".")), key=_natural)
    if not pictures:
        raise FileError(f"the folder '{folder}' holds no pictures; give one with PNG, JPEG or TIFF files")
    return pictures


def read_picture(path: Path, size: tuple[int, int] | None, dtype: type[np.generic]) -> NDArray[Any]:
    """One picture as (H, W, 3); one of another ``size`` (width, height) is an error."""
    picture = read_image(path)
    height, width = picture.shape[:2]
    if size is not None and (width, height) != size:
        raise InputError(
            f"'{path}' is {width}x{height}, the first picture of its folder {size[0]}x{size[1]}; all "
            "pictures of a video must have one size"
        )
    return picture if dtype == np.float32 else np.rint(picture * 255).astype(np.uint8)


def _natural(path: Path) -> list[tuple[int, str]]:
    return [
        (int(part), "") if part.isascii() and part.isdigit() else (-1, part)
        for part in re.split(r"([0-9]+)", path.name)
    ]
