"""`wideflow view` shows the result to this machine and to nobody else."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from result_scenes import perfect_result
from wideflow.cli import main
from wideflow.errors import FileError
from wideflow.report.server import ViewServer
from wideflow.storage.result import Result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("view")
    perfect_result(place)
    (place / "secret.txt").write_text("secret outside")
    (place / "out" / "inside.txt").write_text("secret inside")
    return place / "out"


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[ViewServer]:
    with ViewServer(Result(folder)) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join(10)


def ask(server: ViewServer, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """One request as it stands: no client tidies its path."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers or "No_Host" in headers)
    for name, value in headers.items():
        if name != "No_Host":
            connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def test_page_and_moments_are_served(server: ViewServer, folder: Path) -> None:
    status, page = ask(server)
    assert status == 200
    assert b"It worked." in page
    assert b'id="moment-0"' not in page  # asked for, not embedded
    for t in range(3):
        status, text = ask(server, f"/moment/{t}")
        moment = json.loads(text)
        assert status == 200
        assert moment["t"] == t
        assert moment["images"]["a"].startswith("data:image/webp;base64,")
        assert moment["cloud"]["width"] == 128
    status, nothing = ask(server, "/", "HEAD")
    assert (status, nothing) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/moment/3",
        "/moment/-1",
        "/moment/01",
        "/moment/1e0",
        "/moment/",
        "/moment/0/",
        "/moment/0?x=1",
        "/moment/99999999999999999999",
        "/moment/%D9%A3",
        "/inside.txt",
        "/rig.json",
        "/../secret.txt",
        "/moment/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
        "/moment/%00",
        "*",
    ],
)
def test_nothing_else_is_served(server: ViewServer, path: str) -> None:
    status, content = ask(server, path)
    assert status == 404
    assert b"secret" not in content


def test_other_host_names_are_refused(server: ViewServer) -> None:
    port = server.server_address[1]
    assert ask(server, "/moment/0", Host=f"localhost:{port}")[0] == 200
    wrong = ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "")
    for name in (*wrong, f"127.0.0.1.evil.example:{port}"):
        status, content = ask(server, "/moment/0", Host=name)
        assert status == 403, name
        assert b"image" not in content
    assert ask(server, "/moment/0", No_Host="")[0] == 403


def test_other_origins_and_sites_are_refused(server: ViewServer) -> None:
    assert ask(server, "/moment/0", Origin=server.url.rstrip("/"))[0] == 200
    for origin in (
        "https://evil.example",
        "null",
        f"https://127.0.0.1:{server.server_address[1]}",
        "http://127.0.0.1",
    ):
        assert ask(server, "/moment/0", Origin=origin)[0] == 403, origin
    assert ask(server, "/moment/0", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert ask(server, "/moment/0", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors")[0] == 403
    assert ask(server, "/moment/0", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0] == 200
    assert ask(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200


@pytest.mark.parametrize("origin", ["https://evil.example", None])
def test_websockets_are_refused(server: ViewServer, origin: str | None) -> None:
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    headers |= {"Sec_WebSocket_Key": "AAAAAAAAAAAAAAAAAAAAAA=="} | ({"Origin": origin} if origin else {})
    assert ask(server, "/", **headers)[0] == 403


def test_only_reading_is_possible(server: ViewServer) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server, "/", method, Content_Length="0")[0] == 501


def test_it_listens_on_this_machine_only(server: ViewServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_answers_forbid_framing_and_sharing(server: ViewServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    connection.request("GET", "/")
    headers = dict(connection.getresponse().getheaders())
    connection.close()
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers


def test_a_damaged_moment_is_a_sentence_and_the_rest_still_works(server: ViewServer, folder: Path) -> None:
    def broken(t: int) -> bytes:
        raise FileError("moment is damaged; compute it again")

    draw, server._draw = server._draw, broken  # type: ignore[method-assign]
    try:
        status, text = ask(server, "/moment/1")
    finally:
        server._draw = draw  # type: ignore[method-assign]
    assert (status, text) == (500, b"moment is damaged; compute it again\n")
    assert ask(server, "/moment/1")[0] == 200


def test_ctrl_c_ends_it_without_a_complaint(folder: Path) -> None:
    # a shell that started the tests in the background ignores Ctrl-C, and its children with it
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from wideflow.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "view", str(folder), "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(
                r"http://127\.0\.0\.1:(\d+)/(?=\s)", line
            )  # nothing that a click would take along
            assert found, line
            with socket.create_connection(("127.0.0.1", int(found[1])), timeout=10):
                pass
            os.kill(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert errors == ""


def test_the_browser_is_opened_unless_told_otherwise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(ViewServer, "serve_forever", lambda self: None)
    assert main(["view", str(folder), "--no-browser"]) == 0
    assert opened == []
    assert main(["view", str(folder)]) == 0
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", opened[0])


def test_a_taken_port_and_a_missing_result_are_one_sentence(
    server: ViewServer, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = server.server_address[1]
    assert main(["view", str(folder), "--no-browser", "--port", str(port)]) == 2
    assert f"cannot listen on port {port}" in capsys.readouterr().err
    assert main(["view", str(tmp_path), "--no-browser"]) == 2
    assert "holds no result.zarr" in capsys.readouterr().err
