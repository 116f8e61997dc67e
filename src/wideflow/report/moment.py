"""One moment of a result as the page reads it, and how much of a long result fits into one file."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wideflow.progress import Progress
from wideflow.report.cloud import moment_cloud
from wideflow.report.overview import Scales
from wideflow.report.panels import data_url, fit_width, moment_panels
from wideflow.storage.result import Result, spread

_PHOTOS = ("a", "b", "overlay", "occluded", "moving", "tracks")


@dataclass(frozen=True)
class Detail:
    """How finely a moment is shown.

    Attributes
    ----------
    width : int
        Largest width of its pictures, px.
    points : int
        Most points in 3D.
    quality : int
        Of WebP, 0 .. 100.
    """

    width: int
    points: int
    quality: int


LIVE = Detail(1280, 1_000_000, 86)
# for one file, the first with which the moments fit
DETAILS = (
    Detail(960, 1_000_000, 82),
    Detail(640, 400_000, 80),
    Detail(480, 150_000, 76),
    Detail(320, 60_000, 72),
)
BUDGET = 13_000_000  # bytes of all moments in one file
_WANTED_MOMENTS = 24  # in one file, even if pictures have to be coarser for it
_MOST_MOMENTS = 240  # in one file: more only make the slider finer


def moment_json(result: Result, t: int, scales: Scales, centre: NDArray[np.float64], detail: Detail) -> str:
    """Pictures, points and cameras of moment t."""
    frame = result.frame(t)
    images = {}
    for name, picture in moment_panels(result, t, scales).items():
        quality = detail.quality if name in _PHOTOS else min(detail.quality + 8, 100)
        images[name] = data_url(fit_width(picture, detail.width), quality)
    return json.dumps(
        {
            "t": t,
            "index": frame.index if len(result.rig.frames) > 1 else t,
            "times": list(frame.times),
            "images": images,
            "cloud": moment_cloud(result, t, detail.points, centre),
        },
        separators=(",", ":"),
    )


def embedded_moments(
    result: Result,
    scales: Scales,
    centre: NDArray[np.float64],
    progress: Progress,
    budget: int = BUDGET,
) -> tuple[dict[int, str], Detail]:
    """As many moments, as fine as fit into the budget: finer pictures give way first, then moments.

    Returns
    -------
    moments : dict
        Number of the moment: its JSON.
    detail : Detail
        That they are shown with.
    """
    wanted = min(len(result), _WANTED_MOMENTS)
    for detail in DETAILS:
        typical = len(moment_json(result, (len(result) - 1) // 2, scales, centre, detail))
        if typical * wanted <= budget:
            break
    chosen = [int(t) for t in spread(len(result), min(max(budget // typical, 1), _MOST_MOMENTS))]
    moments: dict[int, str] = {}
    for done, t in enumerate(chosen):
        progress(done, len(chosen), f"drawing moment {t}")
        moments[t] = moment_json(result, t, scales, centre, detail)
    while sum(map(len, moments.values())) > budget and len(moments) > 1:
        kept = list(moments)
        moments = {kept[i]: moments[kept[i]] for i in spread(len(kept), max(1, len(kept) * 3 // 4))}
    return moments, detail
