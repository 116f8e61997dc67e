"""The end of a job: what to think of its result, said once and kept beside it."""

from __future__ import annotations

import json
import logging
from typing import Any

from wideflow.files.disk import AnyPath
from wideflow.storage.checked_files import write_files
from wideflow.storage.result import Result

LOG = logging.getLogger("wideflow")


def conclude(out: AnyPath, summary: dict[str, Any]) -> Result:
    """Judge what a job has written, and write and log the verdict.

    Parameters
    ----------
    out : path or URL
        Folder of the result, all of whose arrays are written.
    summary : dict
        What else is known of it; ``summary.json`` becomes this and the verdict.
    """
    result = Result(out)
    verdict = result.judge(summary)
    told = json.dumps({**summary, "verdict": verdict.as_dict()}, indent=1).encode()
    write_files(result.place, {"summary.json": told})
    LOG.info("%s", verdict.headline)
    for reason in verdict.reasons:
        LOG.warning("%s", reason)
    return result
