"""`python -m tpulint`."""

from __future__ import annotations

import os
import sys

# Python puts the working directory first here; what is checked must never be imported. For the
# command `tpulint` the interpreter's folder is first, and `run` puts the program's in its place.
if not getattr(sys.flags, "safe_path", False):
    sys.path[0] = os.path.dirname(sys.executable)

from tpulint.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
