"""A whole run whose stages are quick and deterministic: what is tested here is what becomes of its files.

The stages give values that depend on all that they are given, so that one wrong bit shows at the end.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from wideflow.config import Config
from wideflow.pipeline import run as run_module
from wideflow.pipeline.job import Job
from wideflow.pipeline.step import order
from wideflow.pipeline.step.in_memory import Step
from wideflow.pipeline.step.one_time import OneTime
from wideflow.pipeline.step.over_time import Surroundings
from wideflow.pipeline.step.values import (
    FilledFlow,
    LastMoment,
    MatchedFlow,
    Pictures,
    RefinedFlows,
    SteadyDepth,
)
from wideflow.pipeline.tasks import do
from wideflow.pipeline.tasks.plan import Plan
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS, OF_B, OPTIONAL, SLOTS, spec
from wideflow.types import Camera, DepthOverTime, Rig, RigFrame, SceneFlow, View

SIZES = ((8, 6), (7, 5))


@dataclass(frozen=True)
class Wish:
    """What a user asks for: moments of a film of six, a setting, arrays, and the versions of the stages."""

    first: int = 0
    moments: int = 3
    seed: int = 0
    iterations: int = 1
    keep: tuple[str, ...] = ()
    lift_version: int = 1
    discard_work: bool = False


def cameras(t: int) -> RigFrame:
    a, b = (
        Camera(name, *size, [[9, 0, 3], [0, 9, 2], [0, 0, 1]]) for name, size in zip("ab", SIZES, strict=True)
    )
    pose = np.eye(3, 4)
    pose[0, 3] = -1 - 0.01 * t
    return RigFrame(t, (t / 10, t / 10), (View(a, np.eye(3, 4)), View(b, pose)))


def make_plan(wish: Wish, out: str) -> Plan:
    frames = tuple(cameras(wish.first + t) for t in range(wish.moments))
    rig = Rig((frames[0].views[0].camera, frames[0].views[1].camera), frames)
    base = Config()
    config = replace(
        base,
        match=replace(base.match, seed=wish.seed),
        refine=replace(base.refine, iterations=wish.iterations),
    )
    pairs = tuple((wish.first + t, wish.first + t) for t in range(wish.moments))
    return Plan(out, ("a", "b"), None, ("1", "2"), pairs, rig, rig, config, keep=wish.keep)


class _Film:
    times = np.arange(1000.0)

    def __len__(self) -> int:
        return len(self.times)

    def frame(self, number: int) -> np.ndarray:
        return np.full((1,), number, np.uint8)


class _Lens:
    known = np.ones((1, 1), bool)


def _values(shape: tuple[int, ...], *causes: Any) -> np.ndarray:
    """float32 multiples of 1/256 that depend on every byte of what they are made from."""
    text = b"".join(_bytes(cause) for cause in causes)
    chance = np.random.default_rng(zlib.crc32(text))
    return (chance.integers(0, 999, shape) / np.float32(256)).astype(np.float32)


def _bytes(cause: Any) -> bytes:
    if isinstance(cause, np.ndarray):
        return cause.tobytes()
    if hasattr(cause, "__dataclass_fields__") and not isinstance(cause, (RigFrame,)):
        names = cause.__dataclass_fields__
        return b"".join(_bytes(getattr(cause, name)) for name in names)
    if isinstance(cause, RigFrame):
        return cause.views[1].cam_from_world.tobytes()
    return repr(cause).encode()


def _shape(name: str, view: str = "a") -> tuple[int, ...]:
    return spec(f"{name}_b" if view == "b" and f"{name}_b" in OF_B else name).shape(1, SIZES)[1:]


def _pictures(film: Any, lenses: Any) -> Pictures:
    a, b = (film(camera, 0)[1] for camera in (0, 1))
    found = [
        (_values(_shape(f"picture_{side}"), side, frame) * 60).astype(np.uint8)
        for side, frame in (("a", a), ("b", b))
    ]
    return Pictures(*found)


def _match(size: int) -> Any:
    def matched(config: Any, *needs: Any) -> MatchedFlow:
        width, height = SIZES[size]
        flow = _values((height, width, 2), config.seed, *needs)
        return MatchedFlow(
            flow, flow[::-1].copy(), flow[..., 0] / 4, flow[::-1, :, 0] / 4, *[np.eye(3, 10)] * 2
        )

    return matched


def _look(view: str) -> Any:
    def looked(config: Any, *needs: Any) -> DepthOverTime:
        known = [each for each in needs if not isinstance(each, Surroundings)]
        names, shape = DepthOverTime.__dataclass_fields__, _shape("depth", view)
        return DepthOverTime(**{name: _values(shape, name, config.views, *known) for name in names})

    return looked


def _believe(*needs: Any) -> DepthOverTime:
    over_time: DepthOverTime = needs[-1]
    return replace(over_time, unlike=_values(over_time.unlike.shape, *needs))


def _one_time(*needs: Any) -> OneTime:
    return OneTime(None, _values((2, 3, 2), *needs))


def _fill(config: Any, matched: MatchedFlow, pictures: Pictures, lenses: Any, *more: Any) -> FilledFlow:
    uv = _values(matched.uv.shape, matched, pictures, *more)
    return FilledFlow(uv, uv[..., 0], uv[..., 1] > 2, matched.colours)


def _refine(view: str) -> Any:
    def refined(config: Any, *needs: Any) -> RefinedFlows:
        names, shape = RefinedFlows.__dataclass_fields__, _shape("stereo_flow", view)
        return RefinedFlows(**{name: _values(shape, name, config.iterations, *needs) for name in names})

    return refined


def _scene(kind: type, version: int, view: str) -> Any:
    def lifted(*needs: Any) -> Any:
        known = [each for each in needs if not isinstance(each, tuple)]
        found: dict[str, Any] = {"tilt": 0.0}
        for name in kind.__dataclass_fields__:
            if name in (*ARRAYS, *OPTIONAL):
                found[name] = _values(_shape(name, view), name, version, *known)
        found["occluded"] = found["occluded"] > 2
        found["source"] = found["source"].astype(np.uint8)
        found["confidence"] = np.clip(found["confidence"] / 4, 0, 1)
        return kind(**found)

    return lifted


def _steady(view: str) -> Any:
    def steadied(*needs: Any) -> SteadyDepth:
        causes = [each for need in needs for each in need if each is not None]
        depth, source = (_values(_shape(name, view), name, *causes) for name in SLOTS["steady"])
        return SteadyDepth(depth, source.astype(np.uint8))

    return steadied


@contextmanager
def quick_stages(wish: Wish) -> Iterator[None]:
    """Replace what takes long."""
    functions: dict[str, Any] = {"pictures": _pictures, "match_optical_b": _match(1)}
    functions |= dict.fromkeys(("match_stereo", "match_optical_a"), _match(0))
    functions |= dict.fromkeys(("stereo", "stereo_b", "optical_a", "optical_b"), _fill)
    for view, end in (("a", ""), ("b", "_b")):
        functions |= {f"over_time{end}": _look(view), f"refined{end}": _refine(view)}
        functions[f"believed{end}"] = _believe
        functions[f"one_time{end}"] = _one_time
        functions[f"step{end}"] = _scene(SceneFlow, wish.lift_version, view)
        functions[f"steady{end}"] = _steady(view)
        functions[f"last{end}"] = _scene(LastMoment, wish.lift_version, view)
    assert set(functions) == set(order.STAGE)
    with ExitStack() as stack:
        for name, function in functions.items():
            version = wish.lift_version if name.removesuffix("_b") in ("step", "last") else 1
            changed = replace(order.STAGE[name], function=function, version=version)
            stack.enter_context(patch.dict(order.STAGE, {name: changed}))
        stack.enter_context(patch.object(do, "_video", lambda *_: _Film()))
        stack.enter_context(patch.object(do, "_lenses", lambda _: (_Lens(), _Lens())))
        yield


_FOUND = {
    "sync": {"offset_seconds": 0.0, "rate": 1.0, "method": "given", "confidence": 1.0, "notes": []},
    "check": [],
    "calibration": {"reprojection_error_median": 0.3, "axis_angle": [1.0], "doubts": [], "frames": 3},
    "seconds": {},
}


def run_quickly(wish: Wish, out: Path | str, workers: str | None = None) -> Result:
    """`wideflow.run` of a wish; ``workers`` is the address of a scheduler."""
    plan = make_plan(wish, str(out))
    counts = {"asked": wish.moments, "filmed": wish.moments, "placed": wish.moments}
    found = {**_FOUND, "moments": counts}
    keep = tuple(name for name in wish.keep if name not in OF_B)
    job = Job(Path("a"), Path("b"), str(out), plan.config, keep=keep, discard_work=wish.discard_work)
    silent = lambda *_: None  # noqa: E731
    with quick_stages(wish), patch.object(run_module, "make_plan", lambda *_: (plan, found)):
        return run_module.run_job(job, None, workers, False, silent)


def quick_step() -> Step:
    """What `wideflow frames` computes of four pictures."""
    first, last = (_pictures(lambda *_, t=t: (0.0, np.uint8([t])), None) for t in range(2))
    scenes = _scene(SceneFlow, 1, "a")(first), _scene(LastMoment, 1, "a")(last)
    steady = tuple(SteadyDepth(scene.depth, scene.source) for scene in scenes)
    return Step(*scenes, steady, (first, last), make_plan(Wish(moments=2), "").rig)


def served(out: Path | str) -> dict[str, bytes]:
    """All that a reader gets of a result: rig and arrays; what is reported as missing is not in it."""
    from wideflow.errors import FileError

    try:
        result = Result(str(out))
    except FileError:
        return {}
    found = {"rig": b"".join(_bytes(frame) for frame in result.rig.frames)}
    for t in range(len(result)):
        for name in result.store.names:
            if t < spec(name).shape(len(result), SIZES)[0]:
                try:
                    found[f"{name} {t}"] = result.array(name, t).tobytes()
                except FileError:
                    continue
    return found


if __name__ == "__main__":
    run_quickly(Wish(moments=2), sys.argv[1])
