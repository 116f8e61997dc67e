"""Epipolar geometry without cameras: from sparse matches, then from the dense ones.

The paper tried this (its section "Extrinsic self-calibration") and found that structure from motion over the
whole video is steadier; two lone pictures have nothing else.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import InputError
from wideflow.geometry import PairGeometry, forward_backward_error
from wideflow.geometry.features import detect_features, match_features
from wideflow.geometry.picture import grey_bytes

Points = NDArray[np.float64]
_FEATURES = 8000
_FEWEST = 16  # inliers below which a fundamental matrix is chance
_SAMPLE = 30_000  # dense matches that are enough (the paper's number)


def estimate_geometry(pictures: tuple[NDArray[np.float32], NDArray[np.float32]]) -> PairGeometry:
    """Fundamental matrix of two pictures from SIFT matches under USAC.

    Raises
    ------
    InputError
        Too few matches agree on any geometry.
    """
    features = [detect_features(grey_bytes(picture), _FEATURES) for picture in pictures]
    pairs = match_features(features[0], features[1])
    x, y = (features[c].xy[pairs[:, c]].astype(np.float64) for c in (0, 1))
    geometry, found = _robust_geometry(x, y)
    if geometry is not None:
        return geometry
    raise InputError(
        f"only {found} matches between the two pictures agree on where the cameras stood, which is too few; "
        "give the cameras with --rig, or use --kind optical"
    )


def reestimate_geometry(
    geometry: PairGeometry, flows: tuple[NDArray[np.float32], NDArray[np.float32]], scale: float
) -> PairGeometry:
    """The geometry that fits the dense matches on which both directions agree; the old one if none does.

    Parameters
    ----------
    geometry : PairGeometry
        The one that the flows were found with.
    flows : pair of (h, w, 2) float32
        Forward and backward, in pixels of a level.
    scale : float
        How many pixels of the full picture a pixel of that level is wide.
    """
    y, x = np.nonzero(forward_backward_error(flows[0], flows[1]) < 1)
    thin = max(1, len(y) // _SAMPLE)
    source = np.stack([x[::thin], y[::thin]], axis=-1).astype(np.float64)
    target = source + flows[0][y[::thin], x[::thin]]
    # centres of large pixels, in the full picture's small ones
    better, _ = _robust_geometry((source + 0.5) * scale - 0.5, (target + 0.5) * scale - 0.5, scale)
    return geometry if better is None else better


def _robust_geometry(x: Points, y: Points, threshold: float = 1.0) -> tuple[PairGeometry | None, int]:
    """Geometry of (N, 2) matches and how many of them agree with it; None where too few do."""
    if len(x) < _FEWEST:
        return None, len(x)
    F, mask = cv2.findFundamentalMat(x, y, cv2.USAC_MAGSAC, threshold, 0.999, 20_000)
    if F is None or F.shape != (3, 3) or not np.isfinite(F).all():
        return None, 0
    inliers = mask.ravel() > 0
    count = int(np.count_nonzero(inliers))
    if count < max(_FEWEST, 0.1 * len(x)):
        return None, count
    return PairGeometry.from_fundamental(F, x[inliers], y[inliers]), count
