"""How the clips were made: ``python -m wideflow.demo.make FOLDER`` renders them anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from wideflow.handheld import read_handheld
from wideflow.synth import SynthConfig, render

SCENE = SynthConfig(angle=12, frames=34, fps=30, size=(640, 360), seed=21, offset=0.231, video=True)
MOMENTS = (16, 20)  # frames of A with truth
STEP = 2  # every second pixel: it keeps the clips and their truth below 3 MB


def make_clips(folder: Path, scene: SynthConfig = SCENE, moments: tuple[int, ...] = MOMENTS) -> None:
    """Render both clips and their truth into a folder; takes a few minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        rendered = Path(place) / "scene"
        render(rendered, scene)
        pack_clips(rendered, folder, scene.offset, moments)


def pack_clips(rendered: Path, folder: Path, offset: float, moments: tuple[int, ...]) -> None:
    """Take of a rendered scene what ships."""
    for name in ("a.mp4", "b.mp4", "rig.json"):
        (folder / name).write_bytes((rendered / name).read_bytes())
    found = read_handheld(rendered)
    truths = [found.truth(0, t) for t in moments]
    np.savez_compressed(
        folder / "truth.npz",
        offset=offset,
        frames=np.array(moments),
        depth=np.stack([truth.depth[::STEP, ::STEP] for truth in truths]).astype(np.float16),
        motion=np.stack([truth.motion[::STEP, ::STEP] for truth in truths]).astype(np.float16),
        visible=np.stack([truth.stereo_visible[::STEP, ::STEP] for truth in truths]),
    )


if __name__ == "__main__":
    make_clips(Path(sys.argv[1]))
