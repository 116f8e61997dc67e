"""Results in the formats of other programs, one module each; docs/export.md says what goes where."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from wideflow.errors import FileError, InputError
from wideflow.progress import Progress, silent

if TYPE_CHECKING:
    from wideflow.export.options import ExportOptions
    from wideflow.files.disk import AnyPath
    from wideflow.storage.result import Result

__all__ = ["FORMATS", "export_result"]

# the module of `export.formats` that has `export_NAME(result, out, options, progress)`; loaded when used
FORMATS = {
    "ply": "point clouds with colour and velocity",
    "flo": "flow files of Middlebury",
    "kitti": "flow and depth as 16-bit PNG",
    "masks": "what moves and what stands still, as black and white PNG",
    "exr": "depth, flow and motion channels for Nuke and Blender",
    "fused": "one point cloud of what stands still, one a moment of what moves",
    "colmap": "cameras and points, undistorted pictures, masks",
    "colmap_dense": "the same with dense depth and normals, for its fusion",
    "nerfstudio": "cameras, undistorted pictures, masks, depth, points that stand still",
    "llff": "poses_bounds.npy and pictures, as LLFF and DyNeRF have them",
    "dynamic3dgaussians": "its pictures, masks, cameras and first points",
    "easymocap": "intri.yml and extri.yml, undistorted videos",
    "pose2sim": "Calib.toml, undistorted videos",
    "usd": "moving points and cameras",
    "usd_mesh": "a coloured mesh that changes over time, and cameras",
    "tracks": "points followed through the clip, as TAPVid-3D's npz and CSV",
    "gltf": "a mesh a moment with the picture on it",
    "rerun": "a recording for its viewer",
    "mp4": "a camera orbits before the points",
    "gif": "the same as a small picture that plays",
}


def export_result(
    result: Result | AnyPath,
    format: str,
    out: AnyPath,
    options: ExportOptions | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a result in another program's format.

    Every file is written whole or not at all. In a folder that exists, files of the same names are replaced
    and nothing else is touched.

    Parameters
    ----------
    result : Result or path
        What `wideflow run` has written.
    format : str
        A name in `FORMATS`.
    out : path
        A file for usd (.usd, .usdc, .usda), rerun (.rrd), mp4 and gif, a folder for the others.
    options : ExportOptions, optional
        Which moments and pixels; all unless given.
    progress : callable, optional
        Called with steps done, steps in all and what comes next.

    Raises
    ------
    InputError
        An unknown format, no such moments, nothing to export, a camera that the format cannot express.
    MissingExtraError
        The package for this format is not installed.
    FileError
        No result there, or ``out`` cannot be written.
    """
    if format not in FORMATS:
        raise InputError(f"there is no format '{format}' to export to; choose one of {', '.join(FORMATS)}")
    if "://" in str(out):
        raise FileError(f"cannot export to '{out}': exports go to this computer's disk; give a path")
    from wideflow.export.options import ExportOptions
    from wideflow.storage.result import Result

    opened = result if isinstance(result, Result) else Result(result)
    write = getattr(import_module(f"wideflow.export.formats.{format}"), f"export_{format}")
    report = progress or silent
    write(opened, Path(out), options or ExportOptions(), report)
    report(1, 1, "done")
