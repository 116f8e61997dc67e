"""A plane at every pixel: depth and slope that several pictures agree on, whatever the angle they look from.

Seen from far apart, a window of one picture is sheared and stretched in another. Inverse depth is linear
over the picture of a plane, so a window laid along a slope is drawn exactly. Each pixel keeps one plane,
takes over those of its neighbours where pictures agree better with them, and varies its own (PatchMatch, as
M. Bleyer, C. Rhemann and C. Rother, "PatchMatch Stereo", BMVC 2011, have it). Pixels of one colour of a
chessboard are done at a time: they look at the other colour only, so that the result does not depend on
threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numba import prange
from numpy.typing import NDArray

from wideflow.compiled import FAST, njit
from wideflow.evidence.glimpse import Floats, Glimpse
from wideflow.geometry import transfer

_STEEPEST = np.float32(8.0)  # tangent of the angle between a surface's normal and the line of sight
_NEVER = np.float32(1.0)  # cost of a picture that does not show the point
_EDGE = np.float32(30)  # a step of brightness of 1 / 30 halves what a jump of depth costs
_SAME = np.float32(0.02)  # px: planes that differ by less are one
_FAR = np.array([3, 5, 9, 15, 25])  # px, odd: where else planes are taken from, the likeliest of each side
_OPPOSED = np.float32(
    3.0
)  # px: most that depth of another picture may be off, beyond which it is another thing


@dataclass(frozen=True)
class Patches:
    """How windows are compared and planes are sought.

    Attributes
    ----------
    reach : int
        Half the side of a window, px; every other pixel of it counts, as on a chessboard.
    contrast : float
        Step of brightness, 0..1, beyond which a pixel of the window hardly counts.
    noise : float
        Brightness, 0..1: structure below it tells nothing.
    best_share : float
        Share of the pictures that counts, those that agree best.
    smooth, jump : float
        Price of a pixel of depth between neighbours, and the pixels from which it does not grow.
    opposed : float
        Price of a pixel by which another picture's own depth differs.
    rounds, tries : int
        Rounds over the picture, and variations in each.
    """

    reach: int = 3
    contrast: float = 0.05
    noise: float = 0.005
    best_share: float = 0.4
    smooth: float = 0.01
    jump: float = 2.0
    opposed: float = 0.1
    rounds: int = 3
    tries: int = 3


@dataclass(frozen=True, eq=False)
class PlaneMap:
    """What is found of every pixel.

    Attributes
    ----------
    planes : (H, W, 3) float32
        Inverse depth, and its change a pixel to the right and down.
    cost : (H, W) float32
        How unlike the pictures that count are; 0 alike, 1 nothing in common.
    """

    planes: Floats
    cost: Floats

    @property
    def inverse(self) -> Floats:
        """(H, W), 1 / world units."""
        return self.planes[..., 0]


def starting_planes(inverse: Floats) -> Floats:
    """Planes (H, W, 3) of a map of inverse depth (H, W): slopes are those of the map without its outliers."""
    calm = cv2.GaussianBlur(cv2.medianBlur(inverse.astype(np.float32), 5), (0, 0), 2.0)
    down, across = np.gradient(calm)
    down, across = (cv2.medianBlur(slope.astype(np.float32), 5) for slope in (down, across))
    return np.stack([inverse, across, down], axis=-1).astype(np.float32)


def find_planes(
    here: Glimpse,
    others: list[Glimpse],
    planes: Floats,
    ends: tuple[float, float],
    settings: Patches,
    known: list[Floats] | None = None,
) -> PlaneMap:
    """The plane of every pixel, beginning with a guess.

    Parameters
    ----------
    here : Glimpse
        The picture.
    others : list of Glimpse
        Those that it is compared with, of any size.
    planes : (H, W, 3) float32
        Inverse depth, and its change a pixel to the right and down.
    ends : (float, float)
        Least and greatest inverse depth.
    settings : Patches
        How to compare and to seek.
    known : list of (h, w) float32, optional
        Inverse depth of the others' own pixels, each in its own camera: what they found is proposed, and what
        contradicts it costs more.
    """
    shape = here.grey.shape[0], here.grey.shape[1]
    sizes = np.array([other.grey.shape for other in others])
    pictures = np.zeros((len(others), *sizes.max(axis=0)), np.float32)
    depths = np.zeros((len(others), *(sizes.max(axis=0) if known else (1, 1))), np.float32)
    for v, other in enumerate(others):
        pictures[v, : sizes[v, 0], : sizes[v, 1]] = other.brightness((sizes[v, 0], sizes[v, 1]))
        if known:
            depths[v, : sizes[v, 0], : sizes[v, 1]] = known[v]
    maps = [transfer(here.view, other.view) for other in others]
    H, e = np.stack([each[0] for each in maps]), np.stack([each[1] for each in maps])
    pixels = pixels_per_inverse(H, e, shape, float(np.median(planes[..., 0])))
    grey = here.brightness(shape)
    planes = np.ascontiguousarray(planes, np.float32)
    offsets, near = _window(settings)
    numbers = np.array(
        [
            settings.best_share, settings.contrast, settings.noise**2, settings.smooth, settings.jump,
            settings.opposed if known else 0.0, pixels, float(here.view.camera.K[0, 0]), *ends,
        ],
        np.float32,
    )  # fmt: skip
    cost = np.full(shape, -1, np.float32)
    proposed = np.zeros((0, *shape), np.float32)
    if known:
        proposed = np.stack([_seen_from_here(here, *pair) for pair in zip(others, known, strict=True)])
    nothing = np.zeros((0, *shape), np.float32)
    for number in range(settings.rounds):
        spread = np.float32(4.0 * 0.5**number)  # px
        for colour in (0, 1):
            _sweep(
                grey, pictures, sizes, depths, H, e, offsets, near, numbers, planes, cost, colour, number,
                settings.tries, spread, nothing if number else proposed,
            )  # fmt: skip
    return PlaneMap(planes, cost)


def pixels_per_inverse(
    H: NDArray[np.float64], e: NDArray[np.float64], shape: tuple[int, int], inverse: float
) -> float:
    """How far a point in the middle moves in the other pictures, px for one unit of inverse depth; median."""
    middle = np.array([shape[1] / 2, shape[0] / 2, 1.0])
    q = H @ middle + inverse * e
    w = np.maximum(q[:, 2:], 1e-9)
    motion = (e[:, :2] - q[:, :2] / w * e[:, 2:]) / w
    return float(np.median(np.linalg.norm(motion, axis=1)))


def _window(settings: Patches) -> tuple[NDArray[np.float32], Floats]:
    """Offsets (n, 2) of the pixels of a window, the middle first, and their weights (n,) by distance."""
    steps = np.arange(-settings.reach, settings.reach + 1)
    offsets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    offsets = offsets[offsets.sum(axis=1) % 2 == 0]
    offsets = offsets[np.argsort((offsets**2).sum(axis=1), kind="stable")].astype(np.float32)
    near = np.exp(-(offsets**2).sum(axis=1) / (2 * settings.reach**2)).astype(np.float32)
    return offsets, near


def _seen_from_here(here: Glimpse, other: Glimpse, inverse: Floats) -> Floats:
    """Inverse depth (H, W) of here that another picture's depth says, the nearest counting; 0 where none."""
    H, e = transfer(other.view, here.view)
    seen = np.zeros(here.grey.shape[:2], np.float32)
    _splat(H, e, inverse, seen)
    return seen


