"""How a configuration is checked and put together; `wideflow.config.stages` says what it holds.

A setting is a field of a frozen dataclass, declared with `setting`: its type and limits are checked whenever
such an object is made, whether by Python code, from a TOML file or by ``--set``. The sentence that reports a
mistake names the setting, where it came from and the nearest valid choice.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, field, fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from wideflow.errors import ConfigError

T = TypeVar("T")
_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def setting(
    default: Any,
    meaning: str,
    *,
    unit: str = "",
    symbol: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[Any, ...] | None = None,
) -> Any:
    """A field that describes itself; limits of a tuple hold for each of its values.

    Parameters
    ----------
    default : bool, int, float, str, tuple of these, or again a dataclass of settings
        The value unless another is given.
    meaning : str
        What it does, for the page of all settings.
    unit, symbol : str
        Of the value, and the paper's letter for it; empty if there is none.
    minimum, maximum : float, optional
        Smallest and largest valid value.
    choices : tuple, optional
        The only valid values.
    """
    limits = {"minimum": minimum, "maximum": maximum, "choices": choices}
    return field(default=default, metadata={"meaning": meaning, "unit": unit, "symbol": symbol, **limits})


class Stage:
    """Base of the settings of one stage: what is made is valid."""

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for entry in fields(self):  # type: ignore[arg-type]
            if not is_dataclass(hints[entry.name]):
                key = f"{type(self).__name__}.{entry.name}"
                value = _checked(key, getattr(self, entry.name), hints[entry.name], entry)
                object.__setattr__(self, entry.name, value)


def build(kind: type[T], layers: Sequence[tuple[str, Mapping[str, Any]]]) -> T:
    """The dataclass ``kind`` of dataclasses, from layers of values of which later ones win.

    Parameters
    ----------
    kind : type
        A dataclass whose fields are settings, or again such dataclasses.
    layers : sequence of (str, mapping)
        Where the values come from, for the message, and tables of them, nested or with dotted keys.

    Raises
    ------
    ConfigError
        An unknown key, a value of another type or outside its limits.
    """
    known = {key: (entry, hint) for key, entry, hint in all_settings(kind)}
    values: dict[str, Any] = {}
    for origin, table in layers:
        for key, value in flat(table):
            if key in known:
                values[key] = _checked(key, value, known[key][1], known[key][0], origin)
            elif inside := [name for name in known if name.startswith(f"{key}.")]:
                if value != {}:
                    raise ConfigError(f"{origin}{key} is a table, not a value; set {inside[0]} and so on")
            else:
                wrong, right = _cut(key), nearest(_cut(key), known)
                raise ConfigError(f"{origin}there is no setting {wrong}; the nearest valid one is {right}")
    return _assembled(kind(), values)


def parse_assignment(text: str) -> dict[str, Any]:
    """Table of one ``stage.key=value``; the value is TOML, or else a text without quotes."""
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise ConfigError(f"--set '{text}' is not of the form stage.key=value, such as match.particles=5")
    try:
        table = tomllib.loads(f"value = {value}")
        parsed = table["value"] if len(table) == 1 else value
    except (ValueError, RecursionError):
        parsed = value
    return {key: parsed}


def nearest(word: str, valid: Mapping[str, Any] | Sequence[str]) -> str:
    """The valid word that looks most like ``word``."""
    return get_close_matches(word, list(valid), n=1, cutoff=0.0)[0]


def all_settings(kind: type[Any], prefix: str = "") -> Iterator[tuple[str, Field[Any], Any]]:
    """Dotted key, field and type of every setting of a dataclass, those of nested ones included."""
    hints = get_type_hints(kind)
    for entry in fields(kind):
        hint = hints[entry.name]
        if is_dataclass(hint):
            yield from all_settings(hint, f"{prefix}{entry.name}.")  # type: ignore[arg-type]
        else:
            yield f"{prefix}{entry.name}", entry, hint


def flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted keys and values. An empty table counts as a value: its name is checked too."""
    pending = list(table.items())
    while pending:  # not recursive: a file may nest deeper than Python's stack
        key, value = pending.pop(0)
        if isinstance(value, Mapping) and value:
            pending[:0] = [(f"{key}.{inner}", deeper) for inner, deeper in value.items()]
        else:
            yield key, value


def _assembled(base: T, values: Mapping[str, Any], prefix: str = "") -> T:
    """A copy of the dataclass ``base`` with some values changed, those of nested ones included."""
    changes: dict[str, Any] = {}
    for entry in fields(base):  # type: ignore[arg-type]
        key, current = f"{prefix}{entry.name}", getattr(base, entry.name)
        if is_dataclass(current):
            changes[entry.name] = _assembled(current, values, f"{key}.")
        elif key in values:
            changes[entry.name] = values[key]
    try:
        return replace(base, **changes)  # type: ignore[type-var]
    except ConfigError as error:  # settings that do not go together
        raise ConfigError(f"{prefix.rstrip('.')}: {error}") from error


def _checked(key: str, value: Any, kind: Any, entry: Field[Any], origin: str = "") -> Any:
    """The value in the type of its setting, or an error that names the nearest valid one."""
    said = f"{origin}{key} = {shown(value)}"
    if get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)) or not value:
            raise ConfigError(f"{said} must be a list of values, such as {shown(entry.default)}")
        item, example = get_args(kind)[0], next(iter(entry.default))  # type: ignore[arg-type]
        return tuple(_checked_one(f"{said}: {shown(v)}", v, item, entry, example) for v in value)
    return _checked_one(said, value, kind, entry, entry.default)


def _checked_one(said: str, value: Any, kind: type[Any], entry: Field[Any], example: Any) -> Any:
    if kind is float and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if kind is int and isinstance(value, float) and math.isfinite(value):
        raise ConfigError(
            f"{said} is not a whole number; the nearest valid value is {_clamped(round(value), entry)}"
        )
    if type(value) is not kind:
        raise ConfigError(f"{said} must be {_NAMES[kind]}, such as {shown(example)}")
    if kind is float and not math.isfinite(value):
        raise ConfigError(f"{said} must be a finite number, such as {shown(example)}")
    choices = entry.metadata.get("choices")
    if choices is not None and value not in choices:
        close = (
            nearest(value, choices) if kind is str else min(choices, key=lambda choice: abs(choice - value))
        )
        raise ConfigError(f"{said} is not one of {shown(choices)}; the nearest valid value is {shown(close)}")
    if kind in (int, float) and (bound := _clamped(value, entry)) != value:
        size = "small" if value < bound else "large"
        raise ConfigError(f"{said} is too {size}; the nearest valid value is {shown(bound)}")
    return value


def _clamped(value: Any, entry: Field[Any]) -> Any:
    low, high = entry.metadata.get("minimum"), entry.metadata.get("maximum")
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def shown(value: Any) -> str:
    """As one would write it in TOML, on one line and not too long."""
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Mapping):
        text = "a table"
    elif isinstance(value, (list, tuple)):
        text = f"[{', '.join('[...]' if isinstance(v, (list, tuple)) else shown(v) for v in value)}]"
    elif isinstance(value, int) and value.bit_length() > 200:
        text = hex(value)  # Python refuses to print thousands of decimal digits
    else:
        text = repr(value)
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
