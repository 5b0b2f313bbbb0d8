"""`python -m tpulint`."""

from __future__ import annotations

import sys

# Python puts the working directory first here; what is checked must never be imported.
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

from tpulint.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