@njit()
def _splat(H, e, inverse, seen):
    rows, columns = seen.shape
    for y in range(inverse.shape[0]):
        for x in range(inverse.shape[1]):
            depth = inverse[y, x]
            if depth <= 0:
                continue
            w = H[2, 0] * x + H[2, 1] * y + H[2, 2] + depth * e[2]
            if w <= 0:
                continue
            tx = int(np.floor((H[0, 0] * x + H[0, 1] * y + H[0, 2] + depth * e[0]) / w + 0.5))
            ty = int(np.floor((H[1, 0] * x + H[1, 1] * y + H[1, 2] + depth * e[1]) / w + 0.5))
            if 0 <= tx < columns and 0 <= ty < rows:
                seen[ty, tx] = max(seen[ty, tx], np.float32(depth / w))


@njit(inline="always")
def _mixed(state):
    """The next of a row of numbers that look like chance (xorshift, 32 bits)."""
    state ^= (state << np.uint32(13)) & np.uint32(0xFFFFFFFF)
    state ^= state >> np.uint32(17)
    state ^= (state << np.uint32(5)) & np.uint32(0xFFFFFFFF)
    return state


@njit(fastmath=FAST)
def _unlike(
    x, y, depth, across, down, picture, height, width, H, e, offsets, mine, weights, mean, variance, noise
):
    """One less the weighted correlation of a window with another picture, 0..2; negative if not shown."""
    w = H[2, 0] * x + H[2, 1] * y + H[2, 2] + depth * e[2]
    if w <= 0:
        return np.float32(-1)
    u = H[0, 0] * x + H[0, 1] * y + H[0, 2] + depth * e[0]
    v = H[1, 0] * x + H[1, 1] * y + H[1, 2] + depth * e[1]
    if not (0 <= u <= (width - 1) * w and 0 <= v <= (height - 1) * w):
        return np.float32(-1)
    u0, v0, w0 = np.float32(u), np.float32(v), np.float32(w)
    ux, uy = np.float32(H[0, 0] + across * e[0]), np.float32(H[0, 1] + down * e[0])
    vx, vy = np.float32(H[1, 0] + across * e[1]), np.float32(H[1, 1] + down * e[1])
    wx, wy = np.float32(H[2, 0] + across * e[2]), np.float32(H[2, 1] + down * e[2])
    right, bottom = np.float32(width - 1.001), np.float32(height - 1.001)
    total, square, both = np.float32(0), np.float32(0), np.float32(0)
    for i in range(offsets.shape[0]):
        dx, dy = offsets[i, 0], offsets[i, 1]
        ww = w0 + dx * wx + dy * wy
        if ww <= 0:
            return np.float32(-1)
        over = np.float32(1) / ww
        tx = min(max((u0 + dx * ux + dy * uy) * over, np.float32(0)), right)
        ty = min(max((v0 + dx * vx + dy * vy) * over, np.float32(0)), bottom)
        ix, iy = int(tx), int(ty)
        fx, fy = tx - np.float32(ix), ty - np.float32(iy)
        a, b = picture[iy, ix], picture[iy, ix + 1]
        c, d = picture[iy + 1, ix], picture[iy + 1, ix + 1]
        a += fx * (b - a)
        c += fx * (d - c)
        value = a + fy * (c - a)
        weighted = weights[i] * value
        total += weighted
        square += weighted * value
        both += weighted * mine[i]
    theirs = max(square - total * total, np.float32(0))
    return 1 - (both - total * mean + noise) / np.sqrt((variance + noise) * (theirs + noise))


