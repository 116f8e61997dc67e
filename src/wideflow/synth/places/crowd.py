"""Movers that cover a given share of the picture: a crowd, and a large rigid board that slides behind it.

What the place had moving stands still, so that the share is theirs alone, and its textures are faded
(`FADED`), so that theirs are the strongest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wideflow.synth.camera.exposure import sample_rays
from wideflow.synth.camera.hands import Hand
from wideflow.synth.config import SynthConfig
from wideflow.synth.rendering.trace import Tracer
from wideflow.synth.textures import prints, woods
from wideflow.synth.textures.noise import Random
from wideflow.synth.things import movers
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import Points, rectangle, rotation

FADED = 0.4  # contrast that is left to what stands still
_CANDIDATES = 40
_CROWD = 0.6  # share of all that moves that the crowd has; the board has the rest
_ENOUGH = 0.93  # of that share: another member would hardly fit
_HALVINGS = 9
Depth = NDArray[np.float64]


def with_crowd(bodies: Sequence[Body], config: SynthConfig, hand: Hand) -> list[Body]:
    """The bodies standing still, and movers over ``config.movers`` of the pictures that ``hand`` takes."""
    rng = np.random.default_rng([config.seed, 13])
    times = [share * config.duration for share in (0.0, 0.5, 1.0)]
    still = [_frozen(body) for body in bodies if body.name not in _performers(bodies)]
    behind = [_depths(still, hand, time) for time in times]
    chosen: list[Body] = []
    front = [np.full_like(depth, np.inf) for depth in behind]
    for number in range(_CANDIDATES):
        member = [movers.quicken(body, config.speed) for body in _member(rng, number)]
        nearer = [
            np.minimum(depth, _depths(member, hand, time)) for depth, time in zip(front, times, strict=True)
        ]
        share = _share(nearer, behind) / (_CROWD * config.movers)
        if share <= 1:
            chosen, front = chosen + member, nearer
            if share > _ENOUGH:
                break
    return [*still, *chosen, _board_over(rng, config, hand, times, front, behind)]


def _performers(bodies: Sequence[Body]) -> set[str]:
    """Names of what moves about; what only waves in the wind stays, as a still body."""
    return {body.name for body in bodies if body.name in ("figure", "soft body", "ball", "tumbling box")}


def _frozen(body: Body) -> Body:
    if body.pose is None:
        return body
    return replace(body, mesh=replace(body.mesh, vertices=body.pose(0.0)), pose=None)


def _member(rng: Random, number: int) -> list[Body]:
    """One of the crowd, somewhere on the stage, swaying about its place; no two share a texture."""
    place = float(rng.uniform(-2.0, 2.0)), float(rng.uniform(-1.3, 1.5))
    draw = (prints.poster, woods.print_cloth, woods.rug, woods.weave)[rng.integers(4)]
    print_ = Material(draw, f"crowd {number}", 512)
    kind = rng.integers(5)
    if kind == 0:
        bodies = movers.figure(rng, place, float(np.pi + rng.uniform(-0.6, 0.6)))
    elif kind <= 2:
        bodies = [movers.soft_body(rng, place, float(rng.uniform(0.15, 0.4)))]
    elif kind == 3:
        bodies = [movers.tumbling_box(rng, (*place, float(rng.uniform(0.5, 1.8))), print_)]
    else:
        side = float(rng.uniform(0.4, 0.9))
        corner = (*place, float(rng.uniform(0.2, 1.2)))
        bodies = [movers.cloth(rng, "banner", corner, (side, 0, 0), (0, 0, side), "top", print_)]
    reach, pace = rng.uniform(0.15, 0.4), rng.uniform(1.5, 3.5)
    step = reach * np.array([*rng.uniform(-1, 1, 2), 0.0])
    phase = float(rng.uniform(0, 2 * np.pi))
    return [_swaying(replace(body, name=f"crowd {number}"), step, pace, phase) for body in bodies]


def _swaying(body: Body, step: Points, pace: float, phase: float) -> Body:
    """The body carried to and fro by ``step`` (3,)."""
    pose = body.pose
    assert pose is not None
    return replace(body, pose=lambda time: pose(time) + step * np.sin(pace * time + phase))


def _board_over(
    rng: Random,
    config: SynthConfig,
    hand: Hand,
    times: list[float],
    front: list[Depth],
    behind: list[Depth],
) -> Body:
    """A printed board that slides, as large as the share asks for; found by halving."""
    middle = np.array([rng.uniform(-0.5, 0.5), rng.uniform(0.3, 0.9), rng.uniform(0.8, 1.2)])
    turn = rotation((0, 0, 1), float(rng.uniform(-0.35, 0.35)))
    slide = turn @ np.array([rng.uniform(0.3, 0.45), 0, 0])
    pace, phase = rng.uniform(1.2, 2.0), float(rng.uniform(-0.8, 0.8))  # near its fastest as the clip begins
    print_ = Material((woods.print_cloth, woods.rug)[rng.integers(2)], "board", 1024)
    low, high = 0.05, 7.0
    for _ in range(_HALVINGS):
        width = 0.5 * (low + high)
        board = _board(middle, turn, width, print_)
        board = movers.quicken(_swaying(board, slide, pace, phase), config.speed)
        nearer = [
            np.minimum(depth, _depths([board], hand, time)) for depth, time in zip(front, times, strict=True)
        ]
        low, high = (width, high) if _share(nearer, behind) < config.movers else (low, width)
    return board


def _board(middle: Points, turn: Points, width: float, material: Material) -> Body:
    size = np.array([width, 0, 0]), np.array([0, 0, 0.62 * width])
    mesh = rectangle(-0.5 * (size[0] + size[1]), *size, fit=True)
    vertices = mesh.vertices @ turn.T + middle
    vertices[:, 2] += max(0.0, 0.02 - vertices[:, 2].min())  # it stands on the ground if it is high
    return Body("board", replace(mesh, vertices=vertices), material, lambda time: vertices, fit=True)


def _share(front: list[Depth], behind: list[Depth]) -> float:
    """Share of the pictures in which the first depths are the smaller ones."""
    return float(np.mean([near < far for near, far in zip(front, behind, strict=True)]))


def _depths(bodies: Sequence[Body], hand: Hand, time: float) -> Depth:
    """Depth of the bodies at every pixel of a picture, infinite where there is none."""
    view = hand.view(time)
    rays = sample_rays(hand.camera)[0].reshape(-1, 2)
    directions = np.concatenate([rays, np.ones((len(rays), 1))], axis=1) @ view.R
    vertices = np.concatenate(
        [body.mesh.vertices if body.pose is None else body.pose(time) for body in bodies]
    )
    starts = np.cumsum([0] + [len(body.mesh.vertices) for body in bodies[:-1]])
    faces = np.concatenate([body.mesh.faces + start for body, start in zip(bodies, starts, strict=True)])
    origins = np.broadcast_to(view.centre.astype(np.float32), directions.shape).copy()
    hits = Tracer(vertices, faces.astype(np.int32)).first(origins, directions.astype(np.float32))
    a, b, c = (vertices[faces[hits, i]] for i in range(3))
    normals = np.cross(b - a, c - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = ((a - view.centre) * normals).sum(1) / (directions * normals).sum(1)
    return np.where(hits < 0, np.inf, depth)
