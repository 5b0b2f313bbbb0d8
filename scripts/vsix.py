"""Check what is in the package of the extension for Visual Studio Code.

python scripts/vsix.py EXTENSION.vsix
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import tpulint

NEEDED = ("extension.js", "command.js", "package.json", "LICENSE.txt", "readme.md")
CLIENT = "extension/node_modules/vscode-languageclient/node.js"
UNWANTED = ("extension/test/", "extension/node_modules/@vscode/", "extension/node_modules/.bin/")


def problems(path: Path) -> list[str]:
    """Return what is missing in the package, what should not be in it, and a wrong version."""
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
        manifest = json.loads(package.read("extension/package.json"))
    problems = [f"missing: {name}" for name in NEEDED if f"extension/{name}" not in names]
    problems += [f"unwanted: {name}" for name in names if name.startswith(UNWANTED)]
    if CLIENT not in names:
        problems.append(f"missing: {CLIENT}")
    if manifest["version"] != tpulint.__version__:
        problems.append(f"version {manifest['version']}, and tpulint is {tpulint.__version__}")
    return problems


def main() -> int:
    """Print the problems; exit status 1 where there are any."""
    problems_found = problems(Path(sys.argv[1]))
    print("\n".join(problems_found) if problems_found else f"{sys.argv[1]}: complete")
    return int(bool(problems_found))


if __name__ == "__main__":
    sys.exit(main())
