"""A time step with the cameras in each other's place: the same stages then give what B's pictures show."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

from wideflow.lift import CameraDoubt
from wideflow.pipeline.step.stage import Stage
from wideflow.pipeline.step.values import MatchedFlow, Pictures
from wideflow.types import RigFrame

# Pictures, cameras, lenses and the match of the pair serve both views, and are only turned round.
_OTHER = {"optical_a": "optical_b", "optical_b": "optical_a", "match_optical_b": "match_optical_a"}
_OWN = ("over_time", "one_time", "believed", "stereo", "refined", "around", "moment")


def mirror(stage: Stage) -> Stage:
    """The same stage for the pictures of B."""

    @wraps(stage.function)
    def function(*given: Any) -> Any:
        settings, needed = given[: -len(stage.needs)], given[-len(stage.needs) :]
        # an optical flow leads from a moment to the next in either view
        turned = (
            each if need.name in _OTHER else mirrored(each)
            for need, each in zip(stage.needs, needed, strict=True)
        )
        return stage.function(*settings, *turned)

    return replace(
        stage,
        name=f"{stage.name}_b",
        function=function,
        needs=tuple(need._replace(name=_name(need.name)) for need in stage.needs),
        view="b",
        slot=stage.slot and f"{stage.slot}_b",
        doing=stage.doing and f"{stage.doing} for b",
    )


def mirrored(value: Any) -> Any:
    """What belongs to both cameras, with A and B in each other's place; all else as it is."""
    if isinstance(value, Pictures):
        return Pictures(value.picture_b, value.picture_a)
    if isinstance(value, RigFrame):
        return value.mirrored
    if isinstance(value, MatchedFlow):
        return MatchedFlow(
            value.back,
            value.uv,
            value.confidence_back,
            value.confidence,
            value.colours_back,
            value.colours,
        )
    if isinstance(value, CameraDoubt):
        others = tuple(map(mirrored, value.alternatives))
        return CameraDoubt(mirrored(value.filmed), others, -value.late)
    if isinstance(value, list):  # of several moments
        return [mirrored(each) for each in value]
    if isinstance(value, tuple):  # lenses
        return value[::-1]
    return value


def _name(name: str) -> str:
    return f"{name}_b" if name in _OWN else _OTHER.get(name, name)
