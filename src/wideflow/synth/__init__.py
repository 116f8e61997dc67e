"""Ground truth for the case that has none: two handheld cameras around a moving scene, rendered.

Needs the extra ``synth``. Importing this package is cheap; the renderer is loaded when it is called.
"""

from __future__ import annotations

import os
from pathlib import Path

from wideflow.errors import FileError
from wideflow.progress import Progress
from wideflow.synth.config import SynthConfig

__all__ = ["SynthConfig", "render"]


def render(
    out: str | os.PathLike[str],
    config: SynthConfig,
    progress: Progress | None = None,
    threads: int | None = None,
) -> None:
    """Render a scene with its ground truth into the folder ``out``, in the `handheld` layout.

    Parameters
    ----------
    out : path
        Created if need be; files of the same names are replaced.
    config : SynthConfig
        What to render. The same configuration gives the same bits on one machine.
    progress : callable, optional
        Called with the work done, all the work, and what comes next.
    threads : int, optional
        All cores unless given. The result does not depend on it.

    Raises
    ------
    FileError
        A file cannot be written.
    MissingExtraError
        The ray tracer is not installed.

    See Also
    --------
    wideflow.handheld.read_handheld : reads the folder again.
    """
    from wideflow.synth.studio import Studio

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise FileError(f"cannot create the folder '{out}': {reason}; choose another place") from error
    studio = Studio(config, threads or os.cpu_count() or 1, progress)
    studio.write_cameras(folder)
    if config.video:
        studio.write_videos(folder)
    else:
        studio.write_pictures(folder)
    studio.write_truth(folder)
    studio.step("done")
