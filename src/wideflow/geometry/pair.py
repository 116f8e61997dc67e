"""What two pictures taken at one moment know of each other: all that matching needs of the cameras."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.epipolar import (
    fundamental_matrix,
    oriented_epipoles,
    oriented_epipoles_from_fundamental,
)
from wideflow.geometry.orientations import usual_orientations
from wideflow.geometry.pose import relative_pose
from wideflow.types import View


@dataclass(frozen=True, eq=False)
class PairGeometry:
    """Epipolar geometry from a first picture to a second, in pixels.

    Attributes
    ----------
    F : (3, 3) float64
        Fundamental matrix, y' F x = 0, of unit norm.
    epipoles : pair of (3,) float64
        Oriented so that directions along epipolar lines agree in both pictures.
    infinity : (3, 3) float64 or None
        Homography of the plane at infinity: a point at inverse depth rho >= 0 (in any unit)
        projects to ``infinity x - rho epipoles[1]``. None where the cameras are unknown.
    orientations : (N, 3) float64 or None
        Lines at which planes of `usual_orientations` vanish in the first picture; None where the cameras are
        unknown, and of a pair that was turned round.
    """

    F: NDArray[np.float64]
    epipoles: tuple[NDArray[np.float64], NDArray[np.float64]]
    infinity: NDArray[np.float64] | None = None
    orientations: NDArray[np.float64] | None = None

    @classmethod
    def from_views(cls, view1: View, view2: View) -> PairGeometry:
        """Geometry of two pinhole views; undistort their pictures first."""
        infinity = view2.camera.K @ relative_pose(view1, view2)[:, :3] @ np.linalg.inv(view1.camera.K)
        orientations = usual_orientations(view1, view2)
        return cls(fundamental_matrix(view1, view2), oriented_epipoles(view1, view2), infinity, orientations)

    @classmethod
    def from_fundamental(
        cls, F: NDArray[np.float64], matches1: NDArray[np.float64], matches2: NDArray[np.float64]
    ) -> PairGeometry:
        """Geometry of uncalibrated pictures; (N, 2) matches fix the epipoles' signs."""
        return cls(F / np.linalg.norm(F), oriented_epipoles_from_fundamental(F, matches1, matches2))

    def reversed(self) -> PairGeometry:
        """The same pair, seen from the second picture to the first."""
        e1, e2 = self.epipoles
        infinity = None if self.infinity is None else np.asarray(np.linalg.inv(self.infinity), np.float64)
        return PairGeometry(self.F.T, (-e2, -e1), infinity)

    def rescaled(self, scale1: NDArray[np.float64], scale2: NDArray[np.float64]) -> PairGeometry:
        """The same pair after each picture's pixels are mapped by a (3, 3) affine matrix."""
        back1 = np.linalg.inv(scale1)
        F = np.linalg.inv(scale2).T @ self.F @ back1
        e1, e2 = self.epipoles
        infinity = None if self.infinity is None else scale2 @ self.infinity @ back1
        orientations = None if self.orientations is None else self.orientations @ back1
        return PairGeometry(F / np.linalg.norm(F), (scale1 @ e1, scale2 @ e2), infinity, orientations)


def transfer(view1: View, view2: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where a pixel of one pinhole view lies in another, by its inverse depth.

    Returns
    -------
    H, e : (3, 3) and (3,) float64
        Pixel x (homogeneous) at inverse depth rho, 1 / world units, projects to ``H x + rho e``; its third
        coordinate is positive in front of the second camera.
    """
    pose = relative_pose(view1, view2)
    K = view2.camera.K
    return K @ pose[:, :3] @ np.linalg.inv(view1.camera.K), K @ pose[:, 3]
