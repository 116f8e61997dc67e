"""OpenEXR: colour, depth, flow and motion in channels that Nuke and Blender know by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.export.moments import flows, has_step, trusted
from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import linear_light
from wideflow.export.target import require, target_folder, write_failed
from wideflow.files import atomic_path
from wideflow.progress import Progress
from wideflow.storage.result import Result

Channels = dict[str, NDArray[Any]]


def export_exr(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``frame.0000.exr``, ...: see `exr_channels` for what is in it."""
    exr = require("OpenEXR", "exr")
    folder = target_folder(out)
    moments = options.moments(result)
    for done, t in enumerate(moments):
        progress(done, len(moments), f"channels of moment {t}")
        header = {"compression": exr.ZIP_COMPRESSION, "type": exr.scanlineimage}
        path = folder / f"frame.{t:04d}.exr"
        with atomic_path(path) as temporary:
            try:
                exr.File(header, exr_channels(result, t, options)).write(str(temporary))
            except RuntimeError as error:  # the library's only kind
                raise write_failed(path, "OpenEXR") from error


def exr_channels(result: Result, t: int, options: ExportOptions) -> Channels:
    """Channels of one moment by their names in the file, each (H, W); 0 where a value is unknown.

    ``R G B`` linear light (float16), ``Z`` depth, ``confidence.Y``, ``moving.Y``, ``stereo.u/v`` flow to B;
    and if a moment follows, ``forward.u/v`` flow to it, ``Vector.X/Y/Z/W`` the same for Blender,
    ``motion3d.X/Y/Z`` in world units a step. v points up, as in both programs; ours points down.
    """
    colour = linear_light(result.picture_a(t)).astype(np.float16)
    keep = trusted(result, t, options)
    fields = flows(result, t, options)
    channels: Channels = {name: colour[..., i] for i, name in enumerate("RGB")}
    channels["Z"] = _known(np.where(keep, result.depth(t), np.nan))
    channels["confidence.Y"] = _known(np.where(keep, result.confidence(t), 0))
    if result.has("moving"):
        channels["moving.Y"] = _known(result.moving(t))
    channels["stereo.u"], channels["stereo.v"] = _upward(fields["stereo"])
    if has_step(result, t):
        u, v = _upward(fields["optical_a"])
        channels["forward.u"], channels["forward.v"] = u, v
        # Cycles stores previous minus current, then current minus next: alike at constant speed.
        channels |= {"Vector.X": -u, "Vector.Y": -v, "Vector.Z": -u, "Vector.W": -v}
        motion = np.where(keep[..., None], result.motion(t), np.nan)
        channels |= {f"motion3d.{axis}": _known(motion[..., i]) for i, axis in enumerate("XYZ")}
    return {name: np.ascontiguousarray(values) for name, values in channels.items()}


def _upward(uv: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return _known(uv[..., 0]), _known(-uv[..., 1])


def _known(values: NDArray[Any]) -> NDArray[np.float32]:
    """One NaN would spread through every filter of a compositor."""
    return np.where(np.isfinite(values), values, 0).astype(np.float32)
