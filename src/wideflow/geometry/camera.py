"""From camera-frame points to pixels and back, for lenses with and without distortion.

Pixel centres are at integers: a picture of width W spans -0.5 .. W - 0.5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError
from wideflow.geometry.lens import distort, undistort
from wideflow.types import Camera

Floats = NDArray[np.float64]


def project(camera: Camera, points: ArrayLike) -> Floats:
    """Pixels where the camera sees points of its own frame.

    Parameters
    ----------
    camera : Camera
        With or without distortion.
    points : (..., 3) array_like
        x right, y down, z forward, any unit.

    Returns
    -------
    (..., 2) float64
        Pixels, not clipped to the picture; NaN for points that are not in front of the camera and for
        those so far off the axis that the distortion folds over.
    """
    points = np.asarray(points, dtype=np.float64)
    depth = points[..., 2:]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ideal = np.where(depth > 0, points[..., :2] / depth, np.nan)
    if not camera.is_pinhole:
        ideal = distort(camera.distortion, ideal)
    return ideal @ camera.K[:2, :2].T + camera.K[:2, 2]


def unproject(camera: Camera, pixels: ArrayLike) -> Floats:
    """Viewing rays of pixels, the inverse of :func:`project` to 1e-9 px.

    Parameters
    ----------
    camera : Camera
        With or without distortion.
    pixels : (..., 2) array_like
        Inside the picture or not.

    Returns
    -------
    (..., 3) float64
        Points of the camera frame with z = 1: times depth, they are the points seen. NaN where no ray of
        the distorted lens reaches the pixel.
    """
    pixels = np.asarray(pixels, dtype=np.float64)
    (fx, skew, cx), (_, fy, cy) = camera.K[:2]
    rays = np.ones((*pixels.shape[:-1], 3))
    rays[..., 1] = (pixels[..., 1] - cy) / fy
    rays[..., 0] = (pixels[..., 0] - cx - skew * rays[..., 1]) / fx
    if not camera.is_pinhole:
        rays[..., :2] = undistort(camera.distortion, rays[..., :2])
    rays[np.isnan(rays[..., 0]) | np.isnan(rays[..., 1])] = np.nan
    return rays


def pixel_grid(width: int, height: int) -> Floats:
    """(x, y) of every pixel of a picture, (H, W, 2) float64."""
    return np.stack(np.meshgrid(np.arange(width, dtype=np.float64), np.arange(height, dtype=np.float64)), -1)


def ideal_camera(camera: Camera, size: tuple[int, int] | None = None) -> Camera:
    """The pinhole camera with the same field of view.

    Parameters
    ----------
    camera : Camera
        With or without distortion.
    size : (width, height), optional
        Size of its picture; that of ``camera`` unless given.

    Returns
    -------
    Camera
        Without distortion, K scaled to the new size such that picture borders map to picture borders.
    """
    width, height = size or camera.size
    scale = np.array([[width / camera.width], [height / camera.height]])
    K = K_to_corner_origin(camera.K)
    K[:2] *= scale
    return Camera(camera.name, width, height, K_from_corner_origin(K), readout=camera.readout)


def undistortion_maps(
    camera: Camera, ideal: Camera
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]:
    """Maps with which ``cv2.remap`` turns a picture into that of an ideal camera at the same place.

    Parameters
    ----------
    camera : Camera
        The camera that took the picture.
    ideal : Camera
        A pinhole camera, such as :func:`ideal_camera` gives; its size is that of the maps.

    Returns
    -------
    map_x, map_y : (H, W) float32
        Position in the picture taken, for every ideal pixel; -1 where there is none.
    valid : (H, W) bool
        The position lies inside the picture taken.
    """
    if not ideal.is_pinhole:
        raise InputError(
            f"camera '{ideal.name}' has lens distortion; give the pinhole camera to undistort to"
        )
    source = project(camera, unproject(ideal, pixel_grid(*ideal.size)))
    valid = inside_picture(camera, source)
    source = np.where(np.isfinite(source), source, -1.0).astype(np.float32)
    return np.ascontiguousarray(source[..., 0]), np.ascontiguousarray(source[..., 1]), valid


def undistort_points(camera: Camera, pixels: ArrayLike) -> Floats:
    """Where a pinhole camera with the same K sees what a camera sees at some pixels.

    Parameters
    ----------
    camera : Camera
        With any distortion.
    pixels : (..., 2) array_like
        Of its picture.

    Returns
    -------
    (..., 2) float64
        Pixels of `ideal_camera`; NaN where the lens shows nothing.
    """
    pixels = np.asarray(pixels, dtype=np.float64)
    return pixels if camera.is_pinhole else project(ideal_camera(camera), unproject(camera, pixels))


def inside_picture(camera: Camera, pixels: ArrayLike) -> NDArray[np.bool_]:
    """Whether pixels (..., 2) lie in the picture, which spans -0.5 .. W - 0.5; NaN does not."""
    pixels = np.asarray(pixels)
    inside = (pixels >= -0.5) & (pixels <= np.array(camera.size) - 0.5)
    return inside[..., 0] & inside[..., 1]


def K_to_corner_origin(K: ArrayLike) -> Floats:
    """K for pixel centres at half integers (COLMAP: the top left corner is 0, 0), from our K."""
    K = np.array(K, dtype=np.float64)
    K[:2, 2] += 0.5
    return K


def K_from_corner_origin(K: ArrayLike) -> Floats:
    """Our K, with pixel centres at integers, from one whose origin is the top left corner (COLMAP)."""
    K = np.array(K, dtype=np.float64)
    K[:2, 2] -= 0.5
    return K
