"""All pixels of a clip that are scored, in one list: what is true of them, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.evaluate.video.found import Answer, Found
from wideflow.geometry import camera_to_world, ideal_camera, pixel_grid, project, unproject, world_to_camera
from wideflow.handheld.clip import Clip
from wideflow.types import Truth, View

Mask = NDArray[np.bool_]
Values = NDArray[np.float32]
MOVED = 1e-4  # world units that a point moves within a frame, from which it counts as moving
TRUSTED = 0.5  # confidence above which a depth may set the scale of the clip
_SAME = 0.02  # share of depth within which two moments show the same point


@dataclass(frozen=True, eq=False)
class Pixels:
    """The pixels (n,) of all moments with truth; NaN where a method tells nothing.

    Attributes
    ----------
    known : bool
        There is something: not the sky.
    found : bool
        The method gave it a depth.
    seen : bool
        B sees it at this moment.
    moving : bool
        It moves by itself.
    error : float32
        Of depth as a share, after the clip's scale; infinite where nothing was found, and in the sky.
    motion_error, motion_true, depth_true : float32
        World units of the truth; NaN where there is no motion to the next frame.
    change : float32
        Share by which found over true depth changes until the next moment, of static points that both
        moments show.
    confidence, confidence_5, found_moving, source : float32
        As found.
    """

    known: Mask
    found: Mask
    seen: Mask
    moving: Mask
    error: Values
    motion_error: Values
    motion_true: Values
    depth_true: Values
    change: Values
    confidence: Values
    confidence_5: Values
    found_moving: Values
    source: Values


def collect(clip: Clip, answer: Answer) -> tuple[Pixels, list[int]]:
    """Hold a result against the truth of its clip.

    Depth is compared up to one scale for the whole clip: the median of found over true depth of the trusted
    pixels, or of those that B sees where a method tells no confidence.

    Returns
    -------
    Pixels
    list of int
        A's frames that both have.

    Raises
    ------
    FileError
        No frame that was worked on has truth.
    """
    times = set(clip.times())
    frames = [frame for frame in answer.frames if frame in times]
    if not frames:
        raise FileError(
            f"no frame of '{clip.path}' with truth was worked on; it has truth of "
            f"{', '.join(map(str, sorted(times)[:40]))}"
        )
    moments = {
        frame: _moment(clip.truth(frame), answer.read(frame), clip.views[0][frame]) for frame in frames
    }
    following = dict(zip(answer.frames, answer.frames[1:], strict=False))
    for frame, later in following.items():
        if frame in moments and later in moments:
            pair = [clip.views[0][each] for each in (frame, later)]
            moments[frame]["change"] = _change(moments[frame], moments[later], pair)
    joined = {name: np.concatenate([each[name].ravel() for each in moments.values()]) for name in _NAMES}
    scale = _scale(joined)
    joined["error"] = np.nan_to_num(np.abs(joined["ratio"] / scale - 1), nan=np.inf, posinf=np.inf)
    found = np.concatenate([each["motion"].reshape(-1, 3) for each in moments.values()])
    true = np.concatenate([each["true_motion"].reshape(-1, 3) for each in moments.values()])
    asked = np.concatenate([each["asked"].ravel() for each in moments.values()])
    wrong = np.nan_to_num(np.linalg.norm(found / scale - true, axis=1), nan=np.inf)
    joined["motion_error"] = np.where(asked, wrong, np.nan)
    joined["motion_true"] = np.linalg.norm(true, axis=1)
    masks: dict[str, Any] = {name: joined[name].astype(bool) for name in ("known", "found", "seen", "moving")}
    values = {
        each.name: joined[each.name].astype(np.float32) for each in fields(Pixels) if each.name not in masks
    }
    return Pixels(**(masks | values)), frames


_NAMES = (
    "known", "found", "seen", "moving", "ratio", "depth_true", "change", "confidence", "confidence_5",
    "found_moving", "source",
)  # fmt: skip


def _moment(truth: Truth, found: Found, view: View) -> dict[str, NDArray[np.float32]]:
    """Pictures of one moment: what is true, and what was found."""
    nothing = np.full(truth.depth.shape, np.nan, np.float32)
    told = {
        "confidence": found.confidence,
        "confidence_5": found.confidence_5,
        "found_moving": found.moving,
        "source": found.source,
    }
    known = np.isfinite(truth.depth)
    motion = np.nan_to_num(truth.motion.astype(np.float64))
    length = np.linalg.norm(motion, axis=2)
    asked = known & (found.motion is not None)
    return {
        "known": known,
        "found": np.isfinite(found.depth) & (found.depth > 0),
        "seen": truth.stereo_visible & known,
        "moving": known & (length > MOVED),
        "ratio": np.asarray(found.depth / truth.depth, np.float32),
        "depth_true": truth.depth,
        "change": nothing,
        "asked": asked,
        "motion": np.asarray(
            np.stack([nothing] * 3, 2) if found.motion is None else found.motion, np.float32
        ),
        "true_motion": np.asarray(motion @ view.R.T, np.float32),
        **{name: nothing if value is None else value.astype(np.float32) for name, value in told.items()},
    }


def _change(
    now: dict[str, NDArray[np.float32]], later: dict[str, NDArray[np.float32]], views: list[View]
) -> NDArray[np.float32]:
    """Relative change of found over true depth of the static points of a moment until a later one.

    A point is sought where it truly is in the later picture, and counts if that shows it.
    """
    width, height = views[0].camera.size
    first, second = ideal_camera(views[0].camera), ideal_camera(views[1].camera)
    rays = unproject(first, pixel_grid(width, height))
    points = camera_to_world(views[0], rays * now["depth_true"][..., None])
    there = world_to_camera(views[1], points)
    with np.errstate(invalid="ignore", divide="ignore"):
        pixel = np.rint(project(second, there))
        inside = (pixel >= 0).all(axis=2) & (pixel[..., 0] < width) & (pixel[..., 1] < height)
    column, row = (np.where(inside, pixel[..., i], 0).astype(np.intp) for i in range(2))
    with np.errstate(invalid="ignore", divide="ignore"):
        same = inside & (np.abs(later["depth_true"][row, column] / there[..., 2] - 1) < _SAME)
        same &= ~now["moving"].astype(bool) & ~later["moving"].astype(bool)[row, column]
        change = np.abs(later["ratio"][row, column] / now["ratio"] - 1)
    return np.where(same & np.isfinite(change), change, np.nan).astype(np.float32)


def _scale(joined: dict[str, NDArray[np.float32]]) -> float:
    """The result's unit in units of the truth."""
    there = np.isfinite(joined["ratio"]) & (joined["ratio"] > 0)
    trusted = there & (joined["confidence"] > TRUSTED)
    chosen = trusted if trusted.any() else there & joined["seen"].astype(bool)
    return float(np.median(joined["ratio"][chosen])) if chosen.any() else 1.0
