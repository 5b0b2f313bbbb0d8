"""Download the pinned corpus and unpack it, a folder a package.

    python scripts/corpus.py [FOLDER]      default: ~/.cache/tpulint-corpus

pip downloads the wheels of benchmarks/corpus.toml without their dependencies and
refuses any that differs from its pinned hash. A wheel is an archive: unpacking it
runs nothing. What is already unpacked at the pinned version is left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PINS = Path(__file__).parents[1] / "benchmarks" / "corpus.toml"
DEFAULT = Path.home() / ".cache" / "tpulint-corpus"
# The version that a package's folder holds; written last, so a half-unpacked folder has none.
STAMP = ".version"


def main() -> int:
    """Bring the folder that is named on the command line up to the pins."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    pins = {name: (row["version"], row["sha256"]) for name, row in read_pins().items()}
    missing = {name: pin for name, pin in pins.items() if unpacked(folder / name) != pin[0]}
    if missing:
        with tempfile.TemporaryDirectory() as downloads:
            download(missing, Path(downloads))
            for name, (version, _) in missing.items():
                unpack(Path(downloads), folder / name, name, version)
    print(f"{len(pins)} packages in {folder}")
    return 0


def read_pins() -> dict[str, dict[str, str]]:
    """Return the `version` and `sha256` of each package, by its name."""
    return tomllib.loads(PINS.read_text(encoding="utf-8"))


def unpacked(folder: Path) -> str:
    """Return the version that `folder` holds, or "" where it holds none."""
    stamp = folder / STAMP
    return stamp.read_text(encoding="utf-8").strip() if stamp.exists() else ""


def download(pins: dict[str, tuple[str, str]], folder: Path) -> None:
    """Let pip fetch the wheels into `folder`, each checked against its hash."""
    requirements = folder / "requirements.txt"
    requirements.write_text(
        "".join(f"{name}=={pin[0]} --hash=sha256:{pin[1]}\n" for name, pin in pins.items()),
        encoding="utf-8",
    )
    options = "--no-deps --only-binary=:all: --ignore-requires-python --require-hashes --quiet"
    places = ["--dest", str(folder), "--requirement", str(requirements)]
    command = [sys.executable, "-m", "pip", "download", *options.split(), *places]
    subprocess.run(command, check=True)


def unpack(downloads: Path, folder: Path, name: str, version: str) -> None:
    """Unpack the package's wheel into a fresh `folder`."""
    (wheel,) = downloads.glob(f"{name.replace('-', '_')}-*.whl")
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (folder / STAMP).write_text(version + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
