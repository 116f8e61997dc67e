"""Wideflow: dense depth and dense 3D motion from two handheld videos.

Everything listed in ``__all__`` is public, and nothing else is: modules may move. Names are loaded when first
used, so that importing the package, and with it the command line, costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from wideflow.calibration import Calibration
    from wideflow.config import Config, load_config
    from wideflow.demo import demo_clips
    from wideflow.errors import (
        CalibrationError,
        ConfigError,
        FileError,
        InputError,
        MissingExtraError,
        RefusedError,
        WideflowError,
    )
    from wideflow.evaluate.metrics import depth_scores, flow_scores, motion_scores, paper_scores
    from wideflow.export import export_result
    from wideflow.export.options import ExportOptions
    from wideflow.files import (
        PointCloud,
        read_flow,
        read_image,
        read_rig,
        write_flow,
        write_image,
        write_ply,
        write_rig,
    )
    from wideflow.filling import fill, find_occluded
    from wideflow.geometry import (
        K_from_corner_origin,
        K_to_corner_origin,
        TruthFlows,
        fundamental_matrix,
        ideal_camera,
        pixel_grid,
        points_from_depth,
        project,
        relative_pose,
        truth_flows,
        unproject,
    )
    from wideflow.geometry.flow_loop import close_loop
    from wideflow.handheld import HandheldScene, read_handheld
    from wideflow.lift import Lifted, MatchEvidence, lift_flows
    from wideflow.matching import Match, Proposal, match
    from wideflow.photos import DepthSettings, dense_depth
    from wideflow.pipeline import scene_flow
    from wideflow.pipeline.before.dense_calibration import calibrate
    from wideflow.pipeline.run import run
    from wideflow.refine import Refinement, refine_flows
    from wideflow.report import Result, depth_colours, flow_colours, show, write_report
    from wideflow.storage.tracks import Tracks
    from wideflow.sync import Sync, synchronise
    from wideflow.synth import SynthConfig, render
    from wideflow.tracks import track
    from wideflow.types import Camera, Flow, Rig, RigFrame, SceneFlow, Truth, View
    from wideflow.verdict import Finding, Verdict
    from wideflow.video.read import Video

__all__ = [
    "Calibration",
    "CalibrationError",
    "Camera",
    "Config",
    "ConfigError",
    "DepthSettings",
    "ExportOptions",
    "FileError",
    "Finding",
    "Flow",
    "HandheldScene",
    "InputError",
    "K_from_corner_origin",
    "K_to_corner_origin",
    "Lifted",
    "Match",
    "MatchEvidence",
    "MissingExtraError",
    "PointCloud",
    "Proposal",
    "Refinement",
    "RefusedError",
    "Result",
    "Rig",
    "RigFrame",
    "SceneFlow",
    "Sync",
    "SynthConfig",
    "Tracks",
    "Truth",
    "TruthFlows",
    "Verdict",
    "Video",
    "View",
    "WideflowError",
    "calibrate",
    "close_loop",
    "demo_clips",
    "dense_depth",
    "depth_colours",
    "depth_scores",
    "export_result",
    "fill",
    "find_occluded",
    "flow_colours",
    "flow_scores",
    "fundamental_matrix",
    "ideal_camera",
    "lift_flows",
    "load_config",
    "match",
    "motion_scores",
    "paper_scores",
    "pixel_grid",
    "points_from_depth",
    "project",
    "read_flow",
    "read_handheld",
    "read_image",
    "read_rig",
    "refine_flows",
    "relative_pose",
    "render",
    "run",
    "scene_flow",
    "show",
    "synchronise",
    "track",
    "truth_flows",
    "unproject",
    "write_flow",
    "write_image",
    "write_ply",
    "write_report",
    "write_rig",
]

_HOMES = {
    "wideflow.calibration": ("Calibration",),
    "wideflow.config": ("Config", "load_config"),
    "wideflow.demo": ("demo_clips",),
    "wideflow.errors": (
        "CalibrationError",
        "ConfigError",
        "FileError",
        "InputError",
        "MissingExtraError",
        "RefusedError",
        "WideflowError",
    ),
    "wideflow.evaluate.metrics": ("depth_scores", "flow_scores", "motion_scores", "paper_scores"),
    "wideflow.export": ("export_result",),
    "wideflow.export.options": ("ExportOptions",),
    "wideflow.files": (
        "PointCloud",
        "read_flow",
        "read_image",
        "read_rig",
        "write_flow",
        "write_image",
        "write_ply",
        "write_rig",
    ),
    "wideflow.filling": ("fill", "find_occluded"),
    "wideflow.geometry": (
        "K_from_corner_origin",
        "K_to_corner_origin",
        "TruthFlows",
        "fundamental_matrix",
        "ideal_camera",
        "pixel_grid",
        "points_from_depth",
        "project",
        "relative_pose",
        "truth_flows",
        "unproject",
    ),
    "wideflow.geometry.flow_loop": ("close_loop",),
    "wideflow.handheld": ("HandheldScene", "read_handheld"),
    "wideflow.lift": ("MatchEvidence", "Lifted", "lift_flows"),
    "wideflow.matching": ("Match", "Proposal", "match"),
    "wideflow.photos": ("DepthSettings", "dense_depth"),
    "wideflow.pipeline": ("scene_flow",),
    "wideflow.pipeline.before.dense_calibration": ("calibrate",),
    "wideflow.pipeline.run": ("run",),
    "wideflow.refine": ("Refinement", "refine_flows"),
    "wideflow.report": ("Result", "depth_colours", "flow_colours", "show", "write_report"),
    "wideflow.storage.tracks": ("Tracks",),
    "wideflow.sync": ("Sync", "synchronise"),
    "wideflow.synth": ("SynthConfig", "render"),
    "wideflow.tracks": ("track",),
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
