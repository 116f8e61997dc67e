"""The types that all stages speak in: frozen dataclasses over arrays.

Conventions (docs/conventions.md): pixel centres at integers, x right, y down, z forward,
``cam_from_world`` maps world to camera, flow = target minus source in (x, y) pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wideflow.errors import InputError

Array = NDArray[Any]


def _frozen(value: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Float64 copy of the given shape, finite and read-only."""
    array = np.array(value, dtype=np.float64)
    if array.shape != shape:
        raise InputError(f"{what} must have shape {shape}, not {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{what} holds a value that is not finite")
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Camera:
    """Lens and sensor of one video; fixed over time.

    Attributes
    ----------
    name : str
    width, height : int
        Picture size in pixels. The picture spans -0.5 .. width - 0.5.
    K : (3, 3) float64
        Intrinsic matrix in pixels, pixel centres at integers.
    distortion : (4,) float64
        OpenCV's k1, k2, p1, p2. All zero for an ideal pinhole.
    readout : float
        Seconds from the first row to the last of a rolling shutter; 0 for one that opens at once.
    """

    name: str
    width: int
    height: int
    K: NDArray[np.float64]
    distortion: NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))
    readout: float = 0.0

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise InputError(f"camera '{self.name}' has no pixels: {self.width} x {self.height}")
        K = _frozen(self.K, (3, 3), f"K of camera '{self.name}'")
        if K[0, 0] <= 0 or K[1, 1] <= 0 or K[1, 0] != 0 or (K[2] != (0, 0, 1)).any():
            raise InputError(
                f"K of camera '{self.name}' must be upper triangular with positive focal lengths"
            )
        object.__setattr__(self, "K", K)
        distortion = _frozen(self.distortion, (4,), f"distortion of camera '{self.name}'")
        object.__setattr__(self, "distortion", distortion)
        if not 0 <= self.readout < 1:
            raise InputError(f"camera '{self.name}' cannot read out its rows in {self.readout} s")

    @property
    def size(self) -> tuple[int, int]:
        """(width, height), the order that OpenCV wants."""
        return self.width, self.height

    @property
    def is_pinhole(self) -> bool:
        return not self.distortion.any()


@dataclass(frozen=True, eq=False)
class View:
    """A camera at one moment: intrinsics and pose.

    Attributes
    ----------
    camera : Camera
    cam_from_world : (3, 4) float64
        [R t] with x_cam = R X + t; R is a rotation to 1e-6.
    """

    camera: Camera
    cam_from_world: NDArray[np.float64]

    def __post_init__(self) -> None:
        pose = _frozen(self.cam_from_world, (3, 4), f"pose of camera '{self.camera.name}'")
        R = pose[:, :3]
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
            raise InputError(f"pose of camera '{self.camera.name}' is not a rotation and a translation")
        object.__setattr__(self, "cam_from_world", pose)

    @property
    def R(self) -> NDArray[np.float64]:
        return self.cam_from_world[:, :3]

    @property
    def t(self) -> NDArray[np.float64]:
        return self.cam_from_world[:, 3]

    @property
    def centre(self) -> NDArray[np.float64]:
        """Camera centre in world coordinates, (3,)."""
        return -self.R.T @ self.t


@dataclass(frozen=True, eq=False)
class RigFrame:
    """The two views at one time step; ``times`` are seconds on each camera's own clock.

    ``rows``, where known, has the poses (2, 2, 3, 4) of both cameras as rolling shutters expose the first row
    and the last; ``views`` are those of the middle. ``late`` are the seconds by which B's picture was taken
    later than A's.
    """

    index: int
    times: tuple[float, float]
    views: tuple[View, View]
    rows: NDArray[np.float64] | None = None
    late: float = 0.0

    @property
    def mirrored(self) -> RigFrame:
        """The cameras in each other's place."""
        rows = None if self.rows is None else self.rows[::-1]
        return RigFrame(self.index, self.times[::-1], self.views[::-1], rows, -self.late)


@dataclass(frozen=True, eq=False)
class Rig:
    """Two cameras and where they were in every frame. One frame alone means static cameras."""

    cameras: tuple[Camera, Camera]
    frames: tuple[RigFrame, ...]

    def __post_init__(self) -> None:
        if not self.frames:
            raise InputError("the rig has no frames")

    @property
    def mirrored(self) -> Rig:
        """The cameras in each other's place; frames keep their numbers."""
        a, b = self.cameras
        return Rig((b, a), tuple(frame.mirrored for frame in self.frames))

    def frame(self, index: int) -> RigFrame:
        """The frame with this ``index``; the only frame of a static rig serves every index."""
        if len(self.frames) == 1:
            return self.frames[0]
        for frame in self.frames:
            if frame.index == index:
                return frame
        known = f"{self.frames[0].index} to {self.frames[-1].index}"
        raise InputError(f"the rig has no frame {index}; it has {known}")


