"""The whole job: every picture looked at twice, held against the others, and joined in one cloud."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from wideflow.errors import FileError, InputError
from wideflow.evidence import Glimpse
from wideflow.files import (
    ColmapImage,
    ColmapModel,
    PointCloud,
    read_pfm,
    write_colmap,
    write_image,
    write_pfm,
    write_ply,
)
from wideflow.files.disk import AnyPath, write_bytes
from wideflow.files.fingerprint import content_hash, fingerprint
from wideflow.photos.agreement import Fusion, confirmed
from wideflow.photos.kept import KeptPlanes
from wideflow.photos.look import LOOKS, first_look, further_look, settings_used
from wideflow.photos.model import Photo, grey, read_photos
from wideflow.photos.neighbours import choose_photos, depth_range
from wideflow.progress import Progress, silent

_VERSION = 1  # of the method: raised whenever its depth changes
_FEWEST = 2  # others that must agree


@dataclass(frozen=True)
class DepthSettings:
    """What a user may choose.

    Attributes
    ----------
    size : int
        Longest side of the pictures, px, at which depth is found.
    views : int
        Other pictures that each is compared with, at most.
    agree : int
        Others that must agree with a depth for it to be kept.
    """

    size: int = 960
    views: int = 8
    agree: int = _FEWEST

    def __post_init__(self) -> None:
        for name, least, most in (("size", 64, 8192), ("views", 2, 32), ("agree", 1, 32)):
            if not least <= getattr(self, name) <= most:
                raise InputError(f"{name} must be between {least} and {most}, not {getattr(self, name)}")
        if self.agree > self.views:
            raise InputError(
                f"{self.agree} pictures cannot agree if only {self.views} are compared; lower agree"
            )


@dataclass(frozen=True, eq=False)
class _Task:
    """A picture, the numbers of those that it is compared with, and its range of depth."""

    photo: Photo
    others: list[int]
    near: float
    far: float


def dense_depth(
    model: AnyPath,
    images: AnyPath,
    out: AnyPath,
    settings: DepthSettings | None = None,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Depth of every picture of a COLMAP model, and one cloud of all.

    Parameters
    ----------
    model : path
        Directory of a COLMAP model with sparse points, text or binary.
    images : path
        Folder of its pictures.
    out : path
        Folder to write to; what is in it from the same inputs is not computed again.
    settings : DepthSettings, optional
        The default ones unless given.
    progress : callable, optional
        Called with steps done, steps in all and what comes next.

    Returns
    -------
    dict
        What ``summary.json`` says.

    Raises
    ------
    FileError
        No model, a damaged file, a picture that is missing, or ``out`` cannot be written.
    InputError
        Too few pictures, no sparse points, a picture of another size, or pictures that share nothing.
    """
    settings = settings or DepthSettings()
    tasks = _tasks(read_photos(model, images, settings.size), settings)
    folder = Path(out)
    _make(folder)
    return _Job(folder, tasks, settings, progress or silent).run()


def _tasks(photos: list[Photo], settings: DepthSettings) -> list[_Task]:
    tasks = []
    for i, photo in enumerate(photos):
        rest = [j for j in range(len(photos)) if j != i]
        chosen = choose_photos(photo.view, photo.points, [photos[j].view for j in rest], settings.views)
        ends = depth_range(photo.depths())
        usable = ends is not None and len(chosen) >= _FEWEST
        others = [rest[k] for k in chosen] if usable else []
        tasks.append(_Task(photo, others, *(ends or (0.0, 0.0))))
    if not any(task.others for task in tasks):
        raise InputError(
            "no picture of the model shares enough of what it shows with two others, from another place; "
            "depth needs pictures that overlap"
        )
    return tasks


