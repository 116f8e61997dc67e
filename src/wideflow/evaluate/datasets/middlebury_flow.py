"""The Middlebury optical flow layout.

A folder per scene with ``frame10.png``, ``frame11.png`` and ``flow10.flo``; or, as it is distributed,
``other-data/SCENE`` with the pictures and ``other-gt-flow/SCENE`` with the flow.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from wideflow.evaluate.datasets.sample import Sample, Source, require_folder, require_size, require_sources
from wideflow.files import read_flow, read_image
from wideflow.files.disk import AnyPath

_KIND = "scenes of Middlebury optical flow"


def read_middlebury_flow(root: AnyPath) -> list[Source]:
    """Every scene with true flow below a folder of scenes, or of one scene.

    Raises
    ------
    FileError
        No such folder, or no scene in it.
    """
    folder = require_folder(root, _KIND)
    flows = sorted(
        path
        for pattern in ("flow10.flo", "*/flow10.flo", "other-gt-flow/*/flow10.flo")
        for path in folder.glob(pattern)
    )
    names = [path.resolve().parent.name for path in flows]
    sources = [
        Source(name, partial(_read_scene, name, path)) for name, path in zip(names, flows, strict=True)
    ]
    return require_sources(sources, root, _KIND, "flow10.flo")


def _read_scene(name: str, path: Path) -> Sample:
    beside = path.parent
    pictures = beside.parent.parent / "other-data" / name if beside.parent.name == "other-gt-flow" else beside
    first, second = (read_image(pictures / f"frame{number}.png") for number in (10, 11))
    flow = read_flow(path)
    require_size(first.shape, path, second, flow)
    return Sample(name, (first, second), optical=flow)
