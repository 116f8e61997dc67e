"""``wideflow check-result``: whether a result is as it was written."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from wideflow.cli.options import Quiet
from wideflow.progress import show_progress

EXAMPLE = "wideflow check-result result"


def run(
    out: Annotated[str, Argument(metavar="OUT", help="Folder or URL that 'wideflow run' has written.")],
    quiet: Quiet = False,
) -> None:
    """Compare every byte of a result with its checksums.

    Lists what is missing or damaged; the same 'wideflow run' that made the
    result computes just that again. Ends with exit code 0 if the result is
    whole, and 3 if it is not. What OUT/work keeps is listed too, but is no
    part of the result.
    """
    from wideflow.storage.check import check_result
    from wideflow.verdict.findings import NOT_TRUSTED

    with show_progress(quiet) as progress:
        found = check_result(out, progress)
    for problem in found.problems:
        print(f"{out}: {problem}")
    for problem in found.work:
        print(f"{out}: {problem}; the result does not need it, and a run that does computes it again")
    if not quiet:
        how = "as they were written" if found.checksums else "readable (it has no checksums)"
        print(f"{out}: {found.moments} moments, {found.arrays} arrays are {how}; {_count(found.problems)}")
    if found.problems:
        raise typer.Exit(NOT_TRUSTED)


def _count(problems: tuple[str, ...]) -> str:
    if not problems:
        return "nothing is missing or damaged"
    return f"{len(problems)} {'piece is' if len(problems) == 1 else 'pieces are'} missing or damaged"
