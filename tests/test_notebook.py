"""A result in a notebook: what it shows of itself, and that it says why where it cannot."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import wideflow
from result_scenes import perfect_result
from wideflow.errors import InputError


class Frames(HTMLParser):
    """The frames of a page as a browser finds them."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "iframe":
            self.frames.append(dict(attrs))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> wideflow.Result:
    return wideflow.Result(str(perfect_result(tmp_path_factory.mktemp("notebook")).place))


def test_a_result_shows_its_verdict_and_its_page_in_a_frame(result: wideflow.Result) -> None:
    html = result._repr_html_()
    assert html is not None
    assert result.verdict.headline in html.split("<iframe")[0]
    found = Frames()
    found.feed(html)
    (frame,) = found.frames
    assert frame["sandbox"] == "allow-scripts"  # it cannot reach the notebook
    page = frame["srcdoc"] or ""
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    for t in range(len(result)):
        assert f'id="moment-{t}"' in page
    assert "https:" not in re.sub(r"<code>[^<]*</code>", "", page)  # nothing is fetched
    assert unescape(html).count("</iframe>") == 1


def test_its_size_is_bounded(result: wideflow.Result) -> None:
    large, small = (wideflow.show(result, budget=budget) for budget in (4_000_000, 60_000))
    assert len(small._repr_html_()) < len(large._repr_html_())
    assert "moments" in repr(small)
    assert "height:300px" in wideflow.show(str(result.place), height=300)._repr_html_()
    with pytest.raises(InputError, match="above 0"):
        wideflow.show(result, height=0)


def test_a_result_that_cannot_be_read_says_so(result: wideflow.Result, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(str(result.place), tmp_path / "out")
    broken = wideflow.Result(tmp_path / "out")
    for chunk in sorted((tmp_path / "out" / "result.zarr" / "depth_steady").rglob("*")):
        if chunk.is_file() and chunk.name != "zarr.json":
            chunk.write_bytes(b"x")
    html = broken._repr_html_()
    assert html is not None
    assert html.startswith("<p><b>This result cannot be shown:</b>")
    assert "iframe" not in html
