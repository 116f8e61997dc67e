"""What goes to the process that runs COLMAP, and what comes back: plain arrays in one file each."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Lenses:
    """Both cameras.

    Attributes
    ----------
    size : (2, 2) int64
        Width and height.
    parameters : (2, 8) float64
        fx, fy, cx, cy, k1, k2, p1, p2; pixel centres at integers.
    known : (2,) bool
        Not to be changed.
    trusted : (2,) bool
        The focal length is a measurement, not a guess.
    """

    size: Ints
    parameters: Floats
    known: NDArray[np.bool_]
    trusted: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sightings:
    """Points seen in pictures.

    Attributes
    ----------
    image : (O,) int64
        Number of the picture.
    xy : (O, 2) float64
        Pixels, centres at integers.
    point : (O,) int64
        Number of the point; -1 for none.
    """

    image: Ints
    xy: Floats
    point: Ints


@dataclass(frozen=True, eq=False)
class Model:
    """Cameras, poses and points.

    Attributes
    ----------
    parameters : (2, 8) float64
        As of `Lenses`.
    poses : (n, 3, 4) float64
        cam_from_world of each picture; NaN where unknown.
    points : (P, 3) float64
    sightings : Sightings
        Of the points; only those that agree with the model have a point.
    """

    parameters: Floats
    poses: Floats
    points: Floats
    sightings: Sightings


def to_arrays(value: object, prefix: str = "") -> dict[str, NDArray[np.generic]]:
    """Arrays of a dataclass, those of inner ones as "field.inner"."""
    arrays: dict[str, NDArray[np.generic]] = {}
    for entry in fields(value):  # type: ignore[arg-type]
        item = getattr(value, entry.name)
        if isinstance(item, np.ndarray):
            arrays[prefix + entry.name] = item
        else:
            arrays |= to_arrays(item, f"{prefix}{entry.name}.")
    return arrays


def model_from_arrays(arrays: dict[str, NDArray[np.generic]]) -> Model:
    """The inverse of `to_arrays` for a `Model`."""
    seen = Sightings(*(arrays[f"sightings.{name}"] for name in ("image", "xy", "point")))  # type: ignore[arg-type]
    return Model(arrays["parameters"], arrays["poses"], arrays["points"], seen)  # type: ignore[arg-type]
