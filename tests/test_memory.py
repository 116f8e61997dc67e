"""Memory that is freed is used again, not made anew."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# pages that the system makes while pictures come and go in a thread, as they do in a run
_FAULTS = """
import resource, sys, threading
import numpy as np
from wideflow.memory import give_back, keep_memory

if sys.argv[1] == "kept":
    keep_memory()

def pictures():
    for _ in range(40):
        one, two = np.ones(500_000, np.float32), np.ones(700_000, np.float32)
        del one, two

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

pictures()
before = faults()
thread = threading.Thread(target=pictures)
thread.start()
thread.join()
print(faults() - before)
give_back()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is not glibc's")
def test_pages_are_not_made_again() -> None:
    found = {
        how: int(subprocess.run([sys.executable, "-c", _FAULTS, how], capture_output=True, check=True).stdout)
        for how in ("kept", "as it comes")
    }
    assert found["kept"] < 2_000  # 2 MB and 2.8 MB have 1,200 pages
    assert found["kept"] < found["as it comes"] / 4
