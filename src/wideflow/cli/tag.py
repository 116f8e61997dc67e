"""``wideflow tag``: a page to print, whose tag tells the scale of a shoot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from wideflow.cli.options import Quiet
from wideflow.errors import FileError

EXAMPLE = "wideflow tag -o tag.pdf --size 0.15"


def run(
    out: Annotated[Path, Option("--out", "-o", help="Page to write, .pdf.")],
    size: Annotated[float, Option(help="Side of the black square in metres.")] = 0.20,
    number: Annotated[int, Option("--id", metavar="N", help="Which tag, 0 to 586.")] = 0,
    paper: Annotated[str, Option(metavar="a4|letter", help="Paper of the printer.")] = "a4",
    quiet: Quiet = False,
) -> None:
    """Print a tag of known size, from which run and calibrate take the scale.

    Writes a page with the tag, a ruler to check the printer's scaling, and one
    line on how to use it. Film it with both cameras, and give its size:
    wideflow run a.mp4 b.mp4 -o result --tag-size 0.20
    """
    if out.suffix.lower() != ".pdf":
        raise FileError(f"cannot write '{out}': a page goes into .pdf; rename it")

    from wideflow.calibration.tag_page import tag_page
    from wideflow.files import write_bytes

    write_bytes(out, tag_page(size, number, paper))
    if not quiet:
        print(f"{out}: tag {number} of {size:g} m; print it at 100 % and check the ruler")
