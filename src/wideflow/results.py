"""A result that is read as it is needed: one array of one moment at a time."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files.disk import AnyPath
from wideflow.files.place import Place
from wideflow.files.rig import rig_from_bytes
from wideflow.geometry import optical_axis_angle, points_from_depth
from wideflow.types import Rig
from wideflow.verdict import Verdict
from wideflow.verdict.judge import Shares, judge

_FLOW = ("y", "x", "xy")
# name: dimensions after the first, unit, what it is
ARRAYS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "stereo_flow": (_FLOW, "px", "from A to B at the same moment"),
    "optical_flow_a": (_FLOW, "px", "from A to A at the next moment"),
    "optical_flow_b": (("y_b", "x_b", "xy"), "px", "from B to B at the next moment"),
    "depth": (("y", "x"), "world units", "z in camera A"),
    "motion": (("y", "x", "xyz"), "world units", "3D displacement to the next moment"),
    "occluded": (("y", "x"), "1", "not seen by B: the flow is a guess"),
    "confidence": (("y", "x"), "1", "0 (nothing known) to 1 (certain)"),
    "picture_a": (("y", "x", "rgb"), "1", "what camera A saw, without distortion"),
    "picture_b": (("y_b", "x_b", "rgb"), "1", "what camera B saw, without distortion"),
}
# arrays of the step from a moment to the next: one fewer than moments
STEPS = ("optical_flow_a", "optical_flow_b", "motion")
TRUSTED = 0.5  # a pixel with more confidence than this counts as trusted
_MOST_MOMENTS = 60  # a longer result is judged by this many moments, evenly spaced


def spread(count: int, most: int) -> NDArray[np.intp]:
    """At most ``most`` of the numbers 0 .. count - 1, evenly spaced, with the first and the last."""
    return np.unique(np.rint(np.linspace(0, count - 1, min(count, most))).astype(np.intp))


class Result:
    """What `wideflow run` and `wideflow frames` have written.

    Moments are numbered from 0; the arrays of a step (optical flow, motion) have one fewer. What has not been
    computed yet is NaN in flows, depth and motion.

    Attributes
    ----------
    place : Place
        The folder or URL.
    rig : Rig
        The ideal cameras of the pictures, a frame for every moment; its only frame if they stand.
    """

    def __init__(self, where: AnyPath) -> None:
        self.place = Place(where)
        if not self.place.exists("result.zarr/zarr.json"):
            raise FileError(f"'{where}' holds no result.zarr; give a folder that 'wideflow run' has written")
        self.rig: Rig = rig_from_bytes(self.place.read("rig.json"), f"{where}/rig.json")
        import zarr

        try:
            self._arrays = zarr.open_group(self.place.store("result.zarr"), mode="r")
            self._moments = int(self._array("depth").shape[0])
        except (KeyError, ValueError, OSError, TypeError) as error:
            raise FileError(f"'{where}/result.zarr' is damaged: {error}; compute it again") from error

    def __len__(self) -> int:
        """Moments."""
        return self._moments

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
        moments = spread(len(self), _MOST_MOMENTS)
        rows = [
            (
                np.mean(self.confidence(t) > TRUSTED),
                np.mean(self.occluded(t)),
                np.mean(np.isfinite(self.depth(t))),
            )
            for t in moments
        ]
        trusted, occluded, known = np.array(rows, np.float64).reshape(-1, 3).T
        return Shares(moments, trusted, occluded, known)

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
        """(H, W) world units, z in camera A; NaN where unknown."""
        return self._read("depth", t)

    def motion(self, t: int) -> NDArray[np.float32]:
        """(H, W, 3) world units, displacement from t to t + 1; NaN where unknown."""
        return self._read("motion", t)

    def occluded(self, t: int) -> NDArray[np.bool_]:
        """(H, W), not seen by B."""
        return self._read("occluded", t)

    def confidence(self, t: int) -> NDArray[np.float32]:
        """(H, W), 0 .. 1."""
        return self._read("confidence", t)

    def picture_a(self, t: int) -> NDArray[np.uint8]:
        """(H, W, 3) RGB of camera A, undistorted."""
        return self._read("picture_a", t)

    def picture_b(self, t: int) -> NDArray[np.uint8]:
        """(H2, W2, 3) RGB of camera B, undistorted."""
        return self._read("picture_b", t)

    def points(self, t: int) -> NDArray[np.float32]:
        """(H, W, 3) world coordinates of what every pixel of A shows; NaN where unknown."""
        return points_from_depth(self.rig.frame(self._moment(t)).views[0], self.depth(t)).astype(np.float32)

    def _moment(self, t: int) -> int:
        """The index of the moment in the rig."""
        return self.rig.frames[t if len(self.rig.frames) > 1 else 0].index

    def _array(self, name: str) -> Any:
        return self._arrays[name]

    def _read(self, name: str, t: int) -> NDArray[Any]:
        array = self._array(name)
        if not 0 <= t < array.shape[0]:
            what = "steps" if name in STEPS else "moments"
            raise InputError(f"'{self.place}' has {array.shape[0]} {what}, numbered from 0; there is no {t}")
        try:
            return np.asarray(array[t])
        except (OSError, RuntimeError, ValueError) as error:
            raise FileError(
                f"'{self.place}/result.zarr' is damaged at {name} of {t}; start the run again"
            ) from error

    def _json(self, name: str) -> dict[str, Any]:
        if not self.place.exists(name):
            return {}
        try:
            return dict(json.loads(self.place.read(name)))
        except ValueError as error:
            raise FileError(f"'{self.place}/{name}' is damaged: {error}; compute the result again") from error
