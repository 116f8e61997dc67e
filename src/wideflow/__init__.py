"""Wideflow: dense depth and dense 3D motion from two handheld videos.

Everything listed in ``__all__`` is public. Names are loaded when first used, so that importing the package,
and with it the command line, costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from wideflow.calibration import Calibration
    from wideflow.config import Config, load_config
    from wideflow.errors import WideflowError
    from wideflow.export import ExportOptions, export_result
    from wideflow.files import read_flow, read_image, read_rig, write_flow, write_rig
    from wideflow.filling import fill
    from wideflow.matching import Match, match
    from wideflow.pipeline import scene_flow
    from wideflow.pipeline.cameras import calibrate
    from wideflow.pipeline.run import run
    from wideflow.storage.result import Result
    from wideflow.sync import Sync, synchronise
    from wideflow.types import Camera, Flow, Rig, RigFrame, SceneFlow, Truth, View
    from wideflow.verdict import Finding, Verdict
    from wideflow.video.read import Video

__all__ = [
    "Calibration",
    "Camera",
    "Config",
    "ExportOptions",
    "Finding",
    "Flow",
    "Match",
    "Result",
    "Rig",
    "RigFrame",
    "SceneFlow",
    "Sync",
    "Truth",
    "Verdict",
    "Video",
    "View",
    "WideflowError",
    "calibrate",
    "export_result",
    "fill",
    "load_config",
    "match",
    "read_flow",
    "read_image",
    "read_rig",
    "run",
    "scene_flow",
    "synchronise",
    "write_flow",
    "write_rig",
]

_HOMES = {
    "wideflow.calibration": ("Calibration",),
    "wideflow.config": ("Config", "load_config"),
    "wideflow.errors": ("WideflowError",),
    "wideflow.export": ("ExportOptions", "export_result"),
    "wideflow.files": ("read_flow", "read_image", "read_rig", "write_flow", "write_rig"),
    "wideflow.filling": ("fill",),
    "wideflow.matching": ("Match", "match"),
    "wideflow.pipeline": ("scene_flow",),
    "wideflow.pipeline.cameras": ("calibrate",),
    "wideflow.pipeline.run": ("run",),
    "wideflow.storage.result": ("Result",),
    "wideflow.sync": ("Sync", "synchronise"),
    "wideflow.types": ("Camera", "Flow", "Rig", "RigFrame", "SceneFlow", "Truth", "View"),
    "wideflow.verdict": ("Finding", "Verdict"),
    "wideflow.video.read": ("Video",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # a type checker takes the names from the imports above, and reports any other

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
