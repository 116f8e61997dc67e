"""Tracks as trails: behind each point, the way that it has come."""

from __future__ import annotations

import colorsys
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import DamagedError, InputError
from wideflow.geometry import project, world_to_camera
from wideflow.report.cloud import pack
from wideflow.storage.result import Result
from wideflow.storage.tracks import Tracks

TAIL = 16  # moments that a trail goes back
_LEVELS = 65534  # of a coordinate
_MOST_PLACES = 250_000  # points times moments in one file
_DRAWN = 800  # points of a picture
_STANDS = (150, 150, 150)  # RGB of a point that does not move
_LEAST = 0.15  # confidence below which a place is a guess, and not drawn
_GOLDEN = 0.61803  # share of the colour circle from a trail to the next: neighbours differ


def tracks_of(result: Result) -> Tracks | None:
    """Those of a result of A's pictures; None if there are none, or they cannot be served."""
    if result.view != "a" or not result.has_tracks:
        return None
    try:
        return result.tracks()
    except (InputError, DamagedError):
        return None


def chosen_tracks(tracks: Tracks, most: int) -> NDArray[np.intp]:
    """At most ``most`` tracks, evenly spread: what moves first, as only that leaves a trail."""
    known = np.isfinite(tracks.xyz).all(axis=2).any(axis=0)
    parts: list[NDArray[np.intp]] = []
    for group in (np.flatnonzero(known & tracks.moving), np.flatnonzero(known & ~tracks.moving)):
        room = most - sum(len(part) for part in parts)
        parts.append(group[np.unique(np.linspace(0, len(group) - 1, min(room, len(group))).astype(np.intp))])
    return np.sort(np.concatenate(parts))


def trail_data(
    result: Result, centre: NDArray[np.float64], most: int = _MOST_PLACES
) -> dict[str, Any] | None:
    """The trails of the 3D view, ready for JSON: coordinates as steps of their range, a row for each axis."""
    tracks = tracks_of(result)
    if tracks is None:
        return None
    chosen = chosen_tracks(tracks, max(1, most // len(result)))
    places = (tracks.xyz[:, chosen] - centre).astype(np.float64).transpose(1, 2, 0)  # track, axis, moment
    sure = (tracks.confidence[:, chosen] >= _LEAST).T[:, None]
    known = np.isfinite(places) & sure
    if not known.any():
        return None
    low, high = float(places[known].min()), float(places[known].max())
    step = max(high - low, 1e-9) / _LEVELS
    levels = np.where(known, np.rint((np.where(known, places, low) - low) / step) + 1, 0).astype(np.uint16)
    seen = tracks.visible[:, chosen].T.astype(np.uint16)
    return {
        "count": len(chosen),
        "moments": len(result),
        "low": low,
        "step": step,
        "tail": TAIL,
        "places": pack(levels.reshape(-1, len(result))),
        "seen": pack(np.ascontiguousarray(seen)),
    }


def trail_picture(result: Result, picture: NDArray[np.uint8], t: int) -> NDArray[np.uint8] | None:
    """The picture of A at t, darker, with the trails of what moves, dots for what is seen; None without."""
    tracks = tracks_of(result)
    if tracks is None:
        return None
    return draw_trails(result, tracks, chosen_tracks(tracks, _DRAWN), picture, t)


def draw_trails(
    result: Result, tracks: Tracks, chosen: NDArray[np.intp], picture: NDArray[np.uint8], t: int
) -> NDArray[np.uint8]:
    """Trails of chosen tracks as camera A sees them at t: hidden points have no dot."""
    view = result.frame(t).views[0]
    drawn = np.ascontiguousarray(picture // 2)
    thick = max(1, round(picture.shape[1] / 640))
    first = max(0, t - TAIL)
    with np.errstate(invalid="ignore"):
        way = project(view.camera, world_to_camera(view, tracks.xyz[first : t + 1, chosen]))
    sane = np.asarray((np.abs(np.where(np.isfinite(way), way, np.inf)) < 1e5).all(axis=2))
    whole = np.rint(np.where(sane[..., None], way, 0) * 16).astype(np.int32)
    for i, n in enumerate(chosen):
        colour = tuple(int(255 * c) for c in colorsys.hsv_to_rgb(n * _GOLDEN % 1, 0.75, 1.0))
        if sane[-1, i] and tracks.visible[t, n]:
            radius, paint = (32 * thick, colour) if tracks.moving[n] else (16 * thick, _STANDS)
            cv2.circle(drawn, tuple(whole[-1, i].tolist()), radius, paint, -1, cv2.LINE_AA, 4)
        if tracks.moving[n] and sane[:, i].all() and tracks.confidence[t, n] >= _LEAST:
            cv2.polylines(drawn, [np.ascontiguousarray(whole[:, i])], False, colour, thick, cv2.LINE_AA, 4)
    return drawn
