"""One page of PDF: filled rectangles in true size and lines of text in a font that every viewer has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wideflow.errors import InputError

_POINTS = 72 / 0.0254  # a metre
Box = tuple[float, float, float, float]  # x, y, width, height
Line = tuple[float, float, float, str]  # x, y, height of the letters, text


def pdf_page(
    size: tuple[float, float], fills: Iterable[tuple[float, Sequence[Box]]], texts: Iterable[Line]
) -> bytes:
    """A PDF file of one page.

    Parameters
    ----------
    size : (float, float)
        Width and height of the paper in metres.
    fills : iterable of (float, boxes)
        Grey, 0 black to 1 white, and boxes in metres from the lower left corner of the paper. Those of one
        fill are drawn as one shape, so that no seam shows between neighbours; later fills cover earlier ones.
    texts : iterable of lines
        x and y of the start in metres, size of the font in metres, and what to write, in ASCII.

    Returns
    -------
    bytes
    """
    drawing = []
    for grey, boxes in fills:
        shapes = " ".join(f"{_in_points(*box)} re" for box in boxes)
        drawing.append(f"{grey:g} g {shapes} f")
    for x, y, height, text in texts:
        if not text.isascii():
            raise InputError(f"the text '{text}' of a page must be ASCII")
        quoted = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        drawing.append(f"0 g BT /F1 {_in_points(height)} Tf {_in_points(x, y)} Td ({quoted}) Tj ET")
    content = "\n".join(drawing).encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /ViewerPreferences << /PrintScaling /None >> >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %s] /Contents 4 0 R /Resources "
        b"<< /Font << /F1 5 0 R >> >> >>" % _in_points(*size).encode("ascii"),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.6\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (count, table, count, len(out))
    )


def _in_points(*metres: float) -> str:
    return " ".join(f"{value * _POINTS:.4f}" for value in metres)
