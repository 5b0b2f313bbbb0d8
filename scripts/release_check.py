"""Build the sdists and wheels of both distributions and try them in an empty environment.

    python scripts/release_check.py [--keep FOLDER] [--tag TAG | --installed]

Everything but the upload: the distributions are built from the files that git tracks, their
contents and descriptions are checked, and the wheels are installed together into a new
environment, where the first commands of the README must work. `--keep` copies the distributions
to a folder. `--tag` is the release that they must be. `--installed` only tries the commands in
the environment of this Python.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECTS = (ROOT, ROOT / "plugins" / "flake8")
SAMPLE = """\
import tensorflow as tf

def computation(x):
    return tf.compat.v1.tpu.outside_compilation(tf.abs(x))

tf.compat.v1.tpu.rewrite(computation, [tf.constant(1.0)])
"""


def main() -> int:
    """Build, inspect, install and run; exit status 1 with the first thing that is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="copy the distributions to this folder")
    parser.add_argument("--tag", help="the release that the distributions must be, as v0.1.0")
    parser.add_argument("--installed", action="store_true", help="try what is installed here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            if options.installed:
                try_commands(Path(sys.executable), Path(sysconfig.get_path("scripts")), folder)
                return 0
            built = build(folder)
            for path in built:
                inspect(path)
            run(sys.executable, "-m", "twine", "check", "--strict", *map(str, built), cwd=folder)
            if options.tag is not None:
                require_release(options.tag, built)
            try_out([path for path in built if path.suffix == ".whl"], folder)
        except ReleaseError as error:
            print(f"release check: {error}", file=sys.stderr)
            return 1
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in built:
                shutil.copy(path, options.keep)
    print("release check: " + ", ".join(path.name for path in built))
    return 0


class ReleaseError(Exception):
    """A distribution that must not be uploaded, and why."""


def build(folder: Path) -> list[Path]:
    """Build an sdist and a wheel of each project, from a clean export of the tracked files."""
    source = folder / "source"
    listed = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, listed):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    output = folder / "dist"
    for project in PROJECTS:
        run(
            *(sys.executable, "-m", "build", "--outdir", str(output)),
            str(source / project.relative_to(ROOT)),
            cwd=folder,
        )
    return sorted(output.iterdir())


def inspect(path: Path) -> None:
    """Check the names in one distribution: typed, with its data, and a wheel without tests."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
        if any(name.split("/")[0] in ("tests", "scripts", "benchmarks") for name in names):
            raise ReleaseError(f"{path.name} holds more than the package")
        if not any(name.endswith("py.typed") for name in names):
            raise ReleaseError(f"{path.name} lacks py.typed")
        if path.name.startswith("tpulint"):
            missing = [name for name in tracked_data() if name not in names]
            if missing:
                raise ReleaseError(f"{path.name} lacks {missing[0]}")
    else:
        with tarfile.open(path) as sdist:
            if not any(name.endswith("pyproject.toml") for name in sdist.getnames()):
                raise ReleaseError(f"{path.name} lacks pyproject.toml")


def tracked_data() -> list[str]:
    """Return the tracked files of the package: code, rule pages, tables, styles."""
    return list(filter(None, run("git", "ls-files", "-z", "tpulint", cwd=ROOT).split("\0")))


def try_out(wheels: list[Path], folder: Path) -> None:
    """Install the wheels into a new environment and run their first commands there."""
    home = folder / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    run(str(python), "-m", "pip", "install", "--quiet", *map(str, wheels), cwd=folder)
    try_commands(python, python.parent, folder)


def try_commands(python: Path, scripts: Path, folder: Path) -> None:
    """Run the first commands of an installation, on a program in `folder`."""
    (folder / "sample.py").write_text(SAMPLE, encoding="utf-8")
    tpulint, flake8 = (scripts / name for name in ("tpulint", "flake8"))
    expect(tpulint, "version", cwd=folder, status=0, words="tpulint ")
    expect(tpulint, "check", "sample.py", cwd=folder, status=1, words="TPU205")
    expect(tpulint, "rule", "TPU205", cwd=folder, status=0, words="cluster-called-not-passed")
    expect(tpulint, "map", "sample.py", cwd=folder, status=0, words="sample.py")
    expect(flake8, "--select", "TPU", "sample.py", cwd=folder, status=1, words="TPU205")
    imported = "import sys, tpulint.cli.main; print('tensorflow' in sys.modules)"
    expect(python, "-c", imported, cwd=folder, status=0, words="False")


def require_release(tag: str, built: list[Path]) -> None:
    """Refuse distributions of another version, and a version without its entry and date."""
    version = tag.removeprefix("v")
    other = [path.name for path in built if f"-{version}" not in path.name]
    if other:
        raise ReleaseError(f"{other[0]} is not {tag}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changelog, re.M):
        raise ReleaseError(f"CHANGELOG.md has no dated entry for {version}")


def expect(program: Path, *arguments: str, cwd: Path, status: int, words: str) -> None:
    """Run a command; it must end with `status` and print `words`."""
    done = subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != status or words not in done.stdout:
        command = " ".join([program.name, *arguments[:1]])
        raise ReleaseError(
            f"`{command}` ended with {done.returncode}: {done.stdout}{done.stderr}".rstrip()
        )


def run(*command: str, cwd: Path) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[:4])}: {done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
