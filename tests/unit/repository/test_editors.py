"""The extension for Visual Studio Code and the server agree."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import tpulint

ROOT = Path(__file__).parents[3]
EXTENSION = ROOT / "editors" / "vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
OWN = {"interpreter"}  # the extension's, and not sent to the server


def test_the_versions_are_the_same() -> None:
    assert MANIFEST["version"] == tpulint.__version__


def test_the_extension_offers_the_settings_of_the_server() -> None:
    keys = {
        key.removeprefix("tpulint.")
        for key in MANIFEST["contributes"]["configuration"]["properties"]
    }
    documented = (ROOT / "docs/editors.md").read_text(encoding="utf-8").partition("## Settings")[2]
    sent = (EXTENSION / "command.js").read_text(encoding="utf-8")
    source = (ROOT / "tpulint/server/project.py").read_text(encoding="utf-8")
    for key in keys - OWN:
        assert f"| `{key}` |" in documented
        assert f'"{key}"' in sent
        assert f'"{key}"' in source
    assert keys - OWN == {"certainty", "codeLens", "inlayHints"}


def test_the_extensions_main_file_and_commands_exist() -> None:
    main = (EXTENSION / MANIFEST["main"]).read_text(encoding="utf-8")
    for command in MANIFEST["contributes"]["commands"]:
        assert f'registerCommand("{command["command"]}"' in main


def test_the_extension_is_built_without_the_environment_of_the_tests() -> None:
    """That has TensorFlow, which takes minutes; the page says that Node suffices."""
    command = ["make", "--dry-run", "vscode", "PYTHON=python3"]
    steps = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "npm run package" in steps
    assert "pip" not in steps
    assert ".venv" not in steps
