"""Tracks: one npz in the layout of TAPVid-3D, and one table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError
from wideflow.export.moments import seconds
from wideflow.export.options import ExportOptions
from wideflow.export.pinhole import check_no_skew
from wideflow.export.target import target_folder
from wideflow.files import write_bytes
from wideflow.geometry import project, world_to_camera
from wideflow.progress import Progress
from wideflow.storage.result import Result
from wideflow.storage.tracks import Tracks

_KINDS = (".npz", ".csv")
_QUALITY = 95  # of JPEG


def export_tracks(result: Result, out: Path, options: ExportOptions, progress: Progress) -> None:
    """Write ``tracks.npz`` and ``tracks.csv`` of the tracks that `wideflow track` has kept.

    They have all moments of the result, whatever ``options`` chooses: a track is whole, or none.
    """
    tracks = result.tracks()
    folder = target_folder(out)
    for done, kind in enumerate(_KINDS):
        progress(done, len(_KINDS), f"tracks as {kind[1:]}")
        write_track_file(folder / f"tracks{kind}", result, tracks)


def check_target(path: Path) -> None:
    """Refuse a file that is neither of the two kinds."""
    if path.suffix.lower() not in _KINDS:
        raise FileError(f"'{path}' has to end in .npz or .csv; tracks are written as one of them")


def write_track_file(path: Path, result: Result, tracks: Tracks) -> None:
    """Write tracks as .npz or .csv, by the ending."""
    check_target(path)
    if path.suffix.lower() == ".csv":
        write_bytes(path, _table(result, tracks))
        return
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **tapvid3d_arrays(result, tracks))
    write_bytes(path, content.getvalue())


def tapvid3d_arrays(result: Result, tracks: Tracks) -> dict[str, NDArray[Any]]:
    """The arrays of a TAPVid-3D file: what its evaluation reads, and the names that its page has.

    Points are in the frame of camera A at each moment, x right, y down, z forward. Pixel centres are at
    integers in queries and in the principal point alike.
    """
    camera = result.rig.cameras[0]
    check_no_skew(camera, "TAPVid-3D")
    views = [result.frame(t).views[0] for t in range(len(result))]
    local = np.stack([world_to_camera(view, xyz) for view, xyz in zip(views, tracks.xyz, strict=True)])
    poses = np.stack([np.vstack([view.cam_from_world, (0, 0, 0, 1)]) for view in views])
    lens = np.array([camera.K[0, 0], camera.K[1, 1], camera.K[0, 2], camera.K[1, 2]])
    # bytes of one length, as no reader needs pickle for these; a JPEG ends in a byte that is not zero
    pictures = np.array([_jpeg(result.picture_a(t)) for t in range(len(result))])
    return {
        "tracks_XYZ": local.astype(np.float32),
        "tracks_xyz": local.astype(np.float32),
        "visibility": tracks.visible,
        "queries_xyt": tracks.queries,
        "fx_fy_cx_cy": lens,
        "intrinsics": lens,
        "extrinsics_w2c": poses,
        "images_jpeg_bytes": pictures,
        "confidence": tracks.confidence,
    }


def _jpeg(picture: NDArray[np.uint8]) -> bytes:
    _, code = cv2.imencode(".jpg", picture[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return bytes(code.tobytes())


def _table(result: Result, tracks: Tracks) -> bytes:
    """A line for each track and moment, track by track."""
    times = seconds(result)
    pixels = np.stack(
        [
            project(view.camera, world_to_camera(view, xyz))
            for view, xyz in zip(
                [result.frame(t).views[0] for t in range(len(result))], tracks.xyz, strict=True
            )
        ]
    )
    lines = ["track,moment,seconds,x,y,world_x,world_y,world_z,visible,confidence"]
    for n in range(len(tracks)):
        for t, second in enumerate(times):
            places = ",".join(f"{value:.7g}" for value in (*pixels[t, n], *tracks.xyz[t, n]))
            seen, trust = int(tracks.visible[t, n]), tracks.confidence[t, n]
            lines.append(f"{n},{t},{second:.6f},{places},{seen},{trust:.3f}")
    return ("\n".join(lines) + "\n").encode()
