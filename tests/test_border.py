"""The public border: what README, pages and examples use is in ``wideflow.__all__`` and on the page of it."""

import ast
import re
from pathlib import Path

import pytest

import wideflow
from page_commands import ROOT, blocks

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


def beyond_the_border(code: str) -> set[str]:
    """What a program takes from Wideflow that is not public."""
    used = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names if alias.name.startswith("wideflow.")}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "wideflow":
            used |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used |= {f"wideflow.{node.attr}"} if node.value.id == "wideflow" else set()
    return used - {f"wideflow.{name}" for name in wideflow.__all__}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_use_what_is_public(example: Path) -> None:
    assert beyond_the_border(example.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_use_what_is_public(page: Path) -> None:
    for language, text in blocks(page):
        if language == "python":
            assert beyond_the_border(text) == set()
    # calls and classes in the text itself
    named = re.findall(r"`wideflow\.(?!_)(\w+)[(`]", page.read_text(encoding="utf-8"))
    assert set(named) <= set(wideflow.__all__)


def test_the_check_above_can_fail() -> None:
    assert beyond_the_border("import wideflow\nwideflow.match(a, b)\nfrom wideflow import Camera") == set()
    assert beyond_the_border("from wideflow.cli.options import parse_size") == {
        "wideflow.cli.options.parse_size"
    }
    assert beyond_the_border("import wideflow.files") == {"wideflow.files"}
    assert beyond_the_border("import wideflow\nwideflow.sync.lags") == {"wideflow.sync"}


def test_the_page_of_the_api_lists_all_that_is_public_and_nothing_else() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: wideflow\.(\S+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(wideflow.__all__)


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    tree = ast.parse(Path(wideflow.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == wideflow._HOME
    assert set(seen) == set(wideflow.__all__)


@pytest.mark.parametrize("name", wideflow.__all__)
def test_everything_public_is_documented(name: str) -> None:
    assert getattr(wideflow, name).__doc__
