"""``python -m wideflow``: the same as ``wideflow``."""

import sys

from wideflow.cli import main

if __name__ == "__main__":
    sys.exit(main())
