"""How sightings cross their pictures, which tells where they were when the middle row was exposed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.calibration.sightings.grey_frames import grey_frames
from wideflow.calibration.sightings.keys import Keys
from wideflow.calibration.sightings.matches import Pixels
from wideflow.calibration.sightings.tracks import Tracks
from wideflow.geometry.pyramid import Grey, from_full
from wideflow.geometry.unrolled import back_in_time, find_crossing
from wideflow.progress import Progress
from wideflow.video.read import Video

Floats = NDArray[np.float64]
Readouts = tuple[float, float]  # seconds from the first row to the last, of each camera


@dataclass(frozen=True, eq=False)
class Crossing:
    """Of every sighting of some tracks: its way through the picture.

    Attributes
    ----------
    speed, change : (O, 2) float64
        Px a second, and what that changes by in a second.
    row : (O,) float64
        Where it lies between the first row, -0.5, and the last, 0.5.
    rise : (O,) float64
        How much that seems to change in a second.
    """

    speed: Floats
    change: Floats
    row: Floats
    rise: Floats

    def shift(self, camera: NDArray[np.int64], readouts: Readouts) -> Floats:
        """Px (O, 2) from a sighting to where its point was at the time of the picture."""
        readout = np.asarray(readouts)[camera]
        # what goes down is exposed later each time: more time has passed than between the pictures
        speed = self.speed / (1 + readout * self.rise)[:, None]
        return back_in_time(speed, self.change, readout * self.row)


def find_crossings(videos: tuple[Video, Video], keys: Keys, tracks: Tracks, report: Progress) -> Crossing:
    """From the frames before and after the key moments; a camera that stands still needs none."""
    speed, change = (np.zeros_like(tracks.xy) for _ in range(2))
    row = np.zeros(len(tracks.xy))
    for camera, video in enumerate(videos):
        own = tracks.camera == camera
        row[own] = (tracks.xy[own, 1] + 0.5) / video.size[1] - 0.5
        if keys.static[camera]:
            continue
        numbers = keys.frames[camera]
        wanted = np.unique(np.concatenate([numbers - 1, numbers + 1]))
        wanted = wanted[(wanted >= 0) & (wanted < len(video))]
        if len(wanted) == 0:
            continue
        pictures = grey_frames(video, wanted, max(keys.grey[camera][0].shape))
        for key, near in _neighbours(pictures, numbers):
            report(camera * len(keys) + key, 2 * len(keys), "how points cross the pictures")
            here = np.flatnonzero(own & (tracks.key == key))
            shown = keys.grey[camera][key]
            speed[here], change[here] = _crossed(video, int(numbers[key]), shown, near, tracks.xy[here])
    heights = np.array([video.size[1] for video in videos])
    return Crossing(speed, change, row, speed[:, 1] / heights[tracks.camera])


def _neighbours(
    pictures: Iterable[tuple[int, Grey]], numbers: NDArray[np.int64]
) -> Iterator[tuple[int, dict[int, Grey]]]:
    """Every key moment with the pictures before and after its frame, few held at a time."""
    held: dict[int, Grey] = {}
    waiting = sorted(enumerate(numbers.tolist()), key=lambda each: -each[1])
    for index, picture in pictures:
        held[index] = picture
        while waiting and waiting[-1][1] < index:
            key, number = waiting.pop()
            yield key, {at: held[at] for at in (number - 1, number + 1) if at in held}
        held = {at: each for at, each in held.items() if at >= index - 1}
    for key, number in reversed(waiting):
        yield key, {at: held[at] for at in (number - 1,) if at in held}


def _crossed(
    video: Video, number: int, grey: Grey, near: dict[int, Grey], xy: Floats
) -> tuple[Floats, Floats]:
    """Speed and its change, px of the full picture, of pixels (N, 2) of one frame."""
    if len(xy) == 0 or not near:
        return np.zeros_like(xy), np.zeros_like(xy)
    times = video.times
    shots = [(float(times[at] - times[number]), picture) for at, picture in near.items()]
    places = from_full(xy, grey, video.size).astype(np.float32)[:, None]
    scale = np.array(video.size) / grey.shape[::-1]
    speed, change = (
        cv2.remap(field, places, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)[:, 0] * scale
        for field in find_crossing(grey, shots, 0.0)
    )
    return speed, change


def unrolled(
    tracks: Tracks, matches: dict[int, Pixels], crossing: Crossing, readouts: Readouts
) -> tuple[Tracks, dict[int, Pixels]]:
    """Sightings, and the matches among them, where they were at the times of their pictures."""
    if not any(readouts):
        return tracks, matches
    moved = crossing.shift(tracks.camera, readouts)
    both = [moved[tracks.matched & (tracks.camera == camera)] for camera in (0, 1)]
    found, first = {}, 0
    for key, (a, b) in matches.items():
        own = slice(first, first + len(a))
        found[key] = a + both[0][own], b + both[1][own]
        first += len(a)
    return replace(tracks, xy=tracks.xy + moved), found
