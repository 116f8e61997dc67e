"""A result without the work: what a perfect run on a rendered scene would have written."""

import atexit
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from wideflow.files import write_rig
from wideflow.handheld import read_handheld
from wideflow.storage.place import Place
from wideflow.storage.result import Result
from wideflow.storage.schema import ARRAYS, SLOTS
from wideflow.storage.store import Store, unknown_arrays
from wideflow.synth import SynthConfig, render
from wideflow.types import Rig


def put_moment(store: Store, t: int, **given: np.ndarray) -> None:
    """Write a moment with these arrays; of the others nothing is known."""
    given = {f"{name}_steady": given[name] for name in ("depth", "source") if name in given} | given
    for slot, names in [(slot, SLOTS[slot]) for slot in store.slots]:
        chosen = [name for name in names if name in ARRAYS and name not in given]
        arrays = unknown_arrays(store, [name for name in chosen if not name.startswith("picture")])
        arrays |= {
            name: np.zeros(store.shape(name), np.uint8) for name in chosen if name.startswith("picture")
        }
        store.put(slot, t, "test", arrays | {name: given[name] for name in names if name in given})


@cache
def _rendered(config: SynthConfig) -> Path:
    """The scene in a folder that is left alone until the tests end: many files of tests want the same one."""
    folder = Path(tempfile.mkdtemp(prefix="wideflow-scene-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    render(folder / "scene", config)
    return folder / "scene"


def perfect_result(folder: Path, frames: int = 3, size: tuple[int, int] = (128, 72), seed: int = 5) -> Result:
    """Render a scene into ``folder/scene`` and write its truth as the result ``folder/out``."""
    config = SynthConfig(angle=10, size=size, size_b=(size[0] * 3 // 4, size[1]), seed=seed, frames=frames)
    shutil.copytree(_rendered(config), folder / "scene")
    scene = read_handheld(folder / "scene")
    out = folder / "out"
    store = Store.create(Place(out), frames, scene.rig.cameras)
    for t in range(frames):
        truth, flows = scene.truth(0, t), scene.flows(0, t)
        known = np.isfinite(truth.depth)
        found = {
            "depth": truth.depth,
            "stereo_flow": flows.stereo.astype(np.float32),
            "occluded": ~truth.stereo_visible,
            "confidence_5": np.where(known, np.float32(0.9), 0),
            "source": np.where(truth.stereo_visible, np.uint8(1), np.uint8(2)),
            "moving": (np.linalg.norm(np.nan_to_num(truth.motion), axis=2) > 1e-3).astype(np.float32),
            "confidence": np.where(known, np.where(truth.stereo_visible, 0.9, 0.2), 0),
        }
        for camera, name in enumerate(("picture_a", "picture_b")):
            found[name] = np.rint(scene.image(camera, t) * 255).astype(np.uint8)
        if t < frames - 1:
            found["motion"] = truth.motion
            found["optical_flow_a"] = flows.optical.astype(np.float32)
            found["optical_flow_b"] = scene.flows(1, t).optical.astype(np.float32)
        put_moment(store, t, **found)
    write_rig(out / "rig.json", Rig(scene.rig.cameras, scene.rig.frames[:frames]))
    (out / "timings.json").write_text(
        json.dumps({"seconds": {"match stereo": 5.0, "fill": 1.5, "refine": 2.0}})
    )
    (out / "summary.json").write_text(json.dumps(_SUMMARY))
    return Result(out)


_SUMMARY = {
    "inputs": {"a": "a.mp4", "b": "b.mp4"},
    "sync": {
        "offset_seconds": 0.217,
        "rate": 1.0,
        "method": "sound",
        "confidence": 0.97,
        "pair_error_mean": 0.004,
        "notes": [],
    },
    "calibration": {
        "source": "structure from motion",
        "frames": 3,
        "registered": [3, 3],
        "reprojection_error": 0.4,
        "inliers_across": 320,
        "doubts": [],
    },
    "settings": {"match": {"particles": 3}},
    "versions": {"wideflow": "0.1.0", "python": "3.11"},
    "truth": {"depth_off_by_1_percent": 5.0, "depth_percent": 0.3, "motion_median": 0.002},
}
