"""`python -m tpulint`."""

from __future__ import annotations

import sys

from tpulint.cli import main

if __name__ == "__main__":
    sys.exit(main())
