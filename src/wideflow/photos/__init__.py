"""Dense depth of photographs whose cameras are known: a COLMAP model in, depth maps and a cloud out."""

from wideflow.photos.job import DepthSettings, dense_depth

__all__ = ["DepthSettings", "dense_depth"]
