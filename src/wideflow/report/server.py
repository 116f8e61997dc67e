"""The page of a result, served to browsers of this machine only; a moment is drawn when it is asked for.

No address is ever turned into a path: there is the page, and there are moments by number. A page of another
site cannot read them either, as requests under another host name (DNS rebinding), from another origin, or to
open a websocket are refused.
"""

from __future__ import annotations

import re
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from wideflow.errors import FileError, WideflowError
from wideflow.report.moment import LIVE, moment_json
from wideflow.report.page_builder import build_page, measure
from wideflow.storage.result import Result

HOST = "127.0.0.1"
_MOMENT = re.compile(r"/moment/(0|[1-9][0-9]{0,8})", re.ASCII)
_KEPT_MOMENTS = 16
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class ViewServer(ThreadingHTTPServer):
    """Serves one result on 127.0.0.1.

    Parameters
    ----------
    result : Result
    port : int
        0 for a free one.

    Raises
    ------
    FileError
        The port is taken.
    """

    daemon_threads = True

    def __init__(self, result: Result, port: int = 0) -> None:
        self._result, self._lock = result, Lock()
        self._overview = measure(result)
        self._page = build_page(result, self._overview, range(len(result)), {}, LIVE).encode()
        self._draw = lru_cache(_KEPT_MOMENTS)(self._draw_moment)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise FileError(f"cannot listen on port {port}: {reason}; choose another with --port") from error

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_address[1]}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """Names that a browser of this machine calls us by."""
        port = self.server_address[1]
        return f"{HOST}:{port}", f"localhost:{port}"

    def answer(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        """Status, type and content of an address."""
        if path == "/":
            return HTTPStatus.OK, "text/html; charset=utf-8", self._page
        found = _MOMENT.fullmatch(path)
        if not found or int(found[1]) >= len(self._result):
            return HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"there is no such page\n"
        try:
            with self._lock:  # one drawing at a time leaves the other core to the browser
                return HTTPStatus.OK, "application/json", self._draw(int(found[1]))
        except (WideflowError, OSError, ValueError, RuntimeError) as error:  # the last three: damaged chunks
            return HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", f"{error}\n".encode()

    def _draw_moment(self, t: int) -> bytes:
        return moment_json(self._result, t, self._overview.scales, self._overview.centre, LIVE).encode()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that hangs up in the middle is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version = "wideflow"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        refusal = self._refusal()
        if refusal:
            self.close_connection = True
            self._send(HTTPStatus.FORBIDDEN, "text/plain; charset=utf-8", f"refused: {refusal}\n".encode())
        else:
            self._send(*self.server.answer(self.path))

    do_HEAD = do_GET

    def _refusal(self) -> str:
        """Why the request does not come from our own page or the user's address bar; empty if it does."""
        named = self.headers.get_all("Host") or []
        if len(named) != 1 or named[0] not in self.server.hosts:
            return "another host"
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{name}" for name in self.server.hosts]:
            return "another origin"
        if self.headers.get("Upgrade") is not None:
            return "no websockets"
        site, mode = self.headers.get("Sec-Fetch-Site", "none"), self.headers.get("Sec-Fetch-Mode")
        if site not in ("none", "same-origin") and mode != "navigate":
            return "another site"
        return ""

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the user looks at the page."""
