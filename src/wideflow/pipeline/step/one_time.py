"""B's picture of a moment at the time of A's: free-running cameras are up to half a frame apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wideflow.geometry import pixel_grid
from wideflow.geometry.one_time import moved_in_time, moved_picture, value_at, way_back
from wideflow.matching import Proposal
from wideflow.pipeline.step.values import Floats, MatchedFlow, rounded
from wideflow.types import RigFrame, View

_WORTH = 0.05  # of a frame: less is not worth a picture that is sampled anew


@dataclass(frozen=True, eq=False)
class OneTime:
    """How what B shows is brought to the time of A's picture; neither if they are of one moment.

    Attributes
    ----------
    view : View
        B then.
    way : (H2, W2, 2) float32
        Px that each pixel of B's picture goes until then.
    """

    view: View | None = None
    way: Floats | None = None

    def cameras(self, frame: RigFrame) -> RigFrame:
        """Both cameras at the time of A's picture."""
        return frame if self.view is None else replace(frame, views=(frame.views[0], self.view), late=0.0)

    def moved(self, flow: Floats) -> Floats:
        """A flow from A that leads to where B would show the pixels at that time."""
        if self.way is None:
            return flow
        return flow + value_at(self.way, _places(flow))


def find_one_time(
    now: RigFrame, first: RigFrame, second: RigFrame | None, optical: MatchedFlow | None
) -> OneTime:
    """From the cameras at both ends of a step that begins or ends at this moment, and B's optical flow."""
    if optical is None or second is None:
        return OneTime()
    which = int(now.index != first.index)
    share, view = moved_in_time(first, second, 1, which)
    if abs(share) < _WORTH:
        return OneTime()
    return OneTime(view, np.float32(share) * (-way_back(optical.uv) if which else optical.uv))


class Meeting:
    """Both cameras at the time of A's picture: B's picture as it would be, and flows from A to it and back.

    If they are of one moment, everything stays as it is.
    """

    def __init__(self, picture_b: Floats, cameras: RigFrame, time: OneTime) -> None:
        self._time, self._way, self._back = time, time.way, None
        self.picture_b, self.views = picture_b, time.cameras(cameras).views
        if time.way is not None:
            self._back = way_back(time.way)
            self.picture_b = moved_picture(picture_b, self._back)

    def proposals(self, shown: list[Proposal]) -> list[Proposal]:
        """Flows to B's own picture, as flows to this one."""
        return [replace(each, flow=self._time.moved(each.flow)) for each in shown]

    def met(self, shown: MatchedFlow) -> MatchedFlow:
        """A match with B's own picture as one with this one."""
        return self._with(shown, self._time.moved(shown.uv), self._back)

    def shown(self, met: MatchedFlow) -> MatchedFlow:
        """A match with this picture as one with B's own."""
        return self._with(met, self.shown_flow(met.uv), self._way)

    def shown_flow(self, met: Floats) -> Floats:
        """A flow from A to this picture as one to B's own."""
        return met if self._back is None else met + value_at(self._back, _places(met))

    def _with(self, found: MatchedFlow, uv: Floats, way: Floats | None) -> MatchedFlow:
        """The match whose second picture has pixels that the given way leads out of."""
        if way is None:
            return found
        there = _places(way)
        return replace(
            found,
            uv=rounded(uv),
            back=rounded(way + value_at(found.back, there)),
            confidence_back=value_at(found.confidence_back, there),
        )


def _places(flow: Floats) -> NDArray[np.float64]:
    """(H, W, 2): where a flow leads."""
    return pixel_grid(flow.shape[1], flow.shape[0]) + flow
