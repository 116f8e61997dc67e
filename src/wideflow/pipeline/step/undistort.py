"""Pictures and rigs as ideal cameras would have taken them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import ideal_camera
from wideflow.geometry.undistorter import Undistorter, processing_size
from wideflow.types import Rig, RigFrame, View


def undistorted(
    picture: NDArray[np.float32], view: View
) -> tuple[NDArray[np.float32], View, NDArray[np.bool_]]:
    """The picture and view of an ideal camera of the same size, and which pixels (H, W) the lens has seen."""
    camera = view.camera
    ideal = camera if camera.is_pinhole else ideal_camera(camera)
    undistorter = Undistorter(camera, ideal)
    return undistorter(picture), View(ideal, view.cam_from_world), undistorter.known


def ideal_rig(filmed: Rig, longest: int | None = None) -> Rig:
    """The cameras without distortion and rolling shutter, at the same places.

    They have at most ``longest`` pixels on a side.
    """
    sizes = [None if longest is None else processing_size(camera, longest) for camera in filmed.cameras]
    a, b = (
        replace(ideal_camera(camera, size), readout=0.0)
        for camera, size in zip(filmed.cameras, sizes, strict=True)
    )
    frames = (
        RigFrame(
            frame.index,
            frame.times,
            (View(a, frame.views[0].cam_from_world), View(b, frame.views[1].cam_from_world)),
            late=frame.late,
        )
        for frame in filmed.frames
    )
    return Rig((a, b), tuple(frames))
