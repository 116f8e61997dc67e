"""The report and `wideflow view` in a real browser: what a reader does changes what the reader sees."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import Page, open_browser
from result_scenes import perfect_result
from wideflow.report import show, write_report
from wideflow.report.server import ViewServer
from wideflow.storage.result import Result


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Path:
    place = tmp_path_factory.mktemp("browser")
    perfect_result(place, size=(160, 90))
    write_report(place / "out")
    return place / "out"


@pytest.fixture(params=["report.html", "view"])
def page(request: pytest.FixtureRequest, browser: Any, folder: Path) -> Iterator[Page]:
    if request.param == "report.html":
        opened = Page(browser, (folder / "report.html").as_uri(), offline=True)
        yield opened
        assert [url for url in opened.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        opened.close()
    else:
        with ViewServer(Result(folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            opened = Page(browser, server.url, offline=False)
            yield opened
            allowed = (server.url, "data:", "blob:")
            assert [url for url in opened.requests if not url.startswith(allowed)] == []
            opened.close()
            server.shutdown()
    assert opened.complaints == []


def points_in(picture: np.ndarray) -> float:
    """Share of the 3D view that is not background (its lower right corner)."""
    return float((np.abs(picture - picture[-1, -1]).max(axis=2) > 12).mean())


def changed(one: np.ndarray, other: np.ndarray) -> float:
    return float((np.abs(one - other).max(axis=2) > 12).mean())


def middle(picture: np.ndarray) -> np.ndarray:
    height, width = picture.shape[:2]
    return picture[height * 2 // 5 : height * 3 // 5, width * 2 // 5 : width * 3 // 5]


def orange(picture: np.ndarray) -> int:
    """Pixels in the colours of motion vectors, which the scene has few of."""
    red, green, blue = picture.transpose(2, 0, 1)
    return int(((red > 235) & (green > 60) & (green < 235) & (blue < 60)).sum())


def test_a_notebook_draws_the_points_in_its_frame(browser: Any, folder: Path, tmp_path: Path) -> None:
    html = show(Result(folder))._repr_html_()
    (tmp_path / "cell.html").write_text(f"<!doctype html><html data-ready><body>{html}</body></html>")
    opened = Page(browser, (tmp_path / "cell.html").as_uri(), offline=True)
    frame = opened.page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached")
    opened.settle()
    assert points_in(opened.shot(frame.locator("#cloud"))) > 0.05
    assert opened.complaints == []
    assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in opened.requests)
    opened.close()


def test_controls_change_the_view(page: Page) -> None:
    page.set("cameras", False)
    page.set("vectors", False)
    page.set("threshold", 0.0)
    everything = page.picture()
    assert points_in(everything) > 0.1
    # the truth's confidence is 0.9 where B sees the point and 0.2 where it does not
    page.set("threshold", 0.5)
    some = page.picture()
    assert 0.3 * points_in(everything) < points_in(some) < 0.97 * points_in(everything)
    page.set("threshold", 0.96)
    assert points_in(page.picture()) == 0
    assert page.page.inner_text("#cloud-note") == "0 points"
    page.set("threshold", 0.0)
    assert changed(page.picture(), everything) == 0
    page.set("trusted", True)
    assert changed(page.picture(), some) == 0
    page.set("trusted", False)
    page.set("size", 0.4)
    assert points_in(page.picture()) < points_in(everything)


def test_vectors_and_cameras_come_and_go(page: Page) -> None:
    page.set("cameras", False)
    page.set("vectors", False)
    page.set("length", 20)
    without = page.picture()
    page.set("vectors", True)
    usual = page.picture()
    assert orange(usual) > orange(without) + 30
    page.set("density", 1)
    assert page.page.inner_text("#density-out") == "every 25th point"
    assert orange(page.picture()) > 1.5 * (orange(usual) - orange(without))
    page.set("vectors", False)
    assert changed(page.picture(), without) == 0
    page.set("cameras", True)
    assert 0.001 < changed(page.picture(), without) < 0.3


def test_the_slider_moves_pictures_and_points(page: Page) -> None:
    page.set("vectors", False)
    before, image = page.picture(), page.picture("[data-panel=a]")
    assert page.page.locator("figure.empty").count() == 0
    page.set("moment", 2)
    page.page.wait_for_selector("html[data-moment='2']")
    page.settle()
    assert changed(page.picture(), before) > 0.001
    assert changed(page.picture("[data-panel=a]"), image) > 0.001
    assert page.page.inner_text("#moment-out").startswith("moment 2 of 2")
    assert page.page.locator("figure.empty").count() == 2  # no optical flow from the last moment on
    page.set("moment", 0)
    page.page.wait_for_selector("html[data-moment='0']")
    page.settle()
    assert changed(page.picture(), before) == 0


def test_camera_a_sees_its_own_picture(page: Page) -> None:
    page.set("vectors", False)
    page.set("threshold", 0.0)
    page.page.click("[data-view=a]")
    page.settle()
    seen = page.picture()
    image = page.picture("[data-panel=a]")
    # the middle of the view against the middle of the picture: same colours, nothing washed out
    parts = [middle(seen), middle(image)]
    means = [part.reshape(-1, 3).mean(axis=0) for part in parts]
    spreads = [part.reshape(-1, 3).std(axis=0) for part in parts]
    np.testing.assert_allclose(means[0], means[1], atol=14)
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=0.3)


def test_mouse_and_keys(page: Page) -> None:
    before = page.picture()
    box = page.page.locator("#cloud").bounding_box()
    assert box is not None
    page.page.mouse.move(box["x"] + 200, box["y"] + 150)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 300, box["y"] + 170, steps=3)
    page.page.mouse.up()
    page.settle()
    turned = page.picture()
    assert changed(turned, before) > 0.05
    page.page.focus("#cloud")
    page.page.keyboard.press("+")
    page.settle()
    page.page.wait_for_timeout(300)
    assert changed(page.picture(), turned) > 0.02
    page.page.keyboard.press("Home")
    page.page.wait_for_timeout(300)
    page.page.evaluate("document.activeElement.blur()")
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_selector("html[data-moment='1']")
    page.page.keyboard.press("Space")
    page.page.wait_for_selector("html[data-moment='2']")
    assert page.page.get_attribute("#play", "aria-pressed") == "true"
    page.page.click("#play")
    assert page.page.get_attribute("#play", "aria-pressed") == "false"


HOSTILE = "\"><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>{{script}}"


def test_no_script_but_ours_runs(browser: Any, folder: Path, tmp_path: Path) -> None:
    place = shutil.copytree(folder, tmp_path / "out")
    summary = json.loads((place / "summary.json").read_text())
    summary["inputs"] = {"a": HOSTILE, "b": "</title><script>document.title='owned'</script>"}
    summary["settings"] = {HOSTILE: {HOSTILE: HOSTILE}}
    summary["sync"]["method"] = HOSTILE
    (place / "summary.json").write_text(json.dumps(summary))
    write_report(place)
    page = (place / "report.html").read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    scripts = next(part for part in policy[1].split(";") if part.strip().startswith("script-src"))
    assert re.fullmatch(r" ?script-src 'sha256-[A-Za-z0-9+/=]{44}'", scripts)
    opened = Page(browser, (place / "report.html").as_uri(), offline=True)
    assert opened.complaints == []
    assert opened.page.title() != "owned"
    assert opened.page.locator("img[src=x]").count() == 0
    opened.close()
    # were a name to get into the page as it is, the policy would still stop it
    (place / "worse.html").write_text(page.replace("</main>", f"{HOSTILE}</main>", 1))
    opened = Page(browser, (place / "worse.html").as_uri(), offline=True)
    assert opened.page.title() != "owned"
    assert any("Content Security Policy" in said for said in opened.complaints)
    opened.close()


def hostile(value: Any, path: str = "") -> Any:
    """The same story with every name and every word in it hostile; grades, which are looked up, stay."""
    if isinstance(value, dict):
        keys = (
            {key: key for key in value} if path.count("/") < 2 else {key: f"{key}{HOSTILE}" for key in value}
        )
        return {keys[key]: hostile(each, f"{path}/{key}") for key, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, f"{path}/") for each in value]
    return HOSTILE if isinstance(value, str) and not path.endswith("/grade") else value


@pytest.mark.parametrize("served", [False, True])
def test_no_word_of_a_result_becomes_a_script(
    browser: Any, folder: Path, tmp_path: Path, served: bool
) -> None:
    place = shutil.copytree(folder, tmp_path / "out")
    summary = json.loads((place / "summary.json").read_text())
    findings = [{"topic": "Trust", "grade": "weak", "sentence": "some", "remedy": "none"}]
    summary |= {"verdict": {"findings": findings}, "truth": {"depth": "1"}, "check": findings}
    summary |= {"inputs": {"a": "a.mp4", "b": "b.mp4"}, "settings": {"match": {"seed": "0"}}}
    (place / "summary.json").write_text(json.dumps(hostile(summary)))
    (place / "timings.json").write_text(json.dumps({"seconds": {HOSTILE: 5.0}}))
    with ExitStack() as stack:
        url = (place / "report.html").as_uri()
        if served:
            server = stack.enter_context(ViewServer(Result(place)))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
            url = server.url
        else:
            write_report(place)
        opened = Page(browser, url, offline=not served)
        stack.callback(opened.close)
        assert opened.complaints == []
        assert opened.page.title() != "owned"
        assert opened.page.locator("img[src=x]").count() == 0
        assert opened.page.locator("script:not([type='application/json'])").count() == 1
        # the words are there, as words
        assert "onerror=" in opened.page.inner_text("body")


def contrast(one: list[int], other: list[int]) -> float:
    """WCAG 2's contrast ratio of two colours."""
    lights = []
    for colour in (one, other):
        shares = [value / 255 for value in colour]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in shares]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("width", [1400, 420])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_the_screen_in_light_and_dark(browser: Any, folder: Path, width: int, dark: bool) -> None:
    page = Page(browser, (folder / "report.html").as_uri(), offline=True, width=width, dark=dark)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    theme = page.page.get_attribute("html", "data-theme")
    assert theme == ("dark" if dark else "light")
    background = page.picture("body")[0, 0]
    assert bool(background.mean() < 60) is dark
    page.page.click("#theme")
    page.settle()
    assert bool(page.picture("body")[0, 0].mean() < 60) is not dark
    names = ("ink", "soft", "good", "weak", "poor", "accent")
    grounds = ("page", "card", "good-tint", "weak-tint", "poor-tint")
    read = "n => { const h = getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim(); "
    read += "return [1, 3, 5].map(i => parseInt(h.slice(i, i + 2), 16)) }"
    colours = {name: page.page.evaluate(read, name) for name in (*names, *grounds)}
    for name in names:
        for ground in ("page", "card"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for ground in grounds[2:]:
        assert contrast(colours["ink"], colours[ground]) >= 7
        assert contrast(colours["soft"], colours[ground]) >= 4.5
    assert page.complaints == []
    page.close()
