"""A printed tag of known size on a board before the scene, where both cameras see it."""

from __future__ import annotations

import numpy as np

from wideflow.geometry.tags import CELLS
from wideflow.synth.camera.hands import CENTRE, Hand
from wideflow.synth.textures import prints, woods
from wideflow.synth.things.body import Body, Material
from wideflow.synth.things.mesh import Points, at, box, join, rectangle, rod, rotation

_AWAY = 3.0  # metres from the cameras
_SIDE = 0.45  # metres beside the line from them to the scene
_HEIGHT = 0.78  # metres above the ground of its middle
_PAPER = Material(prints.tag, "tag", 2048)
_BOARD = Material(woods.timber, "tag board", 512)


def tag_board(size: float, seed: int, hands: tuple[Hand, Hand]) -> list[Body]:
    """A board with a tag of ``size`` metres, three metres from both cameras, turned and tilted a little."""
    rng = np.random.default_rng([seed, 15])
    middle = (hands[0].place + hands[1].place) / 2
    ahead = (CENTRE - middle) * (1, 1, 0)
    ahead /= np.linalg.norm(ahead)
    side = np.cross(ahead, (0, 0, 1.0)) * rng.choice([-1, 1]) * _SIDE * rng.uniform(0.7, 1.1)
    place = middle * (1, 1, 0) + ahead * _reach(hands, middle, ahead, side) + side
    facing = float(np.arctan2(ahead[1], ahead[0]) - np.pi / 2 + rng.uniform(-0.3, 0.3))
    tilt = rotation((1, 0, 0), float(rng.uniform(-0.2, 0.05)))
    wide = size * (CELLS + 2) / CELLS
    paper = rectangle((-wide / 2, -0.006, -wide / 2), (wide, 0, 0), (0, 0, wide), wide / 4, fit=True)
    back = box((wide + 0.03, 0.01, wide + 0.03), 0.1).moved((0, 0, -(wide + 0.03) / 2))
    legs = [rod((x, 0.02, -_HEIGHT), (x, 0.01, 0), 0.012) for x in (-wide / 3, wide / 3)]
    up = place + at(0, 0, _HEIGHT)
    return [
        Body("tag board", join([back, *legs]).moved(up, facing, tilt=tilt), _BOARD),
        Body("tag", paper.moved(up, facing, tilt=tilt), _PAPER, fit=True),
    ]


def _reach(hands: tuple[Hand, Hand], middle: Points, ahead: Points, side: Points) -> float:
    """How far ahead of the middle between the cameras the board is three metres from them on average."""
    reach = np.linspace(1, 4, 301)[:, None]
    spots = middle * (1, 1, 0) + reach * ahead + side + at(0, 0, _HEIGHT)
    away = np.mean([np.linalg.norm(spots - hand.place, axis=1) for hand in hands], axis=0)
    return float(reach[np.argmin(np.abs(away - _AWAY)), 0])