@njit(fastmath=FAST)
def _price(
    x, y, depth, across, down, grey, pictures, sizes, depths, H, e, offsets, numbers, planes,
    mine, weights, mean, variance, costs,
):  # fmt: skip
    """What a plane costs at a pixel: the pictures that agree best, and the neighbours' planes."""
    share, noise, smooth, jump = numbers[0], numbers[2], numbers[3], numbers[4]
    opposed, pixels = numbers[5], numbers[6]
    views = pictures.shape[0]
    for v in range(views):
        cost = _unlike(
            x, y, depth, across, down, pictures[v], sizes[v, 0], sizes[v, 1], H[v], e[v], offsets,
            mine, weights, mean, variance, noise,
        )  # fmt: skip
        if cost < 0:
            cost = _NEVER
        else:
            cost = min(cost, _NEVER)
            if opposed > 0:
                w = H[v, 2, 0] * x + H[v, 2, 1] * y + H[v, 2, 2] + depth * e[v, 2]
                tx = int((H[v, 0, 0] * x + H[v, 0, 1] * y + H[v, 0, 2] + depth * e[v, 0]) / w + 0.5)
                ty = int((H[v, 1, 0] * x + H[v, 1, 1] * y + H[v, 1, 2] + depth * e[v, 1]) / w + 0.5)
                theirs = depths[v, ty, tx]
                off = _OPPOSED
                if theirs > 0:
                    # both as inverse depth here: theirs scaled by the ratio of the two cameras' depths
                    off = min(np.float32(abs(depth - theirs * w)) * pixels, _OPPOSED)
                cost += opposed * off
        i = v
        while i > 0 and costs[i - 1] > cost:
            costs[i] = costs[i - 1]
            i -= 1
        costs[i] = cost
    best = max(1, int(np.ceil(views * share)))
    total = np.float32(0)
    for i in range(best):
        total += costs[i]
    total /= best
    rough = np.float32(0)
    for k in range(4):
        nx = x + (1 if k == 0 else -1 if k == 1 else 0)
        ny = y + (1 if k == 2 else -1 if k == 3 else 0)
        if 0 <= nx < planes.shape[1] and 0 <= ny < planes.shape[0]:
            there = planes[ny, nx, 0] + (x - nx) * planes[ny, nx, 1] + (y - ny) * planes[ny, nx, 2]
            off = min(abs(there - depth) * pixels, jump)
            rough += off / (1 + _EDGE * abs(grey[ny, nx] - grey[y, x]))
    return total + smooth * rough


