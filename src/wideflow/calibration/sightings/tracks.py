"""Points matched between the cameras at a key moment, and where they are at other key moments."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.geometry.pyramid import Grey, from_full, to_full

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CELL = 48  # cells along the longer side of a picture, each of which gives one point
_FLAT = 2.0  # smaller eigenvalue of the structure tensor below which there is nothing to hold on to
_BORDER = 7  # px of a small picture that are no good at its border
WINDOW = {"winSize": (17, 17), "maxLevel": 4}
_FINE = {"winSize": (15, 15), "maxLevel": 1, "flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
_FORWARD_BACKWARD = 0.5  # px of forward-backward error that a point may have
_ANOTHER = 4.0  # px from the prediction beyond which it is another point


@dataclass(frozen=True, eq=False)
class Tracks:
    """Points and their sightings at key moments.

    Attributes
    ----------
    moment : (P,) int64
        Key moment at which a point was matched between the cameras.
    point, camera, key : (O,) int64
        Of every sighting: its point, the camera, the key moment; sorted by point.
    xy : (O, 2) float64
        Pixels of the full picture.
    """

    moment: Ints
    point: Ints
    camera: Ints
    key: Ints
    xy: Floats

    @property
    def matched(self) -> NDArray[np.bool_]:
        """Sightings (O,) at the moment of the match itself."""
        return np.asarray(self.key == self.moment[self.point])


def corners(grey: Grey, size: tuple[int, int]) -> Floats:
    """The most corner-like pixel of every cell of a picture, (N, 2) of the full one.

    One a cell: what has much texture has no more voices than its area.
    """
    strength = cv2.cornerMinEigenVal(cv2.GaussianBlur(grey, (3, 3), 0).astype(np.float32), 5)
    height, width = strength.shape
    cell = max(4, round(max(height, width) / _CELL))
    inner = strength[_BORDER : height - _BORDER, _BORDER : width - _BORDER]
    rows, columns = inner.shape[0] // cell, inner.shape[1] // cell
    if rows == 0 or columns == 0:
        return np.zeros((0, 2))
    cells = inner[: rows * cell, : columns * cell].reshape(rows, cell, columns, cell).swapaxes(1, 2)
    flat = cells.reshape(rows, columns, -1)
    best = flat.argmax(axis=-1)
    y = np.arange(rows)[:, None] * cell + best // cell + _BORDER
    x = np.arange(columns)[None] * cell + best % cell + _BORDER
    found = flat.max(axis=-1) > _FLAT
    return to_full(np.stack([x[found], y[found]], axis=-1), grey, size)


def follow(
    grey: list[Grey], start: int, xy: Floats, size: tuple[int, int], reach: int
) -> dict[int, tuple[Ints, Floats]]:
    """Where points of one key picture lie in those before and after it.

    From picture to picture, each time compared with the first one, so that nothing drifts.

    Parameters
    ----------
    grey : list of (h, w) uint8
        Key pictures of a camera.
    start : int
        The one that the points belong to.
    xy : (N, 2) float64
        Pixels of the full picture.
    size : (width, height)
        Of the full picture.
    reach : int
        Key pictures to go in each direction.

    Returns
    -------
    dict
        Of other key pictures: numbers of the points that were found there, and their pixels.
    """
    found = {}
    for direction in (1, -1):
        begin = from_full(xy, grey[start], size).astype(np.float32)
        now, number, last = begin.copy(), np.arange(len(xy)), grey[start]
        for step in range(1, reach + 1):
            key = start + direction * step
            if not 0 <= key < len(grey) or len(number) < 1:
                break
            guess, alive, _ = cv2.calcOpticalFlowPyrLK(last, grey[key], now, None, **WINDOW)
            exact, good = compared(grey[start], grey[key], begin, guess)
            good &= alive.ravel() > 0
            found[key] = number[good], to_full(exact[good], grey[key], size)
            begin, now, number, last = begin[good], exact[good], number[good], grey[key]
    return found


def compared(
    first: Grey, second: Grey, begin: NDArray[np.float32], guess: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Points of the first picture in the second, from a guess, and who passes the forward-backward check."""
    exact, there, _ = cv2.calcOpticalFlowPyrLK(first, second, begin, guess.copy(), **_FINE)
    back, again, _ = cv2.calcOpticalFlowPyrLK(second, first, exact, begin.copy(), **_FINE)
    good = (there.ravel() > 0) & (again.ravel() > 0)
    good &= np.linalg.norm(back - begin, axis=1) < _FORWARD_BACKWARD
    good &= np.linalg.norm(exact - guess, axis=1) < _ANOTHER
    limit = np.array(second.shape[::-1]) - _BORDER
    good &= (exact >= _BORDER).all(axis=1) & (exact < limit).all(axis=1)
    return exact, good


def join_tracks(
    matches: dict[int, tuple[Floats, Floats]],
    followed: dict[tuple[int, int], dict[int, tuple[Ints, Floats]]],
) -> Tracks:
    """All points and sightings.

    Parameters
    ----------
    matches : dict
        Key moment to the pixels (N, 2) of A and of B that match there.
    followed : dict
        (key moment, camera) to what `follow` gave for them.
    """
    moment, rows = [], []
    first = 0
    for key, both in matches.items():
        count = len(both[0])
        for camera in (0, 1):
            seen = {key: (np.arange(count), both[camera]), **followed.get((key, camera), {})}
            for other, (number, xy) in seen.items():
                tags = np.array([[0, camera, other]]).repeat(len(number), axis=0)
                tags[:, 0] = first + number
                rows.append((tags, xy))
        moment += [key] * count
        first += count
    tags = np.concatenate([np.zeros((0, 3), np.int64), *(row[0] for row in rows)])
    xy = np.concatenate([np.zeros((0, 2)), *(row[1] for row in rows)])
    order = np.lexsort((tags[:, 2], tags[:, 1], tags[:, 0]))
    point, camera_of, key_of = tags[order].T
    return Tracks(np.array(moment, np.int64), point, camera_of, key_of, xy[order])
