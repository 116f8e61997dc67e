"""Formulas between dollar signs become MathML while pages are built: no script, no font from elsewhere."""

import re

from latex2mathml.converter import convert

_CODE = re.compile(r"(^ {0,3}```.*?^ {0,3}```|`[^`\n]+`|^    .*?$)", re.DOTALL | re.MULTILINE)
_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"\$([^$\n]+?)\$")


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by MkDocs with the text of every page."""
    parts = _CODE.split(markdown)
    return "".join(part if number % 2 else _converted(part) for number, part in enumerate(parts))


def _block(match: re.Match[str]) -> str:
    formula = convert(match[1].strip(), display="block")
    return f'\n\n<div style="margin: 1em 0">{formula}</div>\n\n'


def _converted(text: str) -> str:
    text = _DISPLAY.sub(_block, text)
    return _INLINE.sub(lambda match: convert(match[1]), text)
