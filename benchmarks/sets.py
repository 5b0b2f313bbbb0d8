"""A first check of sets of repositories, beside ruff's: how the ratio depends on what they hold.

    python -m benchmarks.sets CHECKOUTS [--runs 3] [--write]

CHECKOUTS is a folder with a checkout of each repository of benchmarks/sets.toml, by its name.
Beside these sets, what is installed with TensorFlow in this environment is measured. Nothing is
cached; the commands take turns. `--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from benchmarks.analyzer import CHECK, RUFF, machine, write
from benchmarks.timing import Command, in_turns
from tpulint.frontends.tensorflow.prefilter import passes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETS = Path(__file__).with_name("sets.toml")
BEGIN, END = "<!-- sets: written by benchmarks/sets.py -->", "<!-- end of sets -->"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sets = folders_of(arguments.checkouts.resolve(), read_sets())
    text = "\n".join(report({**sets, **installed()}, arguments.runs))
    print(text)
    if arguments.write:
        write(text, BEGIN, END)


def read_sets() -> dict[str, dict[str, str]]:
    """Return the commit of each repository ("owner/name"), by the name of its set."""
    return tomllib.loads(SETS.read_text(encoding="utf-8"))


def folders_of(checkouts: Path, sets: Mapping[str, Mapping[str, str]]) -> dict[str, list[Path]]:
    """Return the folders of each set. Raises SystemExit where a repository is not checked out."""
    named = {
        repository: commit for commits in sets.values() for repository, commit in commits.items()
    }
    missing = [
        repository
        for repository in named
        if not (checkouts / repository.rpartition("/")[2]).is_dir()
    ]
    if missing:
        needed = ", ".join(f"{repository} at {named[repository]}" for repository in missing)
        raise SystemExit(f"not in {checkouts}: {needed}")
    return {
        name: [checkouts / repository.rpartition("/")[2] for repository in repositories]
        for name, repositories in sets.items()
    }


def installed() -> dict[str, list[Path]]:
    """Return the packages beside TensorFlow, where it is installed."""
    spec = find_spec("tensorflow")
    if spec is None or spec.origin is None:
        return {}
    return {"what is installed with TensorFlow": [Path(spec.origin).parents[1]]}


def report(sets: Mapping[str, Sequence[Path]], runs: int) -> Iterator[str]:
    """All measurements as lines of markdown."""
    yield f"Measured on {time.strftime('%Y-%m-%d')}: {machine()}; medians of {runs} runs in turns."
    yield ""
    yield "| | files | that name the TPU API | seconds | of ruff | times ruff |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, folders in sets.items():
        files, shown = counted(folders)
        ours, theirs = in_turns(
            [
                Command("tpulint", [*CHECK, "--no-cache", *map(str, folders)]),
                Command("ruff", [*RUFF, *map(str, folders)]),
            ],
            runs,
        )
        yield (
            f"| {name} | {files:,} | {shown:,} | {ours.seconds:.2f} | {theirs.seconds:.2f} "
            f"| {ours.seconds / theirs.seconds:.2f} |"
        )


def counted(folders: Sequence[Path]) -> tuple[int, int]:
    """Return the number of files, notebooks included, and of those that name the TPU API."""
    paths = [
        path for folder in folders for end in ("py", "ipynb") for path in folder.rglob(f"*.{end}")
    ]
    files = [path for path in paths if path.is_file()]
    return len(files), sum(passes(file.read_bytes()) for file in files)


if __name__ == "__main__":
    main()
