"""Small data sets in the layouts of others, with truth that is known in closed form."""

from pathlib import Path

import cv2
import numpy as np

from matching_scenes import texture
from wideflow.files import write_disparity, write_flow, write_image

HEIGHT, WIDTH = 40, 64
FOCAL, BASELINE = 80.0, 0.5


def sheet(shift_x: float, shift_y: float = 0.0) -> np.ndarray:
    """A textured picture whose contents lie this many pixels further right and down."""
    wide = texture(HEIGHT + 24, WIDTH + 24, 5)
    rows = np.clip(np.arange(HEIGHT) + 12 - int(shift_y), 0, HEIGHT + 23)
    columns = np.clip(np.arange(WIDTH) + 12 - int(shift_x), 0, WIDTH + 23)
    return wide[np.ix_(rows, columns)]


def constant(*values: float) -> np.ndarray:
    """(H, W) or (H, W, C) of the same values everywhere."""
    field = np.empty((HEIGHT, WIDTH, len(values)), np.float32)
    field[:] = values
    return field[..., 0] if len(values) == 1 else field


def write_kitti(root: Path, name: str = "000007") -> None:
    """Disparity 6 at t, 4 at t + 1, optical flow (3, 1); the left columns are hidden in B."""
    for folder in (
        "image_2",
        "image_3",
        "disp_occ_0",
        "disp_occ_1",
        "flow_occ",
        "disp_noc_0",
        "calib_cam_to_cam",
    ):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder, moment, shift in (
        ("image_2", 10, (0, 0)),
        ("image_3", 10, (-6, 0)),
        ("image_2", 11, (3, 1)),
        ("image_3", 11, (-1, 1)),
    ):
        write_image(root / folder / f"{name}_{moment}.png", sheet(*shift))
    before = constant(6.0)
    before[:3] = np.nan  # no truth in the sky
    write_disparity(root / "disp_occ_0" / f"{name}_10.png", before)
    seen = before.copy()
    seen[:, :6] = np.nan
    write_disparity(root / "disp_noc_0" / f"{name}_10.png", seen)
    write_disparity(root / "disp_occ_1" / f"{name}_10.png", constant(4.0))
    write_flow(root / "flow_occ" / f"{name}_10.png", constant(3.0, 1.0))
    calibration = (
        "calib_time: 09-Jan-2012 13:57:47\n"
        f"P_rect_02: {FOCAL} 0 31.5 8.0 0 {FOCAL} 19.5 0.1 0 0 1 0.003\n"
        f"P_rect_03: {FOCAL} 0 31.5 {8 - FOCAL * BASELINE} 0 {FOCAL} 19.5 0.1 0 0 1 0.003\n"
    )
    (root / "calib_cam_to_cam" / f"{name}.txt").write_text(calibration)


def write_middlebury_stereo(folder: Path) -> None:
    """The third size of 2006: disparity 5 is stored as 15."""
    folder.mkdir(parents=True)
    write_image(folder / "view1.png", sheet(0))
    write_image(folder / "view5.png", sheet(-5))
    left = np.full((HEIGHT, WIDTH), 15, np.uint8)
    left[:, 30] = 0  # unknown
    cv2.imwrite(str(folder / "disp1.png"), left)
    cv2.imwrite(str(folder / "disp5.png"), np.full((HEIGHT, WIDTH), 15, np.uint8))


def write_four_frames(
    folder: Path, name: str, suffix: str, views: int, tables: dict[str, np.ndarray]
) -> None:
    """The pictures and text tables that Daimler and CarpetBall share."""
    folder.mkdir(parents=True)
    for t in (0, 1):
        for view in range(views):
            picture = np.rint(65535 * sheet(-4 * view)[..., 0]).astype(np.uint16)
            cv2.imwrite(str(folder / f"{name}_t{t}_{view}.{suffix}"), picture)
    for key, values in tables.items():
        (folder / "GroundTruth" / key).mkdir(parents=True)
        np.savetxt(folder / "GroundTruth" / key / f"{key}_0000.txt", values, fmt="%.6g", delimiter="\t")