@dataclass(frozen=True, eq=False)
class Flow:
    """A dense correspondence field.

    Attributes
    ----------
    uv : (H, W, 2) float32
        Target minus source position in pixels, (x, y); NaN where unknown.
    confidence : (H, W) float32
        0 (nothing known) .. 1 (certain).
    """

    uv: NDArray[np.float32]
    confidence: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, int]:
        height, width = self.uv.shape[:2]
        return height, width


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known of every pixel of one picture: the ground truth of a rendered scene.

    Attributes
    ----------
    depth : (H, W) float32
        z in the camera; NaN where a ray hits nothing.
    motion : (H, W, 3) float32
        3D displacement to the next time step, world units.
    stereo_visible, optical_visible, loop_visible : (H, W) bool
        Seen by the other camera now, by this one at the next step, by the other at the next step.
    object : (H, W) int16
        Which body the ray hit; -1 for none.
    """

    depth: NDArray[np.float32]
    motion: NDArray[np.float32]
    stereo_visible: NDArray[np.bool_]
    optical_visible: NDArray[np.bool_]
    loop_visible: NDArray[np.bool_]
    object: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class SceneFlow:
    """One time step of a result: what every pixel of picture A at t is, and where it goes.

    Attributes
    ----------
    stereo_flow : (H, W, 2) float32
        From A at t to B at t, px.
    optical_flow_a : (H, W, 2) float32
        From A at t to A at t + 1, px.
    optical_flow_b : (H2, W2, 2) float32
        From B at t to B at t + 1, px, for the pixels of B; matched and filled, not refined.
    loop_flow : (H, W, 2) float32
        From A at t to B at t + 1, px.
    depth : (H, W) float32
        z in camera A at t, world units; NaN where unknown.
    motion : (H, W, 3) float32
        3D displacement to t + 1, world units; NaN where unknown.
    covariance, motion_covariance : (H, W, 3, 3) float32
        Of the point and of its motion for noise of 1 px, square world units, to first order.
    occluded : (H, W) bool
        Not seen by B at t: the stereo flow is a guess.
    confidence, confidence_5 : (H, W) float32
        Chance that depth is within one percent, and within five.
    source : (H, W) uint8
        Where depth comes from: 0 unknown, 1 both cameras now, 2 camera A over time, 3 carried along a track,
        4 completed from what surrounds the pixel.
    moving : (H, W) float32
        Chance that the world moved there.
    tilt : float
        By how much of itself depth may be bent by what calibration does not know; 0 if that is not told.
    """

    stereo_flow: NDArray[np.float32]
    optical_flow_a: NDArray[np.float32]
    optical_flow_b: NDArray[np.float32]
    loop_flow: NDArray[np.float32]
    depth: NDArray[np.float32]
    motion: NDArray[np.float32]
    covariance: NDArray[np.float32]
    motion_covariance: NDArray[np.float32]
    occluded: NDArray[np.bool_]
    confidence: NDArray[np.float32]
    confidence_5: NDArray[np.float32]
    source: NDArray[np.uint8]
    moving: NDArray[np.float32]
    tilt: float = 0.0


@dataclass(frozen=True, eq=False)
class DepthOverTime:
    """Depth of every pixel of a picture from other pictures, as if nothing had moved.

    Attributes
    ----------
    inverse : (H, W) float32
        Inverse depth, 1 / world units; NaN everywhere if there is no evidence.
    deviation : (H, W) float32
        Its standard deviation from noise, on the right surface.
    unlike : (H, W) float32
        Mean square difference, in deviations of detail, of the windows that were compared: 0 (alike) to 2;
        NaN where something else speaks against it.
    """

    inverse: NDArray[np.float32]
    deviation: NDArray[np.float32]
    unlike: NDArray[np.float32]

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> DepthOverTime:
        """No evidence."""
        unknown = np.full(shape, np.nan, np.float32)
        return cls(unknown, unknown.copy(), unknown.copy())

    @property
    def known(self) -> bool:
        """Is there any?"""
        return bool(np.isfinite(self.inverse).any())
