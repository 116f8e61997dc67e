"""The loops of the search for planes: what a plane costs at a pixel, and one round over half the pixels."""

from __future__ import annotations

import numpy as np

from wideflow.compiled import kernel, njit, over_rows
from wideflow.types import Array

_STEEPEST = np.float32(8.0)  # tangent of the angle between a surface's normal and the line of sight
_NEVER = np.float32(1.0)  # cost of a picture that does not show the point
_EDGE = np.float32(30)  # a step of brightness of 1 / 30 halves what a jump of depth costs
_SAME = np.float32(0.02)  # px: planes that differ by less are one
_FAR = np.array([3, 5, 9, 15, 25])  # px, odd: where else planes are taken from, the likeliest of each side
_OPPOSED = np.float32(3.0)  # px: most that the depth of another picture counts as off


@njit(inline="always")
def lands(H, e, x, y, inverse):
    """Where a pixel at an inverse depth lies in another picture, and its depth there over its own.

    ``H`` and ``e`` are those of `transfer`. Behind the other camera it lies outside of its picture.
    """
    w = H[2, 0] * x + H[2, 1] * y + H[2, 2] + inverse * e[2]
    if w <= 0:
        return -1.0, -1.0, w
    u = (H[0, 0] * x + H[0, 1] * y + H[0, 2] + inverse * e[0]) / w
    v = (H[1, 0] * x + H[1, 1] * y + H[1, 2] + inverse * e[1]) / w
    return u, v, w


@njit(inline="always")
def _mixed(state):
    """The next of a row of numbers that look like chance (xorshift, 32 bits)."""
    state ^= (state << np.uint32(13)) & np.uint32(0xFFFFFFFF)
    state ^= state >> np.uint32(17)
    state ^= (state << np.uint32(5)) & np.uint32(0xFFFFFFFF)
    return state


@kernel()
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


@kernel()
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


def sweep(
    grey: Array,
    pictures: Array,
    sizes: Array,
    depths: Array,
    H: Array,
    e: Array,
    offsets: Array,
    near: Array,
    numbers: Array,
    planes: Array,
    cost: Array,
    colour: int,
    number: int,
    tries: int,
    spread: np.float32,
    proposed: Array,
) -> None:
    """One round over the pixels of one colour of a chessboard; changes ``planes`` and ``cost``."""
    _sweep(
        len(grey), grey, pictures, sizes, depths, H, e, offsets, near, numbers, planes, cost, colour, number,
        tries, spread, proposed,
    )  # fmt: skip


@over_rows()
def _sweep(
    first, end, grey, pictures, sizes, depths, H, e, offsets, near, numbers, planes, cost, colour, number,
    tries, spread, proposed,
):  # fmt: skip
    rows, columns = grey.shape
    n = offsets.shape[0]
    contrast, pixels, focal = numbers[1], numbers[6], numbers[7]
    least, most = numbers[8], numbers[9]
    for y in range(first, end):
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
            # of one type wherever they come from, so that helpers are compiled but once
            depth, across = np.float64(planes[y, x, 0]), np.float64(planes[y, x, 1])
            down = np.float64(planes[y, x, 2])
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
