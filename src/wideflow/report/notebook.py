"""A result in a notebook: the report's page, small, in a frame of its own."""

from __future__ import annotations

from html import escape

from wideflow.errors import InputError, WideflowError
from wideflow.files.disk import AnyPath
from wideflow.progress import silent
from wideflow.report.moment import embedded_moments
from wideflow.report.page_builder import build_page, measure
from wideflow.storage.result import Result, show_results_with

BUDGET = 4_000_000  # bytes of all moments in a cell: notebooks are stored with what they show
_HEIGHT = 720
# in a frame the 3D view comes first: the verdict stands above it already
_FRAMED = (
    "header { display: none } main { display: flex; flex-direction: column } "
    "#view { order: -1; margin-top: 0 }"
)


class Shown:
    """What a notebook draws as the last line of a cell.

    Parameters
    ----------
    html : str
        A headline, and a frame with the page.
    headline : str
        For where there is no HTML.
    """

    def __init__(self, html: str, headline: str) -> None:
        self._html, self._headline = html, headline

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self._headline


def show(result: Result | AnyPath, height: int = _HEIGHT, budget: int = BUDGET) -> Shown:
    """A result as a notebook shows it: its verdict, and the report's page with its 3D view in a frame.

    A `Result` at the end of a cell does the same by itself. The frame holds all that it shows: it needs
    neither a server nor a network, and may run no script but the page's own. The notebook grows by its size.

    Parameters
    ----------
    result : Result or path
        What `wideflow.run` has returned or written.
    height : int
        Of the frame, px.
    budget : int
        Most bytes of pictures and points; a long result is thinned, and the page says so.

    Returns
    -------
    Shown
        Draws itself at the end of a cell; ``repr`` of it is the headline.

    Raises
    ------
    InputError
        A height or a budget that is none.
    FileError
        There is no result.
    """
    if height < 1 or budget < 1:
        raise InputError(f"a frame needs a height and a budget above 0, not {height} and {budget}")
    opened = result if isinstance(result, Result) else Result(result)
    overview = measure(opened)
    moments, detail = embedded_moments(opened, overview.scales, overview.centre, silent, budget)
    page = build_page(opened, overview, list(moments), moments, detail)
    page = page.replace("</style>", f"{_FRAMED}\n</style>", 1)
    title = headline(opened)
    # without allow-same-origin the page cannot reach the notebook around it
    frame = (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" title="{escape(title)}" loading="lazy" '
        f'style="width:100%;height:{height}px;border:1px solid #8888;border-radius:6px"></iframe>'
    )
    return Shown(f"<p>{_words(opened)}</p>\n{frame}", title)


def headline(result: Result) -> str:
    """The result in one line."""
    width, height = result.size_a
    return f"{result.place}: {len(result)} moments of {width} x {height} px. {result.verdict.headline}"


def _words(result: Result) -> str:
    width, height = result.size_a
    return (
        f"<b>{escape(result.verdict.headline)}</b> {escape(str(result.place))}: "
        f"{len(result)} moments of {width} × {height} px"
    )


def _page_of(result: Result) -> str:
    """What `Result` shows of itself: the page, or the sentence that says why there is none."""
    try:
        return show(result)._repr_html_()
    except WideflowError as error:
        return f"<p><b>This result cannot be shown:</b> {escape(str(error))}</p>"


show_results_with(_page_of)
