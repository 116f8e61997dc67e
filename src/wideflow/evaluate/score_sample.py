"""Errors of one result against one sample, as the named numbers of a row of a table."""

from __future__ import annotations

import numpy as np

from wideflow.evaluate.datasets.sample import Sample
from wideflow.evaluate.metrics import (
    FourFrameFlows,
    KittiFields,
    depth_scores,
    flow_scores,
    kitti_scores,
    motion_scores,
    occlusion_scores,
    paper_scores,
)
from wideflow.evaluate.stage_result import StageResult

# name of a column: what it says
COLUMNS = {
    "stereo_bad3": "per cent of the pixels that B sees whose stereo flow is wrong by more than 3 px",
    "stereo_bad1": "wrong by more than 1 px",
    "stereo_mean": "their mean error, px",
    "stereo_bad3_all": "the same share over all pixels with truth",
    "optical_bad3": "per cent of the pixels that A still sees whose optical flow is wrong by more than 3 px",
    "optical_mean": "their mean error, px",
    "optical_median": "their median error, px",
    "optical_bad3_all": "the same share over all pixels with truth",
    "occluded_f1": "how well the hidden pixels are found: F1, per cent (more is better)",
    "mae_d": "the paper's MAE of the stereo flow's length over visible pixels, px",
    "rmse": "the paper's RMSE over (u, v, d, p), px",
    "aae": "the paper's angular error over (u, v, p, 1), degrees",
    "depth_bad1": "per cent of the pixels seen in all pictures whose depth is wrong by more than 1 %",
    "motion_median": "median error of their 3D motion, thousandths of a world unit",
    "d1": "KITTI's outliers of the disparity at t, per cent of all pixels with truth",
    "d2": "of the disparity at t + 1",
    "fl": "of the optical flow",
    "sf": "of any of the three",
    "density": "per cent of the pixels with truth that have an estimate (more is better)",
    "occluded_percent": "per cent of the picture that is occluded",
    "diffusion_px": "mean error inside the occlusions after diffusion, px",
    "laplacian_px": "the same after filling by the matting Laplacian, px",
    "ratio": "the latter over the former; for contamination, wrong pixels over those of the clean pair",
    "diffusion_degrees": "mean angular error inside the occlusions after diffusion, degrees",
    "laplacian_degrees": "the same after filling by the matting Laplacian, degrees",
    "share": "per cent of the picture that these pixels are",
    "off1": "per cent of them whose depth is off by more than 1 %, up to one scale for the clip",
    "off5": "by more than 5 %",
    "off10": "by more than 10 %",
    "missing": "per cent of them without a depth, which are off",
    "claimed": "their mean confidence, per cent: the chance claimed to be within 1 %",
    "sure": "per cent of them with a confidence above 0.8",
    "sure_right": "per cent of the sure ones within 1 % (more is better)",
    "motion_moving_mm": "median error of the 3D motion of what moves, thousandths of a world unit",
    "motion_moving_relative": "the same, per cent of the motion",
    "motion_static_mm": "median error of the 3D motion of what stands still, thousandths of a world unit",
    "motion_static_relative": "the same, per cent of the depth",
    "flicker": "median change of found over true depth of static points until the next moment, per cent",
    "flicker_95": "its 95th percentile",
    "moving_iou": "how well what moves is found: intersection over union, per cent (more is better)",
    "rotation": "median error of the rotation between the cameras, degrees",
    "direction": "of the direction from A to B as A sees it, degrees",
    "focal": "of the focal lengths, the worse of both, per cent",
    "moments": "moments with truth",
    "step": "frames of A from one moment to the next",
    "seconds": "that the method took to here",
}
MORE_IS_BETTER = ("occluded_f1", "density", "sure_right", "moving_iou")
NOT_COMPARED = (
    "seconds", "ratio", "occluded_percent", "diffusion_px", "diffusion_degrees", "share", "claimed", "sure",
    "moments", "step",
)  # fmt: skip


def score_sample(sample: Sample, result: StageResult, kitti: bool = False) -> dict[str, float]:
    """The columns that this sample has truth for and this result has a value for.

    Parameters
    ----------
    sample : Sample
        The truth.
    result : StageResult
        What a method or one of its stages has found.
    kitti : bool
        Add KITTI's own measures, for sets of that kind.
    """
    row: dict[str, float] = {}
    for name in ("stereo", "optical"):
        truth, flow = getattr(sample, name), getattr(result, name)
        if truth is None or flow is None:
            continue
        flow_error = flow_scores(flow, truth, sample.seen(name))
        row |= {f"{name}_bad3": flow_error.visible.bad[3], f"{name}_mean": flow_error.visible.mean}
        row[f"{name}_bad3_all"] = flow_error.all.bad[3]
        if name == "stereo":
            row["stereo_bad1"] = flow_error.visible.bad[1]
        else:
            row["optical_median"] = flow_error.visible.median
        if flow_error.all.density < 100:
            row["density"] = min(row.get("density", 100.0), flow_error.all.density)
    if result.occluded is not None:
        hidden = sample.seen("stereo" if sample.stereo is not None else "optical")
        if not hidden.all():
            row["occluded_f1"] = occlusion_scores(result.occluded, ~hidden).f1
    row |= _four_frames(sample, result, kitti)
    seen = sample.seen("stereo", "optical", "loop")
    if sample.depth is not None and result.depth is not None:
        row["depth_bad1"] = depth_scores(result.depth, sample.depth, seen).visible.bad[1]
    if sample.motion is not None and result.motion is not None:
        row["motion_median"] = (
            1000 * motion_scores(result.motion, sample.motion, seen, (0.05,)).visible.median
        )
    if result.seconds:
        row["seconds"] = result.seconds
    return row


def _four_frames(sample: Sample, result: StageResult, kitti: bool) -> dict[str, float]:
    truth = [sample.optical, sample.stereo, sample.loop]
    found = [result.optical, result.stereo, result.loop]
    if any(field is None for field in (*truth, *found)):
        return {}
    pairs = [[np.asarray(field, np.float64) for field in fields] for fields in (found, truth)]
    if kitti:
        fields = [KittiFields(stereo, loop - optical, optical) for optical, stereo, loop in pairs]
        every = np.ones(sample.pictures[0].shape[:2], bool)
        outliers = kitti_scores(fields[0], fields[1], every).all
        return {"d1": outliers.d1, "d2": outliers.d2, "fl": outliers.fl, "sf": outliers.sf}
    flows = [FourFrameFlows(optical, stereo, loop - optical - stereo) for optical, stereo, loop in pairs]
    paper = paper_scores(flows[0], flows[1], sample.seen("stereo", "optical", "loop")).visible
    return {"mae_d": paper.mae_d, "rmse": paper.rmse, "aae": paper.aae}