class _Job:
    def __init__(self, out: Path, tasks: list[_Task], settings: DepthSettings, progress: Progress) -> None:
        self._out, self._tasks, self._settings, self._progress = out, tasks, settings, progress
        self._looks = [KeptPlanes(out / "work", look) for look in LOOKS]
        self._found = self._looks[-1]
        self._glimpse = lru_cache(maxsize=settings.views + 8)(self._read)
        self._picture = lru_cache(maxsize=24)(lambda i: tasks[i].photo.picture())
        self._able = [i for i, task in enumerate(tasks) if task.others]
        self._stamps = self._first_stamps()
        self._done, self._total = 0, (len(LOOKS) + 2) * len(self._able) + 1
        self._founds = dict.fromkeys(self._able, 0.0)

    def run(self) -> dict[str, object]:
        for look in range(len(LOOKS)):
            for i in self._able:
                self._look(i, look)
        records = [self._write(i) for i in self._able]
        points = self._fuse()
        return self._conclude(records, points)

    def _step(self, text: str) -> None:
        self._progress(self._done, self._total, text)
        self._done += 1

    def _read(self, i: int) -> Glimpse:
        photo = self._tasks[i].photo
        return Glimpse(grey(photo.picture()), photo.view)

    def _first_stamps(self) -> dict[int, str]:
        hashes = [content_hash(task.photo.path) for task in self._tasks]
        alone = [
            fingerprint(h, t.photo.view.cam_from_world, t.photo.view.camera.K, t.photo.filmed.K,
                        t.photo.filmed.distortion, t.photo.view.camera.size)
            for h, t in zip(hashes, self._tasks, strict=True)
        ]  # fmt: skip
        return {
            i: fingerprint(_VERSION, settings_used(), alone[i], [alone[j] for j in self._tasks[i].others],
                           self._tasks[i].near, self._tasks[i].far)
            for i in self._able
        }  # fmt: skip

    def _look(self, i: int, look: int) -> None:
        task = self._tasks[i]
        name = task.photo.name
        self._step(f"{name}, {LOOKS[look]} look")
        # one that nothing could be found of confirms nothing
        others = [j for j in task.others if j in self._stamps] if look else task.others
        stamp = self._stamps[i]
        for _ in range(look):
            stamp = fingerprint(stamp, [self._stamps[j] for j in others])
        kept = self._looks[look]
        if kept.has(name, stamp):
            return
        start = time.perf_counter()
        here, there = self._glimpse(i), [self._glimpse(j) for j in others]
        if look == 0:
            planes = first_look(here, there, task.near, task.far)
        else:
            before = self._looks[look - 1]
            planes = before.planes(name)
            if others:
                theirs = [before.inverse(self._tasks[j].photo.name) for j in others]
                planes = further_look(here, there, planes.copy(), theirs, task.near, task.far)
        kept.put(name, stamp, planes)
        self._founds[i] += time.perf_counter() - start

    def _agreed(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Pictures that agree with each pixel, and those that show it."""
        task = self._tasks[i]
        others = [j for j in task.others if j in self._stamps]
        inverse = np.where(task.photo.known(), self._found.inverse(task.photo.name), 0).astype(np.float32)
        return confirmed(
            task.photo.view,
            inverse,
            [self._tasks[j].photo.view for j in others],
            [self._found.inverse(self._tasks[j].photo.name) for j in others],
        )

    def _write(self, i: int) -> dict[str, object]:
        task = self._tasks[i]
        name = task.photo.name
        self._step(f"{name}, writing")
        agree, shown = self._agreed(i)
        kept = agree >= self._settings.agree
        with np.errstate(divide="ignore"):
            depth = np.where(kept, 1 / self._found.inverse(name), np.nan).astype(np.float32)
        nearness = np.where(kept, np.clip(task.near / np.where(kept, depth, np.inf), 1 / 65535, 1), 0)
        kinds = {"depth": "pfm", "confidence": "pfm", "preview": "png", "images": "png"}
        files = {what: self._out / what / f"{name}.{suffix}" for what, suffix in kinds.items()}
        for path in files.values():
            _make(path.parent)
        write_pfm(files["depth"], depth)
        write_pfm(files["confidence"], agree / np.maximum(shown, 1))
        write_image(files["preview"], nearness, bits=16)
        write_image(files["images"], task.photo.picture())
        return {
            "name": name,
            "size": list(task.photo.view.camera.size),
            "compared_with": [self._tasks[j].photo.name for j in task.others],
            "near": task.near,
            "far": task.far,
            "kept": round(float(kept.mean()), 4),
            "agree_in_three": round(float((agree >= 2).mean()), 4),
            "seconds": round(self._founds[i], 2),
        }

    def _fuse(self) -> int:
        fusion = Fusion()
        for i in self._able:
            self._step(f"{self._tasks[i].photo.name}, joining")
            others = [j for j in self._tasks[i].others if j in self._stamps]
            group = [i, *others]
            names = {j: self._tasks[j].photo.name for j in group}
            fusion.add(
                i,
                others,
                {j: self._tasks[j].photo.view for j in group},
                {j: self._found.planes(name) for j, name in names.items()},
                {j: np.isfinite(read_pfm(self._out / "depth" / f"{name}.pfm")) for j, name in names.items()},
                {j: self._picture(j) for j in group},
            )
        points, colours, normals = fusion.cloud()
        write_ply(self._out / "fused.ply", PointCloud(points, colours, normal=normals))
        return len(points)

    def _conclude(self, records: list[dict[str, object]], points: int) -> dict[str, object]:
        self._step("the cameras and the summary")
        views = [self._tasks[i].photo for i in self._able]
        write_colmap(
            self._out / "sparse",
            ColmapModel(
                {k: photo.view.camera for k, photo in enumerate(views, 1)},
                {
                    k: ColmapImage.at_pose(f"{photo.name}.png", k, photo.view.cam_from_world)
                    for k, photo in enumerate(views, 1)
                },
            ),
            binary=False,
        )
        summary: dict[str, object] = {
            "pictures": records,
            "left_out": [task.photo.name for task in self._tasks if not task.others],
            "points": points,
            "kept": round(float(np.mean([record["kept"] for record in records])), 4),
            "agree_in_three": round(float(np.mean([record["agree_in_three"] for record in records])), 4),
            "settings": asdict(self._settings),
        }
        write_bytes(self._out / "summary.json", json.dumps(summary, indent=1).encode())
        self._progress(self._total, self._total, "done")
        return summary


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise FileError(f"cannot make the folder '{folder}': {reason}; choose another place") from error
