"""COLMAP models of pictures whose cameras are known: sparse features, matched and triangulated."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.files.colmap.model import ColmapImage, ColmapModel, ColmapPoints
from wideflow.geometry import fundamental_matrix, project, triangulate, world_to_camera
from wideflow.geometry.features import Features, detect_features, match_features
from wideflow.types import View

_FEATURES = 3000
_OFF = 1.0  # px between a feature and its point
_LEAST_ANGLE, _MOST_ANGLE = 1.0, 60.0  # degrees between two cameras, as the points see them


def triangulated(
    names: Sequence[str], pictures: Sequence[NDArray[np.float32]], views: Sequence[View]
) -> ColmapModel:
    """A model of pictures (H, W, 3) in 0..1 taken by these views; every view has a camera of its own.

    Each match of two pictures is a point: tracks are not joined.
    """
    greys = [cv2.cvtColor((255 * picture).astype(np.uint8), cv2.COLOR_RGB2GRAY) for picture in pictures]
    features = [detect_features(grey, _FEATURES) for grey in greys]
    points: list[NDArray[np.float64]] = []
    tracks: list[NDArray[np.int64]] = []
    for i, j in combinations(range(len(views)), 2):
        found, pairs = _matched(features[i], features[j], views[i], views[j])
        points.append(found)
        tracks += [np.array([[i + 1, a], [j + 1, b]]) for a, b in pairs.tolist()]
    xyz = np.concatenate(points)
    ids = np.arange(1, len(xyz) + 1)
    seen = [np.full(len(each.xy), -1, np.int64) for each in features]
    for point, track in zip(ids.tolist(), tracks, strict=True):
        for image, number in track.tolist():
            seen[image - 1][number] = point
    images = {}
    for k, (name, view) in enumerate(zip(names, views, strict=True), 1):
        plain = ColmapImage.at_pose(name, k, view.cam_from_world)
        images[k] = ColmapImage(
            name, k, plain.quaternion, plain.translation, features[k - 1].xy.astype(np.float64), seen[k - 1]
        )
    cameras = {k: view.camera for k, view in enumerate(views, 1)}
    rgb, error = np.full((len(xyz), 3), 128, np.uint8), np.full(len(xyz), -1.0)
    return ColmapModel(cameras, images, ColmapPoints(ids, xyz, rgb, error, tuple(tracks)))


def _matched(a: Features, b: Features, one: View, two: View) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Points (N, 3), and the features (N, 2) that show them."""
    pairs = match_features(a, b, fundamental_matrix(one, two))
    x, y = a.xy[pairs[:, 0]].astype(np.float64), b.xy[pairs[:, 1]].astype(np.float64)
    found = triangulate(one, two, x, y)
    angle = np.degrees(found.angle)
    good = found.in_front & (angle > _LEAST_ANGLE) & (angle < _MOST_ANGLE)
    for view, pixels in ((one, x), (two, y)):
        off = np.linalg.norm(project(view.camera, world_to_camera(view, found.points)) - pixels, axis=1)
        good &= off < _OFF
    return found.points[good], pairs[good]
