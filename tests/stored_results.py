"""A small result of the present format, stored for versions to come: they must read it.

After `schema.FORMAT` was raised, run this file. Never store a format again that has been released.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from result_scenes import perfect_result
from wideflow.storage.schema import FORMAT

STORED = Path(__file__).parent / "data" / "results"


def main() -> None:
    target = STORED / f"format{FORMAT}.zip"
    with tempfile.TemporaryDirectory() as folder:
        perfect_result(Path(folder), frames=2, size=(24, 16))
        out = Path(folder) / "out"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(out.rglob("*")):
                if path.is_file():
                    file.write(path, path.relative_to(out))
    print(f"{target}: {target.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
