"""``report.html``: the page of a result in one file that needs no network."""

from __future__ import annotations

from wideflow.files.disk import AnyPath
from wideflow.progress import Progress, silent
from wideflow.report.moment import BUDGET, embedded_moments
from wideflow.report.page_builder import build_page, measure
from wideflow.storage.result import Result

NAME = "report.html"


def write_report(out: AnyPath | Result, progress: Progress | None = None, budget: int = BUDGET) -> str:
    """Write ``OUT/report.html``.

    Parameters
    ----------
    out : path or Result
        A folder or URL that ``wideflow run`` has written, or its result.
    progress : callable, optional
        Called with the moments done, all moments, and what comes next.
    budget : int
        Most bytes of pictures and points; a long result is thinned, and the page says so.

    Returns
    -------
    str
        Where the report is.

    Raises
    ------
    FileError
        There is no result, or the report cannot be written; an older one is then still whole.
    """
    result = out if isinstance(out, Result) else Result(out)
    report = progress or silent
    overview = measure(result)
    moments, detail = embedded_moments(result, overview.scales, overview.centre, report, budget)
    page = build_page(result, overview, list(moments), moments, detail)
    result.place.write(NAME, page.encode())
    report(1, 1, "done")
    return f"{result.place}/{NAME}"
