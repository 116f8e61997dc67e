"""Take a result into other tools: with xarray, as point clouds, and as cameras for COLMAP.

    python examples/04_read_and_export.py RESULT OUT

RESULT is a folder that `wideflow run` or `wideflow frames` has written.
"""

import sys
from pathlib import Path

import xarray

import wideflow


def take_out(result: Path, out: Path) -> dict[str, float]:
    """Write point clouds and a COLMAP model into ``out``; the mean confidence of each moment."""
    wideflow.export_result(result, "ply", out / "clouds", wideflow.ExportOptions(confidence=0.5))
    wideflow.export_result(result, "colmap", out / "colmap")
    arrays = xarray.open_zarr(result / "result.zarr", consolidated=False)
    means = arrays.confidence.mean(("y", "x")).values
    return {f"moment {t}": round(float(mean), 3) for t, mean in enumerate(means)}


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/04_read_and_export.py RESULT OUT")
    print(take_out(Path(sys.argv[1]), Path(sys.argv[2])))
