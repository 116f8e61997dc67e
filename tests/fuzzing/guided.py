"""One reader under atheris, which keeps the files that reach new lines and changes those further.

    python -m fuzzing.guided NAME SECONDS SEED FOLDER

``FOLDER`` has the files to start from, gets those that reach further, and the one that went wrong.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["wideflow"]):
    from fuzzing.mutate import shaken
    from fuzzing.targets import targets
    from fuzzing.trial import LONGEST, MOST_MEMORY
    from wideflow.errors import WideflowError

_HANG = 12 * LONGEST  # seconds of waiting: others may keep the machine busy
_LARGEST = 2**16  # bytes of a file


def main() -> None:
    name, seconds, seed, folder = sys.argv[1:]
    target = targets()[name]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / target.suffix

        def read(content: bytes) -> None:
            path.write_bytes(content)
            begun = time.process_time()
            said = ""
            try:
                target.read(path)
            except WideflowError as error:
                said = str(error)
            assert "\n" not in said
            assert time.process_time() - begun < LONGEST, f"takes longer than {LONGEST} s"

        def shake(content: bytes, largest: int, number: int) -> bytes:
            try:
                return shaken(content, random.Random(number))[:largest]
            except ValueError:  # it was cut
                return target.seeds()[0]

        for number, valid in enumerate(target.seeds()):  # what is imported on the way is no part of a trial
            (Path(folder) / f"valid{number}").write_bytes(valid)
            read(valid)
        with open(f"/proc/{multiprocessing.current_process().pid}/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MOST_MEMORY,) * 2)
        options = [f"-max_total_time={seconds}", f"-seed={int(seed) + 1}", f"-timeout={_HANG}"]
        options += [f"-max_len={_LARGEST}", "-rss_limit_mb=0", "-print_final_stats=1"]
        options += [f"-artifact_prefix={folder}{os.sep}wrong-", folder]
        mutator = {"custom_mutator": shake} if target.mutate is shaken else {}
        atheris.Setup([sys.argv[0], *options], read, **mutator)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
