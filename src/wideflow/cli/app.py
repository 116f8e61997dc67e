"""The program ``wideflow``: its commands, and how an error becomes one sentence and an exit code.

Nothing here may import NumPy, OpenCV or Numba: ``wideflow --help`` answers at once. Commands import what
they need when they run.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Annotated, Any, cast

import typer

from wideflow import __version__
from wideflow.cli import (
    calibrate,
    check,
    check_result,
    demo,
    depth,
    evaluate,
    export,
    frames,
    match,
    run,
    sync,
    synth,
    tag,
    track,
    view,
)
from wideflow.errors import WideflowError

# Newer versions of Typer carry their own copy of Click: this is the class of usage errors in all of them.
_UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])

_LEAST_ADDRESS_SPACE = 2 * 10**9  # bytes
_NO_MEMORY = "there is not enough memory; use smaller pictures or close other programs"
# what libraries that cannot be loaded, and threads that cannot be started for lack of it, say instead
_SIGNS_OF_NO_MEMORY = ("failed to map segment", "annot allocate memory", "can't start new thread")

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["--help", "-h"]})
# modules with a function run and an EXAMPLE for its help
COMMANDS = {
    "calibrate": calibrate,
    "check": check,
    "check-result": check_result,
    "demo": demo,
    "depth": depth,
    "evaluate": evaluate,
    "export": export,
    "frames": frames,
    "match": match,
    "run": run,
    "sync": sync,
    "synth": synth,
    "tag": tag,
    "track": track,
    "view": view,
}
for _name, _module in COMMANDS.items():
    app.command(_name, epilog=f"Example: {_module.EXAMPLE}")(_module.run)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"wideflow {__version__}")
        raise typer.Exit


@app.callback(epilog="Example: wideflow demo")
def _wideflow(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Dense depth and dense 3D motion from two handheld videos."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process unless given.

    Returns
    -------
    int
        Exit code: 0; 2 after anything the user can cause, which one sentence on stderr explains; 3 for a
        result that is complete but not to be trusted, whose reasons stand on stderr; 130 and 143 after
        Ctrl-C and SIGTERM.
    """
    try:
        with _ended_in_order():
            code = _run(list(sys.argv[1:] if arguments is None else arguments) or ["--help"])
        sys.stdout.flush()
        return code
    except WideflowError as error:
        return _fail(str(error))
    except _UsageError as error:
        return _fail(_usage_sentence(error))
    except MemoryError:
        return _fail(_NO_MEMORY)
    except (ImportError, RuntimeError) as error:
        if not any(sign in str(error) for sign in _SIGNS_OF_NO_MEMORY):
            raise
        return _fail(_NO_MEMORY)
    except _Terminated:
        return _fail("ended by a signal", 143)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        _settle_stdout()
        return 1  # whoever read our output has seen enough
    except OSError as error:
        _settle_stdout()
        return _fail(_disk_sentence(error))


class _Terminated(KeyboardInterrupt):
    """SIGTERM has come."""


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let SIGTERM, too, end blocks that hold a lock or have started processes; a second one ends at once."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(words: list[str]) -> int:
    for number, word in enumerate(words):
        if not word or (word.startswith("--") and word.endswith("=")):
            # Path("") is the present folder, and the rest of a name after an unset variable may be "/"
            before = word.rstrip("=") or (words[number - 1] if number else "")
            raise WideflowError(
                f"what follows {before} is empty; give a name (is a variable of the shell not set?)"
            )
    if not {"--help", "-h", "--version"} & set(words):
        _require_address_space()
    command = typer.main.get_command(app)
    try:
        with command.make_context("wideflow", words) as context:
            command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    return 0


def _require_address_space() -> None:
    """Refuse what would end in the middle of a library: some of them crash where they get no memory."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESS_SPACE:
        raise WideflowError(
            f"only {limit / 1e9:.1f} GB of address space are allowed here (ulimit -v), and the libraries "
            f"alone take {_LEAST_ADDRESS_SPACE / 1e9:.0f} GB; raise the limit"
        )


def _fail(sentence: str, code: int = 2) -> int:
    with suppress(OSError):
        print(f"wideflow: {' '.join(sentence.split())}", file=sys.stderr, flush=True)
    return code


def _usage_sentence(error: Any) -> str:
    """Typer's message and where to read more, as one sentence."""
    message = error.format_message().rstrip(".?").replace(". Did you mean", "; did you mean")
    where = error.ctx.command_path if error.ctx else "wideflow"
    return f"{message[:1].lower()}{message[1:]}; see '{where} --help'"


def _disk_sentence(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    if error.errno == errno.ENOSPC:
        reason = "the disk is full; free some space or choose another place"
    return f"'{error.filename}': {reason}" if error.filename else reason


def _settle_stdout() -> None:
    """Let what cannot be written go nowhere, or Python would fail on it again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
