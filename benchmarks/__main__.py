"""``python -m benchmarks [match]``: run the named benchmarks, or all of them."""

import sys

from benchmarks import match

BENCHMARKS = {"match": match.main}

for name in sys.argv[1:] or BENCHMARKS:
    if name not in BENCHMARKS:
        sys.exit(f"there is no benchmark '{name}'; there are {', '.join(BENCHMARKS)}")
    BENCHMARKS[name]()
