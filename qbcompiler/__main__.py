"""`python -m qbcompiler`."""

import sys

from qbcompiler.cli import main

if __name__ == "__main__":
    sys.exit(main())
