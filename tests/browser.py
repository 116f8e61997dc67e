"""A real Chromium without a screen, drawing 3D on the CPU; tests skip where there is none."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
import pytest

_FLAGS = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
_PATIENCE = 60_000  # milliseconds: other tests may keep all cores busy


@contextmanager
def open_browser() -> Iterator[Any]:
    """A playwright browser with a fresh profile."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs pip install 'wideflow[dev]'")
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS), timeout=_PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


class Page:
    """One page, with what it complained about.

    Parameters
    ----------
    browser : Browser
    url : str
    offline : bool
        Cut the network first.
    width, height : int
    dark : bool
    """

    def __init__(
        self, browser: Any, url: str, offline: bool, width: int = 1100, height: int = 800, dark: bool = False
    ) -> None:
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": height}
        self.context = browser.new_context(viewport=size, color_scheme=scheme, offline=offline)
        self.page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]")
        # what lies over the 3D view would be counted as points
        self.page.add_style_tag(content=".badge, .views, .time { opacity: 0 !important }")
        self.settle()

    def _listen(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def set(self, control: str, value: float | bool) -> None:
        """Move a slider or a switch as a reader does, and wait until it is drawn."""
        how = "checked" if isinstance(value, bool) else "value"
        script = f"([v]) => {{ const e = document.getElementById('{control}'); e.{how} = v; "
        self.page.evaluate(script + "e.dispatchEvent(new Event('input', {bubbles: true})); }", [value])
        self.settle()

    def settle(self) -> None:
        """Wait until two pictures have been drawn."""
        two = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.page.evaluate(two)

    def picture(self, selector: str = "#cloud") -> np.ndarray:
        """What is on the screen there, (H, W, 3) RGB, without the rounded rim."""
        return self.shot(self.page.locator(selector).first)

    def shot(self, place: Any) -> np.ndarray:
        """The same of a place that was found already."""
        code = place.screenshot()
        decoded = cv2.imdecode(np.frombuffer(code, np.uint8), cv2.IMREAD_COLOR)
        return np.asarray(decoded)[16:-16, 16:-16, ::-1].astype(np.int16)

    def close(self) -> None:
        self.context.close()
