"""Which pixels does the other picture not show? (paper, section "Laplacian occlusion filling")"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.compiled import kernel, njit
from wideflow.config import FillConfig
from wideflow.errors import InputError
from wideflow.geometry import flow_depths, forward_backward_error, pixel_grid, relative_pose, static_flow
from wideflow.types import View

_BESIDE, _LEAST_BESIDE = 0.035, 12  # of the longest side, and px: how far what hides a pixel is from it
_NEARER = 0.05  # of depth, by which it is nearer
_AGREEING = 1.0  # px between the flows there and back of what the other picture surely shows
_FURTHER, _ENOUGH = 0.03, 0.3  # of depth, by which it lies behind; share of the 3 x 3 pixels that show it
_FAR = 2.0  # times the limit of the check, beyond which depth alone does not speak for a match


def find_occluded(
    forward: NDArray[np.float32],
    backward: NDArray[np.float32],
    config: FillConfig | None = None,
    views: tuple[View, View] | None = None,
) -> NDArray[np.bool_]:
    """Pixels whose match cannot be trusted: hidden in the other picture, outside it, or mismatched.

    A pixel counts as seen if it passes the forward-backward check, and if it belongs to a surface of
    some size: a small island of smooth flow amid others agrees by chance. With the cameras of a stereo pair
    it also counts as seen if both flows put it at the same depth: where the other picture shows a surface
    from the side, a pixel there is many here. Swap the flows for the other direction.

    Parameters
    ----------
    forward : (H, W, 2) float
        Flow of the picture; NaN where unknown.
    backward : (H2, W2, 2) float
        Flow of the other picture, of any size.
    config : FillConfig, optional
        The default settings unless given.
    views : pair of View, optional
        The cameras of the two pictures, pinhole.

    Returns
    -------
    (H, W) bool
    """
    config = FillConfig() if config is None else config
    flows = [np.ascontiguousarray(flow, np.float32) for flow in (forward, backward)]
    for flow in flows:
        if flow.ndim != 3 or flow.shape[2] != 2:
            raise InputError(f"a flow field must have shape (H, W, 2), not {flow.shape}")
    error = forward_backward_error(flows[0], flows[1])
    seen = error <= config.threshold
    if views is not None and config.same_depth > 0:
        near = ~seen & (error <= _FAR * config.threshold)
        seen[near] = _depth_step(flows, near, views) < config.same_depth
    seen = _without_islands(flows[0], seen, config.island, config.island_step)
    occluded = ~seen
    occluded = _without_islands(np.zeros_like(flows[0]), occluded, config.hole, 0.0)
    if config.closing:
        import cv2

        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * config.closing + 1,) * 2)
        closed = cv2.morphologyEx(occluded.astype(np.uint8), cv2.MORPH_CLOSE, disc)
        occluded = np.asarray(closed, np.bool_)
    return occluded


def find_shown(
    completed: NDArray[np.float32],
    backward: NDArray[np.float32],
    occluded: NDArray[np.bool_],
    views: tuple[View, View],
    config: FillConfig | None = None,
) -> NDArray[np.bool_]:
    """Pixels that passed for hidden, but whose completed point the other picture shows after all.

    What is hidden lies behind something. Where the other picture's own flow has the depth of the completed
    point, nothing hides it: it was mismatched, and its neighbours' surface goes on there.

    Parameters
    ----------
    completed, backward : (H, W, 2) and (H2, W2, 2) float32
        The flow of the picture after completion, and that of the other picture.
    occluded : (H, W) bool
        Pixels that were completed.
    views : pair of View
        The cameras of the two pictures, pinhole.
    config : FillConfig, optional
        The default settings unless given.

    Returns
    -------
    (H, W) bool
    """
    config = FillConfig() if config is None else config
    shown = np.zeros_like(occluded)
    if config.shown_depth > 0 and occluded.any():
        shown[occluded] = _depth_step([completed, backward], occluded, views) < config.shown_depth
    return shown


def find_occluders(
    flow: NDArray[np.float32], behind: NDArray[np.floating[Any]], views: tuple[View, View]
) -> NDArray[np.bool_]:
    """Pixels of what hides a known background nearby, which must not be completed from them.

    Parameters
    ----------
    flow : (H, W, 2) float
        From the first view to the second.
    behind : (H, W) float
        Inverse depth of the background where the second view does not show it; NaN elsewhere.
    views : pair of View
        The cameras of the two pictures, pinhole.

    Returns
    -------
    (H, W) bool
    """
    import cv2

    height, width = behind.shape
    reach = max(_LEAST_BESIDE, round(_BESIDE * max(height, width)))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    furthest = cv2.erode(np.nan_to_num(np.asarray(behind, np.float32), nan=np.inf), disc)
    near = np.isfinite(furthest)
    depth = flow_depths(*views, flow)[0]
    occluder = np.zeros((height, width), np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        occluder[near] = depth[near] * furthest[near] < 1 - _NEARER
    return occluder


def depth_shown(
    forward: NDArray[np.float32], backward: NDArray[np.float32], views: tuple[View, View]
) -> NDArray[np.float32]:
    """(H2, W2): depth in the second camera of what its picture shows; NaN where both flows disagree."""
    known = forward_backward_error(backward, forward) < _AGREEING
    return np.where(known, flow_depths(views[1], views[0], backward, known)[0], np.float32(np.nan))


def find_refuted(
    inverse: NDArray[np.float32],
    forward: NDArray[np.float32],
    backward: NDArray[np.float32],
    views: tuple[View, View],
) -> NDArray[np.bool_]:
    """Pixels whose depth cannot be: the other picture shows what lies behind it, all around its place.

    What is hidden lies behind something; what the other camera looks through is not there.

    Parameters
    ----------
    inverse : (H, W) float32
        Inverse depth of the first picture, NaN where unknown.
    forward, backward : (H, W, 2) and (H2, W2, 2) float32
        Flows between the pictures.
    views : pair of View
        The cameras of the two pictures, pinhole.

    Returns
    -------
    (H, W) bool
    """
    import cv2

    shown = depth_shown(forward, backward, views)
    nearest = cv2.erode(np.nan_to_num(shown, nan=np.inf), np.ones((3, 3), np.uint8))
    enough = cv2.blur(np.isfinite(shown).astype(np.float32), (3, 3)) > _ENOUGH
    height, width = inverse.shape
    here = pixel_grid(width, height)
    there = np.rint(np.nan_to_num(here + static_flow(*views, inverse), nan=-1)).astype(np.intp)
    inside = ((there >= 0) & (there < (shown.shape[1], shown.shape[0]))).all(axis=2)
    row, column = (np.where(inside, there[..., i], 0) for i in (1, 0))
    pose = relative_pose(*views)
    toward = pose[2, :3] @ np.linalg.inv(views[0].camera.K)
    with np.errstate(invalid="ignore", divide="ignore"):
        depth = (here @ toward[:2] + toward[2]) / inverse + pose[2, 3]
        return np.asarray(inside & enough[row, column] & (nearest[row, column] > depth * (1 + _FURTHER)))


def _depth_step(
    flows: list[NDArray[np.float32]], where: NDArray[np.bool_], views: tuple[View, View]
) -> NDArray[np.float32]:
    """By how much of itself the depth in the other camera differs between the flow there and back.

    Infinite outside of the other picture, and behind a camera.
    """
    y, x = np.nonzero(where)
    u, v = flows[0][y, x].astype(np.float64).T
    there = x + u, y + v
    column, row = (
        np.clip(np.rint(p), 0, s - 1).astype(np.intp)
        for p, s in zip(there, flows[1].shape[1::-1], strict=True)
    )
    inside = (np.abs(column - there[0]) <= 0.5) & (np.abs(row - there[1]) <= 0.5)
    asked = np.zeros(flows[1].shape[:2], np.bool_)
    asked[row, column] = True
    depth = flow_depths(*views, flows[0], where)[1][y, x]
    shown = flow_depths(views[1], views[0], flows[1], asked)[0][row, column]
    with np.errstate(invalid="ignore", divide="ignore"):
        step = np.abs(shown / depth - 1)
    return np.where(inside & np.isfinite(step), step, np.float32(np.inf))


def _without_islands(
    flow: NDArray[np.float32], mask: NDArray[np.bool_], share: float, step: float
) -> NDArray[np.bool_]:
    """The mask less its parts below a share of the picture; a step of flow separates neighbours."""
    kept = mask.copy()
    _remove_islands(flow, kept, share * mask.size, step)
    return kept


@njit()
def _remove_islands(flow: NDArray[Any], mask: NDArray[Any], smallest: float, step: float) -> None:
    height, width = mask.shape
    labels, count = np.empty((height, width), np.int32), 0
    # of each label, one that its part has as well, itself or a lesser one, and its pixels
    same, sizes = np.empty(height * width, np.int32), np.empty(height * width, np.int32)
    for y in range(height):
        for x in range(width):
            if not mask[y, x]:
                continue
            label = -1
            if x > 0 and mask[y, x - 1] and _joined(flow, y, x, y, x - 1, step):
                label = labels[y, x - 1]
            if y > 0 and mask[y - 1, x] and _joined(flow, y, x, y - 1, x, step):
                above = labels[y - 1, x]
                if label >= 0 and label != above:
                    while same[label] != label:
                        label = same[label]
                    while same[above] != above:
                        above = same[above]
                    same[max(label, above)] = min(label, above)
                label = above if label < 0 else min(label, above)
            if label < 0:
                label = count
                same[label], sizes[label] = label, 0
                count += 1
            labels[y, x] = label
            sizes[label] += 1
    for label in range(count):
        same[label] = same[same[label]]
        if same[label] != label:
            sizes[same[label]] += sizes[label]
    for y in range(height):
        for x in range(width):
            if mask[y, x] and sizes[same[labels[y, x]]] < smallest:
                mask[y, x] = False


@kernel()
def _joined(flow: NDArray[Any], y: int, x: int, ny: int, nx: int, step: float) -> bool:
    du, dv = flow[ny, nx, 0] - flow[y, x, 0], flow[ny, nx, 1] - flow[y, x, 1]
    return du * du + dv * dv <= step * step