@njit(parallel=True, fastmath=FAST)
def _sweep(
    grey, pictures, sizes, depths, H, e, offsets, near, numbers, planes, cost, colour, number, tries, spread,
    proposed,
):  # fmt: skip
    rows, columns = grey.shape
    n = offsets.shape[0]
    contrast, pixels, focal = numbers[1], numbers[6], numbers[7]
    least, most = numbers[8], numbers[9]
    for y in prange(rows):
        mine, weights = np.empty(n, np.float32), np.empty(n, np.float32)
        costs = np.empty(pictures.shape[0], np.float32)
        for x in range((y + colour) % 2, columns, 2):
            heavy, mean, square = np.float32(0), np.float32(0), np.float32(0)
            for i in range(n):
                tx = min(max(x + int(offsets[i, 0]), 0), columns - 1)
                ty = min(max(y + int(offsets[i, 1]), 0), rows - 1)
                value = grey[ty, tx]
                weights[i] = near[i] * np.exp(-abs(value - grey[y, x]) / contrast)
                mine[i] = value
                heavy += weights[i]
            for i in range(n):
                weights[i] /= heavy
                mean += weights[i] * mine[i]
                square += weights[i] * mine[i] * mine[i]
            variance = max(square - mean * mean, np.float32(0))
            depth, across, down = planes[y, x, 0], planes[y, x, 1], planes[y, x, 2]
            # neighbours have changed since: what it costs among them is asked again
            price = _price(
                x, y, depth, across, down, grey, pictures, sizes, depths, H, e, offsets, numbers, planes,
                mine, weights, mean, variance, costs,
            )  # fmt: skip
            state = np.uint32(
                (x * 73856093 ^ y * 19349663 ^ (number + 1) * 83492791) & 0xFFFFFFFF
            ) | np.uint32(1)
            for _ in range(3):
                state = _mixed(state)
            for k in range(8 + proposed.shape[0] + tries):
                d, a, b = depth, across, down
                if k < 8:
                    sx = 1 if k % 4 == 0 else -1 if k % 4 == 1 else 0
                    sy = 1 if k % 4 == 2 else -1 if k % 4 == 3 else 0
                    reach = 1
                    if k >= 4:
                        reach = 0
                        cheapest = np.float32(np.inf)
                        for far in _FAR:
                            fx, fy = x + far * sx, y + far * sy
                            if 0 <= fx < columns and 0 <= fy < rows and cost[fy, fx] < cheapest:
                                cheapest, reach = cost[fy, fx], far
                        if reach == 0:
                            continue
                    nx, ny = x + reach * sx, y + reach * sy
                    if not (0 <= nx < columns and 0 <= ny < rows):
                        continue
                    a, b = planes[ny, nx, 1], planes[ny, nx, 2]
                    d = planes[ny, nx, 0] - reach * (sx * a + sy * b)
                elif k < 8 + proposed.shape[0]:
                    d = proposed[k - 8, y, x]
                else:
                    which = (k + number) % 3
                    state = _mixed(state)
                    if which != 1:
                        d += (np.float32(state) * np.float32(2**-31) - 1) * spread / pixels
                    # a slope that moves the rim of the window by as much as the depth may move
                    for axis in range(2):
                        state = _mixed(state)
                        if which != 0:
                            vary = (np.float32(state) * np.float32(2**-31) - 1) * spread / (8 * pixels)
                            if axis == 0:
                                a += vary
                            else:
                                b += vary
                if not (least <= d <= most) or (abs(a) + abs(b)) * focal > _STEEPEST * d:
                    continue
                rim = abs(offsets[n - 1, 0])
                if (abs(d - depth) + rim * (abs(a - across) + abs(b - down))) * pixels < _SAME:
                    continue
                asked = _price(
                    x, y, d, a, b, grey, pictures, sizes, depths, H, e, offsets, numbers, planes,
                    mine, weights, mean, variance, costs,
                )  # fmt: skip
                if asked < price:
                    price, depth, across, down = asked, d, a, b
            planes[y, x, 0], planes[y, x, 1], planes[y, x, 2] = depth, across, down
            cost[y, x] = price
