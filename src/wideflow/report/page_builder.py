"""The page: one HTML file with its styles, scripts and data inside; nothing is fetched from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.report.colours import flow_wheel
from wideflow.report.moment import Detail
from wideflow.report.overview import Scales, camera_motion, measure_scales
from wideflow.report.panels import data_url
from wideflow.report.sections import (
    camera_section,
    facts_section,
    time_section,
    truth_section,
    verdict_section,
)
from wideflow.report.trails import trail_data
from wideflow.storage.result import Result

_STYLES = ("page.css", "widgets.css")
_SCRIPTS = ("decode.js", "orbit.js", "shaders.js", "cloud.js", "page.js")


@dataclass(frozen=True, eq=False)
class Overview:
    """What a page says of the whole result; measured once.

    Attributes
    ----------
    scales : Scales
    centre, up : (3,) float64
        World point in the middle of the scene, and the direction that is up in the pictures.
    """

    scales: Scales
    centre: NDArray[np.float64]
    up: NDArray[np.float64]


def measure(result: Result) -> Overview:
    """Look through the result for what its page needs to know."""
    scales = measure_scales(result)
    view = result.frame(len(result) // 2).views[0]
    up = np.mean([-frame.views[0].R[1] for frame in result.rig.frames], axis=0)
    centre = view.centre + scales.middle * view.R[2]
    return Overview(scales, centre, up / max(float(np.linalg.norm(up)), 1e-9))


def build_page(
    result: Result, overview: Overview, moments: Sequence[int], embedded: dict[int, str], detail: Detail
) -> str:
    """The HTML of a result.

    Parameters
    ----------
    result : Result
        What is shown.
    overview : Overview
        From `measure`.
    moments : sequence of int
        That the slider goes through.
    embedded : dict
        JSON of these moments; empty for a page that asks its server for them.
    detail : Detail
        That the moments are drawn with, for the note of what is left out.
    """
    summary = result.summary
    distance, angle = camera_motion(result)
    inputs = summary.get("inputs")
    names = [str(name) for name in inputs.values()] if isinstance(inputs, dict) else []
    title = " and ".join(names) or "Wideflow result"
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    slots = {
        "title": escape(title),
        "policy": f"script-src {_script_hash(script)}; connect-src {_quoted('none' if embedded else 'self')}",
        "style": "\n".join(_asset(name) for name in _STYLES),
        "verdict": verdict_section(result.verdict),
        "notes": _notes(result, moments, bool(embedded), detail),
        "wheel": data_url(flow_wheel(120), 95),
        "stereo_scale": f"{overview.scales.stereo:.0f}",
        "optical_scale": f"{overview.scales.optical:.1f}",
        "near": f"{overview.scales.near:.3g}",
        "far": f"{overview.scales.far:.3g}",
        "cameras": camera_section(distance, angle, result.shares),
        "truth": truth_section(summary.get("truth")),
        "time": time_section(result.timings, len(result)),
        "facts": facts_section(summary, result),
        "shape": " / ".join(map(str, result.size_a)),
        "last": str(len(moments) - 1),
        "meta": _json(_meta(result, overview, moments, bool(embedded))),
        "moments": "\n".join(
            f'<script type="application/json" id="moment-{t}">{_closed(text)}</script>'
            for t, text in embedded.items()
        ),
        "script": script,
    }
    page = _asset("page.html")
    head, *parts = page.split("{{")
    for part in parts:  # one pass: what stands in a slot is never searched for slots
        name, text = part.split("}}", 1)
        head += slots[name] + text
    return head


def _script_hash(script: str) -> str:
    """By which a browser knows our script, and runs no other: the text between its tags."""
    digest = hashlib.sha256(f"\n{script}\n".encode()).digest()
    return _quoted(f"sha256-{base64.b64encode(digest).decode()}")


def _quoted(word: str) -> str:
    return f"'{word}'"


def _meta(result: Result, overview: Overview, moments: Sequence[int], embedded: bool) -> dict[str, Any]:
    scales = overview.scales
    return {
        "moments": list(moments),
        "embedded": embedded,
        "up": overview.up.tolist(),
        "middle": scales.middle,
        "near": scales.near,
        "far": scales.far,
        "vectorLength": vector_length(scales),
        "trails": trail_data(result, overview.centre),
    }


def vector_length(scales: Scales) -> int:
    """How many times longer than the motion a vector is drawn, so that it can be seen."""
    wanted = 0.06 * scales.middle / scales.motion if scales.motion > 0 else 1.0
    return max((n for n in (1, 2, 5, 10, 20) if n <= max(wanted, 1)), default=1)


def _notes(result: Result, moments: Sequence[int], embedded: bool, detail: Detail) -> str:
    from wideflow.report.cloud import point_stride

    notes = []
    if len(moments) < len(result):
        notes.append(
            f"To keep this file small it shows {len(moments)} of {len(result)} moments; "
            "<code>wideflow view</code> shows all of them."
        )
    width = result.size_a[0]
    if width > detail.width:
        more = " <code>wideflow view</code> shows more." if embedded else ""
        notes.append(f"Pictures are shown {detail.width} of {width} pixels wide.{more}")
    stride = point_stride(result.size_a, detail.points)
    if stride > 1:
        more = " <code>wideflow view</code> shows up to a million." if embedded else ""
        notes.append(f"The 3D view is thinned to every {_ordinal(stride)} pixel in x and y.{more}")
    return "".join(f'<p class="note">{note}</p>' for note in notes)


def _ordinal(n: int) -> str:
    return {2: "second", 3: "third", 4: "fourth", 5: "fifth"}.get(n, f"{n}th")


def _asset(name: str) -> str:
    return (files("wideflow.report") / "page" / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    return _closed(json.dumps(value))


def _closed(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c")
