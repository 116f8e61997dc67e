"""What to render: one frozen dataclass, every value checked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from wideflow.errors import ConfigError

PHOTOMETRIC = ("off", "on", "strong")
PATHS = ("hands", "tripod", "turn", "walk")
PLACES = ("courtyard", "garden", "hall", "plane", "pattern")
_VIDEO_LENSES = (-0.06, 0.025)  # k1 of two phones, one barrel, one slight pincushion
# Options of shoots: left out of scene.json where they are off, so that scenes of before count as finished.
_SHOOT = (
    "movers", "path", "place", "zoom", "fps_b", "sound", "samples", "truth_frames", "tremor", "stops",
    "tag", "exposure_drift", "lamp_flicker",
)  # fmt: skip


@dataclass(frozen=True)
class SynthConfig:
    """A scene and the two cameras that film it.

    Attributes
    ----------
    angle : float
        Degrees between the cameras as seen from the centre of the scene, 0 to 90.
    frames : int
        Pictures per camera.
    fps : float
        Pictures per second of both cameras.
    size, size_b : (int, int)
        Width and height of camera A and of camera B; ``size_b = None`` takes that of A.
    seed : int
        Chooses place, arrangement, textures, light, cameras, noise and sound.
    speed : float
        How fast things move; 1 moves the fastest by about 30 px a frame at 960 x 540 and 30 fps.
    photometric : {"off", "on", "strong"}
        ``off``: both cameras have one ideal response, no noise, no gloss. ``on``: two phones. ``strong``:
        very different phones.
    offset : float
        Seconds by which B started later; any fraction of a frame.
    rolling_shutter : float
        Seconds from the first row to the last; 0 is a global shutter.
    motion_blur : float
        Share of the frame time that the shutter is open, 0 to 1; 0 is an instant.
    weak : float
        Share of A's picture that nearly plain surfaces cover, 0 to 1.
    overexpose : float
        Share of A's picture that is blown out, 0 to 1.
    distortion : (float, float) or None
        k1 of both lenses (OpenCV's model); ``None``: ideal for still frames, two mild lenses for videos.
    video : bool
        Write ``a.mp4`` and ``b.mp4`` with sound instead of PNG frames.
    flows : bool
        Also write the four flows of every time step as ``.flo`` files.
    movers : float
        Share of A's picture that moving things of strong texture cover, 0 to 0.8, in place of what moves
        otherwise; 0 leaves the place as it is.
    path : {"hands", "tripod", "turn", "walk"}
        How the cameras move: ``hands`` drift and tremble, a ``tripod`` stands still, ``turn`` only rotates
        about the centre, ``walk`` goes sideways as well.
    place : {"courtyard", "garden", "hall", "plane", "pattern"} or None
        ``plane`` is one flat wall and nothing else, ``pattern`` a place of identical windows and tiles;
        ``None``: the seed chooses one of the first three.
    zoom : (float, float)
        Factor by which the focal length of each camera grows until the end of A's clip; 1 is a fixed lens.
    fps_b : float or None
        Pictures per second of B if they differ; its clip lasts as long as A's.
    sound : bool
        Videos have a sound track.
    samples : {4, 2}
        Rays a pixel; two take half the time and leave edges rougher. Blurred pictures have their own.
    truth_frames : tuple of int or None
        A's frames that get ground truth; ``None``: all of them.
    tremor : float
        How far hands drift and tremble, times what is usual; 0 to 5.
    stops : (float, float)
        By how many stops each camera is exposed above what suits the scene, -3 to 3.
    tag : float
        Side in metres of a printed tag on a board that stands before the scene, 0.02 to 0.5; 0 is none.
    exposure_drift : float
        Largest factor by which the exposure of each camera changes during the clip, 1 to 4; white balance
        changes a little with it.
    lamp_flicker : float
        Share of the light by which a lamp at 100 Hz brightens and darkens it, 0 to 0.9. With a rolling
        shutter every row has its own moment of it.
    """

    angle: float = 20.0
    frames: int = 2
    fps: float = 30.0
    size: tuple[int, int] = (960, 540)
    size_b: tuple[int, int] | None = None
    seed: int = 0
    speed: float = 1.0
    photometric: str = "on"
    offset: float = 0.0
    rolling_shutter: float = 0.0
    motion_blur: float = 0.0
    weak: float = 0.0
    overexpose: float = 0.0
    distortion: tuple[float, float] | None = None
    video: bool = False
    flows: bool = False
    movers: float = 0.0
    path: str = "hands"
    place: str | None = None
    zoom: tuple[float, float] = (1.0, 1.0)
    fps_b: float | None = None
    sound: bool = True
    samples: int = 4
    truth_frames: tuple[int, ...] | None = None
    tremor: float = 1.0
    stops: tuple[float, float] = (0.0, 0.0)
    tag: float = 0.0
    exposure_drift: float = 1.0
    lamp_flicker: float = 0.0

    def __post_init__(self) -> None:
        _within("angle", self.angle, 0, 90)
        _within("frames", self.frames, 1, 100_000)
        for name, rate in zip(("fps", "fps_b"), self.rates, strict=True):
            _within(name, rate, 1, 1000)
        _within("seed", self.seed, 0, 2**32 - 1)
        _within("speed", self.speed, 0, 10)
        _within("offset", self.offset, -60, 60)
        _within("rolling_shutter", self.rolling_shutter, 0, 1 / max(self.rates))
        _within("movers", self.movers, 0, 0.8)
        _within("tremor", self.tremor, 0, 5)
        for stop in self.stops:
            _within("stops", stop, -3, 3)
        if self.samples not in (2, 4):
            raise ConfigError(f"synth.samples must be 4 or 2, not {self.samples}")
        for factor in self.zoom:
            _within("zoom", factor, 0.25, 4)
        for frame in self.truth_frames or ():
            _within("truth_frames", frame, 0, self.frames - 1)
        if self.tag:
            _within("tag", self.tag, 0.02, 0.5)
        _within("exposure_drift", self.exposure_drift, 1, 4)
        _within("lamp_flicker", self.lamp_flicker, 0, 0.9)
        for name in ("motion_blur", "weak", "overexpose"):
            _within(name, getattr(self, name), 0, 1)
        for k1 in self.lenses:
            _within("distortion", k1, -0.2, 0.2)
        _one_of("photometric", self.photometric, PHOTOMETRIC)
        _one_of("path", self.path, PATHS)
        if self.place is not None:
            _one_of("place", self.place, PLACES)
        for name, size in zip(("size", "size_b"), self.sizes, strict=True):
            if len(size) != 2 or min(size) < 16 or max(size) > 8192:
                raise ConfigError(f"synth.{name} must be width x height between 16 and 8192, not {size}")
            if self.video and (size[0] % 2 or size[1] % 2):
                raise ConfigError(f"synth.{name} must be even for a video, not {size[0]} x {size[1]}")

    @property
    def sizes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """(width, height) of both cameras."""
        return self.size, self.size_b or self.size

    @property
    def lenses(self) -> tuple[float, float]:
        """k1 of both lenses."""
        if self.distortion is not None:
            return self.distortion
        return _VIDEO_LENSES if self.video else (0.0, 0.0)

    @property
    def rates(self) -> tuple[float, float]:
        """Pictures per second of both cameras."""
        return self.fps, self.fps_b or self.fps

    @property
    def counts(self) -> tuple[int, int]:
        """Pictures of both cameras; their clips last equally long."""
        return self.frames, max(1, round(self.frames * self.rates[1] / self.fps))

    @property
    def duration(self) -> float:
        """Seconds that A's clip lasts."""
        return self.frames / self.fps

    @property
    def scored(self) -> tuple[int, ...]:
        """A's frames that get ground truth, rising."""
        return tuple(range(self.frames)) if self.truth_frames is None else tuple(sorted(self.truth_frames))

    def time_of(self, camera: int, frame: int) -> float:
        """Scene time in seconds at which ``camera`` takes ``frame``; A starts at zero."""
        return frame / self.rates[camera] + (self.offset if camera else 0.0)

    def as_json(self) -> dict[str, Any]:
        """Plain values, with the defaults that were chosen filled in."""
        fields = asdict(self) | {"size_b": self.sizes[1], "distortion": self.lenses}
        return {name: value for name, value in fields.items() if name not in _SHOOT or self._is_set(name)}

    def _is_set(self, name: str) -> bool:
        return bool(getattr(self, name) != type(self).__dataclass_fields__[name].default)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        listed = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ConfigError(f"synth.{name} must be {listed}, not '{value}'")


def _within(name: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise ConfigError(f"synth.{name} must be between {low:g} and {high:g}, not {value}")
