"""Numba's compiler with a cache that sees every edit.

Numba compares a cached function with its own file only, but what it compiled holds code and constants of
other files as well. Here a function is compiled anew when its file, or any file of the package that this one
imports, directly or not, has changed. Where neither the package's folder nor the user's cache can be written,
compiled code goes to a private folder among the temporary files; where there is none, it is not kept.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, codegen, compiler, event

from wideflow.threads import in_bands

_PACKAGE = Path(__file__).parent
# no entry for C; and a division asks for no zero: loops that ask do not fill vector registers
_OPTIONS: dict[str, Any] = {"no_cfunc_wrapper": True, "error_model": "numpy"}
_IMPORT = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_PACKAGE.name}[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    rf"|import[ \t]+({_PACKAGE.name}[\w.]*))",
    re.MULTILINE,
)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`numba.njit` with these options, and the cache of this module.

    Arithmetic is exact, never "fast": a function that others call is compiled by itself and again with each
    of them, and which of these is run depends on what was compiled before. So with fast arithmetic the first
    run, which compiles, would have other last digits than those that find everything in the cache. Exactness
    costs a twentieth of the time. Other threads of Python go on meanwhile.

    Nobody calls these from C, so there is no entry for that: it would be compiled as well.
    """

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        # in a dictionary: Numba takes the option, its types do not know it
        dispatcher: Any = numba.njit(nogil=True, **_OPTIONS | options)(function)
        if hasattr(dispatcher, "enable_caching"):  # else Numba is switched off
            try:
                dispatcher._cache = _PackageCache(function)
            except RuntimeError:  # no folder at all
                _say_once("compiled code cannot be kept anywhere, so every start compiles for half a minute")
        return dispatcher

    return compiled


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`njit` for the inside of a hot loop: it allocates nothing, so that no array's references are counted.

    Counting is an atomic operation for every array that an inlined helper is given, and takes longer than
    what most helpers do. A loop over rows allocates what they need, and hands each to a kernel. Only compiled
    code calls it, and takes it in: it is optimised there, once. Optimised by itself before, it would be up to
    half as fast, since loops that fill vector registers already are unrolled and split again.

    What it writes to, no other of its arrays may hold too: the compiler is told so.
    """
    return njit(_nrt=False, no_cpython_wrapper=True, forceinline=True, pipeline_class=_ForCallers, **options)


def over_rows(**options: Any) -> Callable[[Callable[..., Any]], OverRows]:
    """`njit` for a loop over rows that do not need each other: they are split among the caller's threads.

    It is written for the rows from the first to before the end, ``loop(first, end, *others)``, and called for
    all of a number, ``loop(count, *others)``. Results must not depend on where it is split: what rows add up
    to goes into an array, and is summed by the caller.
    """

    def split(function: Callable[..., Any]) -> OverRows:
        return OverRows(njit(**options)(function))

    return split


class OverRows:
    """A compiled loop, of which bands of rows are done side by side."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        self.loop = loop
        update_wrapper(self, loop)

    def __call__(self, count: int, *others: Any) -> None:
        loop = self.loop
        in_bands(count, lambda first, end: loop(first, end, *others))


class _ForCallers(compiler.Compiler):
    """Compiles a function that is optimised with those that take it in, and never run by itself."""

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = _AsWritten(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.noalias = True
        pipelines: list[Any] = super().define_pipelines()
        return pipelines


class _AsWritten(codegen.JITCodeLibrary):
    def _optimize_final_module(self) -> None:
        pass


class _WithoutCollector(event.Listener):
    """The compiler makes millions of objects that live on: to look for garbage among them takes a tenth of
    its time."""

    def __init__(self) -> None:
        self._depth, self._was_on = 0, False  # one thread compiles at a time

    def on_start(self, _: event.Event) -> None:
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _WithoutCollector())


def source_stamp(path: Path) -> str:
    """Hash of a file of the package and of all files of the package that it imports, directly or not."""
    digest = hashlib.sha256()
    for source in sorted(_reachable(path)):
        digest.update(_source(source)[0])
    return digest.hexdigest()


def _reachable(path: Path) -> set[Path]:
    found, pending = set(), [path]
    while pending:
        source = pending.pop()
        if source not in found:
            found.add(source)
            pending += _source(source)[1]
    return found


@cache
def _source(path: Path) -> tuple[bytes, list[Path]]:
    """Hash of a file, and the files of the package that it names in imports."""
    content = path.read_bytes()
    names = []
    for module, imported, plain in _IMPORT.findall(content.decode("utf-8")):
        names.append(module or plain)
        names += [f"{module}.{name}" for name in re.findall(r"\w+", imported)] if module else []
    places = [_PACKAGE.joinpath(*name.split(".")[1:]) for name in names]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return hashlib.sha256(content).digest(), [file for file in files if file.is_file() and file != path]


class _Stamped:
    """A locator whose functions are as fresh as everything that they may have been compiled from."""

    def get_source_stamp(self) -> str:
        return source_stamp(Path(self._py_file))  # type: ignore[attr-defined]


class _Temporary(_Stamped, caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """In a folder that only this user can read and write: what lies there is run."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        user = os.getuid() if hasattr(os, "getuid") else "user"
        self._root = os.path.join(tempfile.gettempdir(), f"wideflow-{user}")
        self._cache_path = os.path.join(self._root, self.get_suitable_cache_subpath(py_file))

    def get_cache_path(self) -> str:
        return self._cache_path

    def ensure_cache_path(self) -> None:
        os.makedirs(self._root, mode=0o700, exist_ok=True)
        found = os.lstat(self._root)
        ours = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
        if not stat.S_ISDIR(found.st_mode) or not ours:
            raise PermissionError(f"'{self._root}' belongs to somebody else")
        super().ensure_cache_path()
        _say_once(
            "neither the program's folder nor your cache can be written, so compiled code is kept in "
            f"'{self._root}'"
        )
        os.environ.setdefault("NUMBA_CACHE_DIR", self._root)  # worker processes need not find out and say it


def _stamped(place: type) -> type[object]:
    return type(place.__name__, (_Stamped, place), {})


class _PackageCacheImpl(caching.CompileResultCacheImpl):
    # where Numba would look, and one place more
    _locator_classes: list[type[object]] = [  # noqa: RUF012 (of the class, as in Numba)
        *(_stamped(place) for place in caching.CompileResultCacheImpl._locator_classes),
        _Temporary,
    ]


class _PackageCache(caching.FunctionCache):
    _impl_class = _PackageCacheImpl


@cache
def _say_once(sentence: str) -> None:
    print(f"{sentence}.", file=sys.stderr)
