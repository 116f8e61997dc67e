"""Cameras that stand around a scene, as motion capture calibrates them: a lens and one pose each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.disk import AnyPath
from wideflow.types import Camera, Rig, RigFrame, View


@dataclass(frozen=True, eq=False)
class StandingCamera:
    """A camera and where it stands.

    Attributes
    ----------
    camera : Camera
    rotation : (3,) float64 or None
        World to camera as axis times angle (OpenCV's rvec); None in a file of lenses alone.
    translation : (3,) float64 or None
    """

    camera: Camera
    rotation: NDArray[np.float64] | None
    translation: NDArray[np.float64] | None

    @classmethod
    def of_view(cls, view: View, name: str) -> StandingCamera:
        """The camera of a view under another name."""
        import cv2

        lens = view.camera
        camera = Camera(name, lens.width, lens.height, lens.K, lens.distortion)
        return cls(camera, cv2.Rodrigues(np.array(view.R))[0].ravel(), np.array(view.t))

    def view(self, path: AnyPath) -> View:
        """The camera in its pose; ``path`` is for messages."""
        import cv2

        if self.rotation is None or self.translation is None:
            raise FileError(f"'{path}' has no pose of camera '{self.camera.name}'; add it to the file")
        try:
            R = cv2.Rodrigues(self.rotation.reshape(3, 1))[0]
            return View(self.camera, np.column_stack([R, self.translation]))
        except InputError as error:
            raise FileError(f"'{path}' holds an impossible pose: {error}") from error


def rig_of_set(path: AnyPath, cameras: list[StandingCamera]) -> Rig:
    """The rig of two cameras that stand: the first is A, the second B."""
    if len(cameras) != 2:
        names = ", ".join(f"'{found.camera.name}'" for found in cameras[:8]) or "none"
        raise FileError(f"'{path}' has {len(cameras)} cameras ({names}); a rig has exactly 2; leave two")
    a, b = (found.view(path) for found in cameras)
    return Rig((a.camera, b.camera), (RigFrame(0, (0.0, 0.0), (a, b)),))


def chosen_lens(path: AnyPath, cameras: list[StandingCamera], name: str | None) -> Camera:
    """The lens of the camera of this name, or of the only one."""
    names = [found.camera.name for found in cameras]
    if name is None and len(cameras) == 1:
        return cameras[0].camera
    if name is None or name not in names:
        known = ", ".join(f"'{known}'" for known in names[:8]) or "none"
        wrong = "has several cameras" if name is None else f"has no camera '{name}'"
        raise FileError(f"'{path}' {wrong}; give one as '{path}:NAME' (there are {known})")
    return cameras[names.index(name)].camera


def four_coefficients(path: AnyPath, field: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """k1, k2, p1, p2 of OpenCV's coefficients, of which no further one may count."""
    if values.size < 4:
        raise FileError(f"'{path}': {field} has {values.size} numbers instead of 4; correct it")
    if values[4:].any():
        raise FileError(f"'{path}': {field} goes beyond k1, k2, p1, p2; calibrate again with k3 fixed at 0")
    return values[:4]
