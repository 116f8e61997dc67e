"""What a user asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from wideflow.config import Config
from wideflow.pipeline.scale import KnownScale
from wideflow.types import Camera, Rig

VIEWS = ("a", "both")


@dataclass(frozen=True, eq=False)
class Job:
    """What the user asks for.

    Attributes
    ----------
    a, b : path
        The clips, or folders of pictures.
    out : str
        Folder or URL of the result.
    config : Config
    frames : slice
        Frames of A.
    size : int
        Longest side of the pictures that are matched, px.
    intrinsics : pair of Camera or None
        Known lenses.
    rig : Rig, optional
        A known calibration.
    offset : float, optional
        Seconds by which B started later.
    scale : KnownScale
        What is known of lengths.
    fps : float, optional
        Pictures per second of folders.
    anyway : bool
        Go on where synchronisation or calibration is not to be trusted.
    keep : tuple of str
        Arrays to store beside those of every result, names of `schema.OPTIONAL`.
    view : str
        Whose pictures get depth and motion, one of `VIEWS`.
    proposals : path, optional
        Folder of flows, or an ONNX file, that propose to the matches.
    discard_work : bool
        Remove at the end what only a run that goes on needs.
    """

    a: Path
    b: Path
    out: str
    config: Config
    frames: slice = field(default_factory=lambda: slice(0, None, 1))
    size: int = 960
    intrinsics: tuple[Camera | None, Camera | None] = (None, None)
    rig: Rig | None = None
    offset: float | None = None
    scale: KnownScale = field(default_factory=KnownScale)
    fps: float | None = None
    anyway: bool = False
    keep: tuple[str, ...] = ()
    view: str = "a"
    proposals: Path | None = None
    discard_work: bool = False
