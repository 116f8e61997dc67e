"""The files this field exchanges, each read and written by one function.

A file that cannot be used is a `wideflow.errors.FileError` of one sentence; every write is atomic.
"""

from wideflow.files.colmap.directory import read_colmap, rig_from_colmap, write_colmap
from wideflow.files.colmap.model import ColmapImage, ColmapModel, ColmapPoints
from wideflow.files.disk import atomic_path, write_bytes
from wideflow.files.flow import read_disparity, read_flow, write_disparity, write_flow
from wideflow.files.image import read_image, write_image
from wideflow.files.intrinsics import read_intrinsics, write_intrinsics
from wideflow.files.pfm import read_pfm, write_pfm
from wideflow.files.ply import PointCloud, read_ply, write_ply
from wideflow.files.rig import read_rig, write_rig

__all__ = [
    "ColmapImage",
    "ColmapModel",
    "ColmapPoints",
    "PointCloud",
    "atomic_path",
    "read_colmap",
    "read_disparity",
    "read_flow",
    "read_image",
    "read_intrinsics",
    "read_pfm",
    "read_ply",
    "read_rig",
    "rig_from_colmap",
    "write_bytes",
    "write_colmap",
    "write_disparity",
    "write_flow",
    "write_image",
    "write_intrinsics",
    "write_pfm",
    "write_ply",
    "write_rig",
]
