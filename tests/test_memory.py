"""Memory that is freed is used again, not made anew."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# pages that the system makes while pictures come and go in a thread, as they do in a run
_FAULTS = """
import resource, threading
import numpy as np
from wideflow.memory import give_back, keep_memory

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
    done = subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, check=True)
    assert int(done.stdout) < 300  # one round of pictures has 1,200 pages
