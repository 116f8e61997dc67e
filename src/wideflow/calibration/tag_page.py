"""The page to print: a tag of known size, a ruler that shows whether the printer kept it, one instruction."""

from __future__ import annotations

from wideflow.errors import InputError
from wideflow.files.pdf import Box, pdf_page
from wideflow.geometry.tags import CELLS, tag_cells

PAPERS = {"a4": (0.210, 0.297), "letter": (0.2159, 0.2794)}  # metres
SMALLEST = 0.02  # metres: smaller ones are seen by nobody across a room
_EDGE = 0.004  # metres at the border of the paper that printers leave white
_FOOT = 0.040  # metres below for ruler and text
_RULER, _FINE = 0.10, 0.01


def tag_page(size: float, number: int, paper: str) -> bytes:
    """A PDF of one page.

    Parameters
    ----------
    size : float
        Side of the tag's black square, metres.
    number : int
        Which tag of the family.
    paper : str
        One of `PAPERS`.

    Raises
    ------
    InputError
        The tag does not fit on the paper, or there is no such tag or paper.
    """
    if paper not in PAPERS:
        raise InputError(f"--paper is {' or '.join(PAPERS)}, not '{paper}'")
    width, height = PAPERS[paper]
    largest = min(width - 2 * _EDGE, height - _FOOT - 2 * _EDGE)
    if not SMALLEST <= size <= largest:
        raise InputError(
            f"a tag of {size:g} m does not go on {paper}; --size is {SMALLEST:g} to {largest:.3f} metres"
        )
    cell = size / CELLS
    left = (width - size) / 2
    low = _FOOT + (height - _FOOT - size) / 2
    white = [
        (left + column * cell, low + (CELLS - 1 - row) * cell, cell, cell)
        for row, cells in enumerate(tag_cells(number))
        for column, lit in enumerate(cells)
        if lit
    ]
    margin = min(left, height - low - size)
    texts = [
        (0.020, 0.029, 0.0046, f"Wideflow tag {number} of {size:g} m: the side of the black square."),
        (
            0.020,
            0.022,
            0.0034,
            f"Print at 100 %, keep it flat where both cameras see it, and run with --tag-size {size:g}.",
        ),
        (0.020 + _RULER + 0.004, 0.009, 0.0034, "This ruler must measure 100 mm."),
    ]
    if margin < cell:
        around = f"Fix it on white card that stands out {1000 * cell:.0f} mm all round."
        texts.append((0.020, 0.017, 0.0034, around))
    return pdf_page((width, height), [(0, [(left, low, size, size)]), (1, white), (0, _ruler())], texts)


def _ruler() -> list[Box]:
    """A line of 10 cm with a mark every centimetre."""
    thin, x, y = 0.0003, 0.020, 0.008
    marks = [
        (x + i * _FINE - (i > 0) * (i / 10) * thin, y, thin, 0.006 if i % 5 == 0 else 0.004)
        for i in range(round(_RULER / _FINE) + 1)
    ]
    return [(x, y, _RULER, thin), *marks]
