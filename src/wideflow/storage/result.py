"""A result that is read as it is needed: one array of one moment at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import DamagedError, FileError, InputError
from wideflow.files.disk import AnyPath
from wideflow.files.rig import rig_from_bytes
from wideflow.geometry import optical_axis_angle, points_from_depth
from wideflow.storage.checked_files import find_file, read_file
from wideflow.storage.place import Place
from wideflow.storage.schema import ARRAYS, OF_B, OPTIONAL, spec
from wideflow.storage.store import NAME, Store
from wideflow.storage.tracks import Tracks, has_tracks, read_tracks, write_tracks
from wideflow.storage.unchecked import UncheckedStore
from wideflow.types import Rig, RigFrame
from wideflow.verdict import Verdict
from wideflow.verdict.judge import Shares, judge

TRUSTED = 0.5  # a pixel with more confidence than this counts as trusted
LIKELY = 0.25  # and with more than this as likely to be known to some percent
# names of what belongs to one camera, in the view of B
_AS_B = {
    **{name: name_b for name_b, name in OF_B.items()},
    "picture_a": "picture_b",
    "picture_b": "picture_a",
    "optical_flow_a": "optical_flow_b",
    "optical_flow_b": "optical_flow_a",
}
_MOST_MOMENTS = 60  # a longer result is judged by this many moments, evenly spaced


_SHOWN_BY: list[Callable[[Result], str]] = []


def show_results_with(page: Callable[[Result], str]) -> None:
    """From now on a `Result` shows itself in notebooks as this HTML: reports are made above this room."""
    _SHOWN_BY[:] = [page]


def spread(count: int, most: int) -> NDArray[np.intp]:
    """At most ``most`` of the numbers 0 .. count - 1, evenly spaced, with the first and the last."""
    return np.unique(np.rint(np.linspace(0, count - 1, min(count, most))).astype(np.intp))


class Result:
    """What `wideflow run` and `wideflow frames` have written.

    Moments are numbered from 0; the arrays of a step (optical flow, motion) have one fewer. Each array is
    checked when it is read: what has not been computed yet or is damaged is a `DamagedError`, which names
    the moment. Pixels of which nothing is known are NaN in flows, depth and motion.

    Attributes
    ----------
    place : Place
        The folder or URL.
    view : str
        Whose pictures depth and motion belong to, "a" or "b". A result opened with ``view="b"`` is that of B:
        it has the two cameras in each other's place throughout. A run with both views has written it.
    rig : Rig
        The ideal cameras of the pictures, a frame for every moment; its only frame if they stand.
    """

    def __init__(self, where: AnyPath, view: str = "a") -> None:
        self.place, self.view = Place(where), view
        self._tracks: Tracks | None = None
        if not self.place.exists(f"{NAME}/zarr.json"):
            raise FileError(f"'{where}' holds no {NAME}; give a folder that 'wideflow run' has written")
        self.rig: Rig = rig_from_bytes(read_file(self.place, "rig.json"), f"{where}/rig.json")
        checked = self.place.exists("checksums/store.json")
        self.store = Store.open(self.place) if checked else UncheckedStore(self.place)
        sizes = self.store.sizes
        self._sizes = self.size_a, self.size_b
        if sizes is not None and sizes != self._sizes:
            raise DamagedError(f"'{where}' has a rig.json of other cameras; start the run again")
        if view not in ("a", "b"):
            raise InputError(f"a result has the views 'a' and 'b', not '{view}'")
        if view == "b":
            if not self.has("depth"):
                raise InputError(_why_without("depth_b", str(where)))
            self.rig = self.rig.mirrored

    def __len__(self) -> int:
        """Moments."""
        return self.store.moments

    def _repr_html_(self) -> str | None:
        """What a notebook shows of it; None, and so its `repr`, where reports are not loaded."""
        return _SHOWN_BY[0](self) if _SHOWN_BY else None

    @property
    def size_a(self) -> tuple[int, int]:
        """Width and height of A's pictures."""
        return self.rig.cameras[0].size

    @property
    def size_b(self) -> tuple[int, int]:
        return self.rig.cameras[1].size

    @cached_property
    def summary(self) -> dict[str, Any]:
        """What the run found on its way: inputs, sync, calibration, moments, settings, versions, and the
        verdict; empty if unknown."""
        return self._json("summary.json")

    @cached_property
    def verdict(self) -> Verdict:
        """What to think of the result: as the run said at its end, or judged now if it said nothing."""
        return Verdict.from_dict(self.summary.get("verdict")) or self.judge(self.summary)

    def judge(self, summary: dict[str, Any]) -> Verdict:
        """The verdict on these arrays and cameras with what else ``summary`` tells of the run."""
        return judge(summary, self.shares, self.angles)

    @cached_property
    def shares(self) -> Shares:
        """How much of each moment is trusted, occluded and known; of 60 moments at most."""
        whole = np.array(self.whole_moments)
        moments = whole[spread(len(whole), _MOST_MOMENTS)]
        rows = [
            (
                np.mean(self.confidence(t) > TRUSTED),
                np.mean(self.occluded(t)),
                np.mean(np.isfinite(self.depth(t))),
                np.mean(self.confidence(t) > LIKELY),
            )
            for t in moments
        ]
        trusted, occluded, known, likely = np.array(rows, np.float64).reshape(-1, 4).T
        return Shares(moments, trusted, occluded, known, likely)

    @property
    def angles(self) -> NDArray[np.float64]:
        """(n,) degrees between the optical axes, for every frame of the rig."""
        return np.degrees([optical_axis_angle(*frame.views) for frame in self.rig.frames])

    @cached_property
    def timings(self) -> dict[str, Any]:
        """Seconds of each stage."""
        return self._json("timings.json")

    def stereo_flow(self, t: int) -> NDArray[np.float32]:
        """(H, W, 2) px, from A to B."""
        return self._read("stereo_flow", t)

    def optical_flow_a(self, t: int) -> NDArray[np.float32]:
        """(H, W, 2) px, from A at t to A at t + 1."""
        return self._read("optical_flow_a", t)

    def optical_flow_b(self, t: int) -> NDArray[np.float32]:
        """(H2, W2, 2) px, from B at t to B at t + 1."""
        return self._read("optical_flow_b", t)

    def depth(self, t: int) -> NDArray[np.float32]:
        """(H, W) world units, z in camera A; NaN where unknown.

        Where nothing moves, it is what the moments around agree on; ``array("depth", t)`` is what this moment
        says by itself. Results of older versions have only that.
        """
        return self._read("depth_steady" if self.has("depth_steady") else "depth", t)

    def motion(self, t: int) -> NDArray[np.float32]:
        """(H, W, 3) world units, displacement from t to t + 1; NaN where unknown."""
        return self._read("motion", t)

    def occluded(self, t: int) -> NDArray[np.bool_]:
        """(H, W), not seen by B."""
        return self._read("occluded", t)

    def confidence(self, t: int) -> NDArray[np.float32]:
        """(H, W): chance that depth is within one percent."""
        return self._read("confidence", t)

    def confidence_5(self, t: int) -> NDArray[np.float32]:
        """(H, W): chance that depth is within five percent."""
        return self._read("confidence_5", t)

    def source(self, t: int) -> NDArray[np.uint8]:
        """(H, W), where depth comes from.

        0 unknown, 1 both cameras now, 2 camera A over time, 3 carried along a track, 4 completed from what
        surrounds the pixel. ``array("source", t)`` is that of what the moment says by itself.
        """
        return self._read("source_steady" if self.has("source_steady") else "source", t)

    def moving(self, t: int) -> NDArray[np.float32]:
        """(H, W): chance that the world moved there."""
        return self._read("moving", t)

    def has(self, name: str) -> bool:
        """Is there an array of this name? Older results lack some."""
        return self._stored(name) in self.store.names

    def picture_a(self, t: int) -> NDArray[np.uint8]:
        """(H, W, 3) RGB of camera A, undistorted."""
        return self._read("picture_a", t)

    def picture_b(self, t: int) -> NDArray[np.uint8]:
        """(H2, W2, 3) RGB of camera B, undistorted."""
        return self._read("picture_b", t)

    def array(self, name: str, t: int) -> NDArray[Any]:
        """An array by its name, also one that was kept because it was asked for (`kept`)."""
        return self._read(name, t)

    @property
    def kept(self) -> tuple[str, ...]:
        """Arrays that there are beside those of every result."""
        return self.store.kept

    def tracks(self) -> Tracks:
        """Points that were followed through all moments of A's pictures (`wideflow.track`).

        Raises
        ------
        InputError
            There are none, or the result was computed anew since.
        DamagedError
            They are not as they were written.
        """
        if self._tracks is None:
            self._tracks = read_tracks(self)
        return self._tracks

    def keep_tracks(self, tracks: Tracks) -> None:
        """Store tracks in place of those that the result has, whole or not at all."""
        write_tracks(self, tracks)
        self._tracks = None

    @property
    def has_tracks(self) -> bool:
        """Have points been followed? They are those of A's pictures, whatever the view."""
        return has_tracks(self.place)

    def points(self, t: int) -> NDArray[np.float32]:
        """(H, W, 3) world coordinates of what every pixel of A shows; NaN where unknown."""
        return points_from_depth(self.frame(t).views[0], self.depth(t)).astype(np.float32)

    def frame(self, t: int) -> RigFrame:
        """The cameras of moment t; those of the only frame if they stand."""
        frames = self.rig.frames
        if len(frames) == 1:
            return frames[0]
        if not 0 <= t < len(frames):
            raise FileError(
                f"'{self.place}/rig.json' has {len(frames)} frames for {len(self)} moments; compute it again"
            )
        return frames[t]

    @cached_property
    def whole_moments(self) -> tuple[int, ...]:
        """Moments that have been computed; whether they are damaged shows when they are read.

        Raises
        ------
        DamagedError
            There is none.
        """
        slots = ("moment", "steady") if "depth_steady" in self.store.names else ("moment",)
        found = tuple(
            t for t in range(len(self)) if all(self.store.noted(slot, t) is not None for slot in slots)
        )
        if not found:
            raise DamagedError(f"no moment of '{self.place}' has been computed yet; start the run again")
        return found

    def _stored(self, name: str) -> str:
        """What an array of this view is called in the store."""
        return name if self.view == "a" else _AS_B.get(name, name)

    def _read(self, name: str, t: int) -> NDArray[Any]:
        name = self._stored(name)
        if name not in self.store.names:
            raise InputError(_why_without(name, str(self.place)))
        length = spec(name).shape(len(self), self._sizes)[0]
        if not 0 <= t < length:
            what = "steps" if spec(name).of_step else "moments"
            raise InputError(f"'{self.place}' has {length} {what}, numbered from 0; there is no {t}")
        return self.store.get(name, int(t))

    def _json(self, name: str) -> dict[str, Any]:
        content = find_file(self.place, name)
        if content is None:
            return {}
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise FileError(f"'{self.place}/{name}' is damaged: {error}; compute the result again") from error
        if not isinstance(found, dict):
            raise FileError(f"'{self.place}/{name}' is damaged: it holds no table; compute the result again")
        return found


def _why_without(name: str, where: str) -> str:
    """What to say of an array that a result does not have."""
    if name in OF_B:
        return f"'{where}' has no {name}; start the run again with --view both"
    if name in OPTIONAL:
        return f"'{where}' has no {name}; start the run again with --keep {name}"
    if name in ARRAYS:
        return f"'{where}' was written before results had {name}; start the run again, which adds it"
    return f"results have no array {name}; there are {', '.join((*ARRAYS, *OPTIONAL, *OF_B))}"
