"""First particles of the coarsest level: every place on the epipolar line, or random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideflow.compiled import kernel, over_rows
from wideflow.matching.cost import IMPOSSIBLE, unary
from wideflow.types import Array


def search_line(
    source: Array | None,
    target: Array,
    colours: tuple[Array, Array],
    F: Array,
    infinity: Array,
    epipole: Array,
    flow: Array,
    costs: Array,
    weights: tuple[Any, ...],
    every: int,
) -> None:
    """Try every whole step on the epipolar line of every pixel; the K best local minima become its particles.

    ``infinity`` (3, 3) is the homography of the plane at infinity and ``epipole`` (3,) the oriented epipole
    of the target: only the half line of points in front of both cameras is walked. A zero ``infinity``
    stands for unknown cameras: then the whole line is. Of rows and columns, every so many-th is searched.
    """
    count = -(-len(costs) // every)
    _search(count, source, target, colours, F, infinity, epipole, flow, costs, weights, every)


@over_rows()
def _search(first, end, source, target, colours, F, infinity, epipole, flow, costs, weights, every):
    longest = max(target.shape[0], target.shape[1])
    for i in range(first, end):
        room = np.empty((3, longest), np.float32)
        _search_row(
            source, target, colours[0], colours[1], F, infinity, epipole, flow, costs, weights,
            np.int64(i) * every, every, room[0], room[1], room[2],
        )  # fmt: skip


@kernel()
def _search_row(
    source, target, colour, colours, F, infinity, epipole, flow, costs, weights, y, every, cost, px, py
):
    columns, K = costs.shape[1], costs.shape[2]
    height, width = target.shape[:2]
    calibrated = infinity[2, 2] != 0
    for x in range(0, columns, every):
        a = F[0, 0] * x + F[0, 1] * y + F[0, 2]
        b = F[1, 0] * x + F[1, 1] * y + F[1, 2]
        c = F[2, 0] * x + F[2, 1] * y + F[2, 2]
        q0 = infinity[0, 0] * x + infinity[0, 1] * y + infinity[0, 2]
        q1 = infinity[1, 0] * x + infinity[1, 1] * y + infinity[1, 2]
        q2 = infinity[2, 0] * x + infinity[2, 1] * y + infinity[2, 2]
        flat = abs(b) > abs(a)
        m = 0
        for i in range(width if flat else height):
            tx = np.float32(i) if flat else np.float32(-(b * i + c) / (a + 1e-30))
            ty = np.float32(-(a * i + c) / b) if flat else np.float32(i)
            if tx < -0.5 or ty < -0.5 or tx >= width - 0.5 or ty >= height - 0.5:
                continue
            if calibrated:
                # the point at inverse depth rho projects to q - rho e
                along = q0 - tx * q2 if flat else q1 - ty * q2
                step = epipole[0] - tx * epipole[2] if flat else epipole[1] - ty * epipole[2]
                rho = along / step if step != 0 else -1.0
                if rho < 0 or q2 - rho * epipole[2] <= 0:
                    continue
            px[m], py[m] = tx, ty
            cost[m] = unary(source, target, colour, colours, F, x, y, tx - x, ty - y, weights, IMPOSSIBLE)
            m += 1
        kept = 0
        for i in range(m):
            if (i > 0 and cost[i - 1] < cost[i]) or (i + 1 < m and cost[i + 1] <= cost[i]):
                continue
            if kept == K and cost[i] >= costs[y, x, K - 1]:
                continue
            p = min(kept, K - 1)
            while p > 0 and costs[y, x, p - 1] > cost[i]:
                costs[y, x, p] = costs[y, x, p - 1]
                flow[y, x, p, 0], flow[y, x, p, 1] = flow[y, x, p - 1, 0], flow[y, x, p - 1, 1]
                p -= 1
            costs[y, x, p] = cost[i]
            flow[y, x, p, 0], flow[y, x, p, 1] = px[i] - x, py[i] - y
            kept = min(kept + 1, K)
        for k in range(kept, K):
            costs[y, x, k] = IMPOSSIBLE
            flow[y, x, k, 0], flow[y, x, k, 1] = 0, 0
