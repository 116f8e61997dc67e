"""The pictures of a COLMAP model, as depth needs them: ideal cameras, and what each sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError, InputError
from wideflow.files import read_image
from wideflow.files.colmap.directory import read_colmap
from wideflow.files.colmap.model import ColmapImage, ColmapModel
from wideflow.files.disk import AnyPath
from wideflow.geometry import ideal_camera, inside_picture, project, world_to_camera
from wideflow.geometry.undistorter import Undistorter, processing_size
from wideflow.types import Camera, View

FEWEST_PICTURES = 3  # of which two others can confirm each
_FEWEST_POINTS = 20  # of its own, below which a picture takes all points that lie in it


@dataclass(frozen=True, eq=False)
class Photo:
    """A picture of a model.

    Attributes
    ----------
    name : str
        As the model has it: a path below the folder of pictures.
    path : Path
        The file.
    filmed : Camera
        The lens that took it.
    view : View
        The ideal camera that stands for it, at the working size.
    points : (N, 3) float64
        Sparse points that it sees, world units.
    """

    name: str
    path: Path
    filmed: Camera
    view: View
    points: NDArray[np.float64]

    def picture(self) -> NDArray[np.uint8]:
        """(H, W, 3) RGB without the lens, at the working size."""
        picture = read_image(self.path)
        height, width = picture.shape[:2]
        if (width, height) != self.filmed.size:
            raise InputError(
                f"'{self.path}' is {width}x{height}, but its camera in the model is "
                f"{self.filmed.width}x{self.filmed.height}; give the pictures that the model was made from"
            )
        flat = Undistorter(self.filmed, self.view.camera)(picture)
        return np.rint(255 * np.clip(flat, 0, 1)).astype(np.uint8)

    def known(self) -> NDArray[np.bool_]:
        """(H, W): pixels that the lens has seen."""
        return Undistorter(self.filmed, self.view.camera).known

    def depths(self) -> NDArray[np.float64]:
        """(N,) z of the points that it sees."""
        return world_to_camera(self.view, self.points)[:, 2]


def grey(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Brightness of an RGB picture."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8)


def read_photos(model: AnyPath, images: AnyPath, longest: int) -> list[Photo]:
    """All pictures of a COLMAP model, by name.

    Parameters
    ----------
    model : path
        Directory of a model, text or binary, or one that has it as ``sparse/0`` or ``sparse``.
    images : path
        Folder that the names of its pictures belong to.
    longest : int
        Pixels of the longest side at which to work; pictures are never enlarged.

    Raises
    ------
    FileError
        No model, a damaged one, a lens that is not understood, or a picture that is missing.
    InputError
        A model with too few pictures or without points.
    """
    place = _model_folder(Path(model))
    found = read_colmap(place)
    if len(found.images) < FEWEST_PICTURES:
        raise InputError(
            f"the model '{place}' has {len(found.images)} pictures, depth needs {FEWEST_PICTURES}; "
            "register more of them"
        )
    if len(found.points.ids) == 0:
        raise InputError(
            f"the model '{place}' has no sparse points, which tell how far things are; triangulate some "
            "(colmap point_triangulator)"
        )
    folder = Path(images)
    if not folder.is_dir():
        raise FileError(f"'{images}' is not a folder; give the folder of the model's pictures")
    photos = [_photo(found, image, folder, longest) for image in found.images.values()]
    names = [photo.name for photo in photos]
    if len(set(names)) < len(names):
        raise InputError(f"the model '{place}' has two pictures of one name; rename one and build it again")
    return sorted(photos, key=lambda photo: photo.name)


def _model_folder(given: Path) -> Path:
    """Where the model's files are: exports and COLMAP's own projects keep them in ``sparse/0``."""
    for folder in (given, given / "sparse" / "0", given / "sparse"):
        if any((folder / f"cameras{suffix}").exists() for suffix in (".bin", ".txt")):
            return folder
    return given


def _photo(model: ColmapModel, image: ColmapImage, folder: Path, longest: int) -> Photo:
    inner = PurePosixPath(image.name)
    if inner.is_absolute() or ".." in inner.parts:
        raise InputError(
            f"the picture '{image.name}' of the model lies outside its folder; rename it in the model"
        )
    path = folder / inner
    if not path.is_file():
        raise FileError(
            f"'{path}' does not exist, though the model has a picture '{image.name}'; give the folder that "
            "the model was made from"
        )
    filmed = model.cameras[image.camera_id]
    view = View(ideal_camera(filmed, processing_size(filmed, longest)), image.cam_from_world)
    ids = image.point_ids[image.point_ids >= 0]
    points = model.points.xyz[np.isin(model.points.ids, ids)]
    if len(points) < _FEWEST_POINTS:
        pixels = project(view.camera, world_to_camera(view, model.points.xyz))
        points = model.points.xyz[inside_picture(view.camera, pixels)]
    return Photo(image.name, path, filmed, view, points[world_to_camera(view, points)[:, 2] > 0])
