"""Install what the gallery's programs need, each release in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.gallery_rows import Environment

ROOT = Path(__file__).parents[1]
_OURS = ("libcst", "pathspec", "tomli", "trustme")
_STAMP = "installed.txt"


def python_of(environment: Environment, cache: Path) -> Path:
    """Return the interpreter of `environment`, which is installed if it is not there yet.

    One TensorFlow serves all environments that name its release; packages over it are installed
    without their dependencies, so that none replaces it.
    """
    under = cache / "environments" / f"tensorflow-{environment.tensorflow}"
    wanted = (f"tensorflow-cpu=={environment.tensorflow}", "setuptools<80", *_OURS)
    _install(under, wanted, (ROOT,))
    if not environment.requirements:
        return _python(under)
    over = cache / "environments" / environment.name
    _install(over, ("--no-deps", *environment.requirements), (ROOT, *_packages(under)))
    return _python(over)


def _install(folder: Path, wanted: tuple[str, ...], paths: tuple[Path, ...]) -> None:
    stamp = folder / _STAMP
    text = "\n".join(wanted)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == text:
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(_python(folder)), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *wanted], check=True)
    (site,) = _packages(folder)
    (site / "base.pth").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
    stamp.write_text(text, encoding="utf-8")


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _packages(folder: Path) -> tuple[Path, ...]:
    return tuple(folder.glob("lib/python3*/site-packages"))
