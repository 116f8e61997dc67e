"""Two views turned parallel, so that a method for rectified stereo can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.evaluate.datasets.sample import Field, Picture
from wideflow.geometry import pixel_grid
from wideflow.types import View

_LARGEST = 4  # times the picture's side that a rectified one may have


@dataclass(frozen=True, eq=False)
class Rectified:
    """Homographies from each picture to its rectified one, and the size of both.

    Attributes
    ----------
    homographies : pair of (3, 3) float64
        A point of A and its match in B land in one row.
    size : (int, int)
        Width and height of the rectified pictures.
    """

    homographies: tuple[NDArray[np.float64], NDArray[np.float64]]
    size: tuple[int, int]

    def warp(self, picture: Picture, camera: int) -> Picture:
        """The picture of camera 0 or 1 as its rectified camera would see it; black where it ends."""
        return cv2.warpPerspective(picture, self.homographies[camera], self.size, flags=cv2.INTER_LINEAR)

    def disparity_of(self, flow: Field) -> Field:
        """(H, W) disparity, x in A minus x in B, of the stereo flow of every pixel of A."""
        here = pixel_grid(flow.shape[1], flow.shape[0])
        left = _apply(self.homographies[0], here)
        return (left - _apply(self.homographies[1], here + flow))[..., 0].astype(np.float32)

    def flow_from(self, disparity: Field, width: int, height: int) -> Field:
        """(height, width, 2) stereo flow of A's pixels from the rectified disparity, NaN where that is."""
        here = pixel_grid(width, height)
        places = _apply(self.homographies[0], here)
        nearest = cv2.remap(
            disparity,
            places.astype(np.float32),
            None,
            cv2.INTER_NEAREST,
            borderMode=cv2.BORDER_CONSTANT,
            borderValue=float("nan"),
        )
        there = places - np.stack([nearest, np.zeros_like(nearest)], axis=-1)
        return (_apply(np.asarray(np.linalg.inv(self.homographies[1]), np.float64), there) - here).astype(
            np.float32
        )


def rectify(first: View, second: View) -> Rectified:
    """Turn both cameras so that their rows lie along the baseline, with B to the right of A.

    Raises
    ------
    InputError
        One camera stands in the other's picture: there is no rectified pair of bounded size.
    """
    apart = second.centre - first.centre
    right = apart / max(float(np.linalg.norm(apart)), 1e-12)
    forward = first.R[2] + second.R[2]
    forward = forward - (forward @ right) * right
    if not apart.any() or np.linalg.norm(forward) < 0.1:
        raise InputError("the cameras look along their baseline, so their pictures cannot be rectified")
    forward = forward / np.linalg.norm(forward)
    R = np.stack([right, np.cross(forward, right), forward])
    K = (first.camera.K + second.camera.K) / 2
    turned = [K @ R @ view.R.T @ np.linalg.inv(view.camera.K) for view in (first, second)]
    boxes = []
    for H, view in zip(turned, (first, second), strict=True):
        width, height = view.camera.size
        corners = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]], float)
        if (np.column_stack([corners, np.ones(4)]) @ H[2] <= 0).any():
            raise InputError("the cameras look along their baseline, so their pictures cannot be rectified")
        places = _apply(H, corners)
        boxes.append((places.min(axis=0), places.max(axis=0)))
    top = min(low[1] for low, _ in boxes)
    size = np.ceil([max(high[0] - low[0] for low, high in boxes), max(high[1] for _, high in boxes) - top])
    if (size > _LARGEST * max(*first.camera.size, *second.camera.size)).any():
        raise InputError("the cameras look almost along their baseline; their pictures cannot be rectified")
    moved = [
        np.array([[1, 0, -low[0]], [0, 1, -top], [0, 0, 1]]) @ H
        for H, (low, _) in zip(turned, boxes, strict=True)
    ]
    return Rectified((moved[0], moved[1]), (int(size[0]) + 1, int(size[1]) + 1))


def _apply(H: NDArray[np.float64], points: NDArray[np.floating]) -> NDArray[np.float64]:
    """Points (..., 2) through a homography."""
    mapped = points @ H[:, :2].T + H[:, 2]
    return mapped[..., :2] / mapped[..., 2:]
