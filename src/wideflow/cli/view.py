"""``wideflow view``: a result in the browser."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import Quiet

EXAMPLE = "wideflow view out"


def run(
    out: Annotated[str, Argument(metavar="OUT", help="Folder or URL that 'wideflow run' has written.")],
    no_browser: Annotated[bool, Option("--no-browser", help="Only print the address.")] = False,
    port: Annotated[
        int, Option(min=0, max=65535, help="Port of this machine to serve on.", show_default="a free one")
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Show a result in the browser: verdict, pictures, and the points in 3D.

    The page is served to this machine only and asks for each moment when you
    go there, however long the result is. Ctrl-C ends it. OUT/report.html is
    the same page in one file.
    """
    from wideflow.report.server import ViewServer
    from wideflow.storage.result import Result

    with ViewServer(Result(out), port) as server, suppress(KeyboardInterrupt):
        print(server.url if quiet else f"{out} is at {server.url} (Ctrl-C ends it)", flush=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(server.url)
        server.serve_forever()
