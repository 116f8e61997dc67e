"""The page of all settings, from what the fields say of themselves.

``python -m wideflow.config.page docs/settings.md`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from wideflow.config.presets import PRESETS
from wideflow.config.setting import flat, shown
from wideflow.config.stages import Config

_HEAD = """# Settings

Every number of the method, with the paper's symbol where it has one. Values come from a preset
(`--preset`), then a TOML file (`--config`), then single assignments (`--set match.particles=5`); later ones
win. A name that does not exist or a value out of range is an error that gives the nearest valid one.

This page is written by `python -m wideflow.config.page docs/settings.md`.
"""
_TABLE = ("| setting | default | range | unit | symbol | meaning |", "|---|---|---|---|---|---|")


def settings_page() -> str:
    """The page as Markdown."""
    lines = [_HEAD]
    for entry in fields(Config):
        stage = getattr(Config(), entry.name)
        lines += [f"## `{entry.name}`: {entry.metadata['meaning']}", type(stage).__doc__ or "", "", *_TABLE]
        lines += [*_rows(stage, f"{entry.name}."), ""]
    lines += ["## Presets", "What each changes; `default` changes nothing.", ""]
    names = [name for name in PRESETS if PRESETS[name]]
    changes = {name: dict(flat(PRESETS[name])) for name in names}
    lines += [f"| setting | {' | '.join(f'`{name}`' for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for key in dict.fromkeys(key for name in names for key in changes[name]):
        cells = [shown(changes[name][key]) if key in changes[name] else "" for name in names]
        lines.append(f"| `{key}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rows(stage: Any, prefix: str) -> Iterator[str]:
    """A row per setting, those of nested tables after a row that says what the table is for."""
    for entry in fields(stage):
        value, about = getattr(stage, entry.name), entry.metadata
        if is_dataclass(value):
            yield f"| **`{prefix}{entry.name}`** | | | | | **{about['meaning']}** |"
            yield from _rows(value, f"{prefix}{entry.name}.")
        else:
            cells = [shown(value), _range(about), about["unit"], _code(about["symbol"]), about["meaning"]]
            yield f"| `{prefix}{entry.name}` | {' | '.join(cells)} |"


def _range(about: Any) -> str:
    if about["choices"]:
        return ", ".join(map(shown, about["choices"]))
    low, high = about["minimum"], about["maximum"]
    if low is None:
        return ""
    return f"from {shown(low)}" if high is None else f"{shown(low)} to {shown(high)}"


def _code(symbol: str) -> str:
    return f"`{symbol}`" if symbol else ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(settings_page(), encoding="utf-8")
