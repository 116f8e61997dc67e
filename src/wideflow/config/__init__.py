"""Settings of every stage, and how they are put together.

Values come from a preset, then a TOML file (``[match]``, below it ``particles = 5``), then assignments like
``--set match.particles=5``; later ones win. A key that does not exist, a wrong type or an impossible value is
an error that names the nearest valid one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from wideflow.config.match import LevelPasses, MatchConfig, PassesConfig
from wideflow.config.presets import PRESETS
from wideflow.config.setting import build, nearest, parse_assignment
from wideflow.config.stages import (
    CalibrateConfig,
    Config,
    EvidenceConfig,
    FillConfig,
    LiftConfig,
    RefineConfig,
    SyncConfig,
)
from wideflow.errors import ConfigError

__all__ = [
    "PRESETS",
    "CalibrateConfig",
    "Config",
    "EvidenceConfig",
    "FillConfig",
    "LevelPasses",
    "LiftConfig",
    "MatchConfig",
    "PassesConfig",
    "RefineConfig",
    "SyncConfig",
    "load_config",
]


def load_config(
    path: str | os.PathLike[str] | None = None, settings: Iterable[str] = (), preset: str = "default"
) -> Config:
    """Settings from a preset, a file and single assignments, of which the later ones win.

    Parameters
    ----------
    path : path, optional
        TOML file with one table per stage.
    settings : iterable of str
        Assignments such as ``"match.particles=5"``, each value in TOML.
    preset : str
        One of `PRESETS`.

    Raises
    ------
    ConfigError
        A preset or key that does not exist, a value of the wrong type or out of range.
    FileError
        The file is missing or cannot be read.
    """
    if preset not in PRESETS:
        raise ConfigError(
            f"there is no preset '{preset}'; the nearest valid one is {nearest(preset, PRESETS)}"
        )
    layers = [(f"preset {preset}: ", PRESETS[preset])]
    if path is not None:
        layers.append((f"'{path}': ", _read_toml(path)))
    layers += [("--set: ", parse_assignment(text)) for text in settings]
    return build(Config, layers)


def _read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    import tomllib

    from wideflow.files.disk import read_bytes

    data = read_bytes(path, "configuration file (TOML)", limit=2**16)
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"'{path}' is not a text file in UTF-8; save it as one") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"'{path}' is not valid TOML: {error}; correct it") from error
