"""Time and memory of a check, beside tools that people know.

    python -m benchmarks.analyzer CORPUS [--runs 3] [--sizes 100 400 1600 6400 25000] [--write]

Everything is measured in one run on one machine, each command in a process of its own:
wall time and peak memory of the largest process (both from the operating system, by
`os.wait4`), medians over the runs, in which the commands take turns. Python may keep its
bytecode, as it does of installed packages. `--write` puts the result into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import compileall
import math
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.timing import Command, Measured, in_turns, measure, once
from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.frontends.tensorflow.prefilter import passes

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- analyzer: written by benchmarks/analyzer.py -->", "<!-- end of analyzer -->"

SIZES = (100, 400, 1_600, 6_400, 25_000)  # files of the trees whose cost shows how it grows
PYTHON = sys.executable
TPULINT = [PYTHON, "-m", "tpulint"]
CHECK = [*TPULINT, "check", "--isolated", "--exit-zero"]
RUFF = [PYTHON, "-m", "ruff", "check", "--no-cache", "--isolated", "--exit-zero", "-q"]
# flake8 without this project's own plugin, which may be installed beside it.
FLAKE8 = (
    "import importlib.metadata as m, sys; every = m.distributions;"
    "m.distributions = lambda **k: (d for d in every(**k) if d.name != 'flake8-tpulint');"
    "from flake8.main.cli import main; sys.exit(main())"
)
PARSE = (
    "import ast, pathlib, sys, warnings; warnings.simplefilter('ignore')\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.py'):\n"
    "    try: ast.parse(path.read_bytes())\n"
    "    except SyntaxError: pass\n"
)


def tools(corpus: Path, runs: int, folder: Path) -> list[Measured]:
    """Measure the check, cold, warm and after edits, and the other tools on the same files."""
    path, cache = str(corpus), folder / "cache"
    cached = [*CHECK, "--cache-dir", str(cache), path]
    flake8 = [PYTHON, "-c", FLAKE8, "--isolated", "--exit-zero", path]
    commands = [
        Command("tpulint, cold", cached, lambda: shutil.rmtree(cache, ignore_errors=True)),
        Command("tpulint, warm", cached),
        *increments(corpus, folder),
        Command("ruff check", [*RUFF, path]),
        Command("ast.parse of every file", [PYTHON, "-c", PARSE, path]),
        Command("flake8", flake8, alone=True),
    ]
    if find_spec("fixit") is not None:  # which is made of libcst as well
        fixit = [PYTHON, "-m", "fixit", "--quiet", "lint", path]
        commands.append(Command("Fixit", fixit, statuses=(0, 1), alone=True))
    return in_turns(commands, runs)


def increments(corpus: Path, folder: Path) -> list[Command]:
    """Return a run after an edit, in a copy of the corpus; each edit is another one."""
    copy = folder / "copy"
    shutil.copytree(corpus, copy)
    plain = copy / "beside.py"  # of no program
    plain.write_text("x = 1\n", encoding="utf-8")
    settle(*copy.rglob("*.py"))
    check = [*CHECK, "--cache-dir", str(folder / ".increments"), str(copy)]
    once(check)
    followed = in_largest_program(copy)

    def edit(path: Path) -> None:
        with path.open("a", encoding="utf-8") as stream:
            stream.write("# edited\n")
        settle(path)

    return [
        Command("after an edit beside", check, lambda: edit(plain)),
        Command("after an edit of a program", check, lambda: edit(followed)),
    ]


def in_largest_program(folder: Path) -> Path:
    """Return a file of the program with the most files that name the TPU API."""
    request = driver.Request(Config(jobs=1), frozenset(CODES), (str(folder),))
    task = driver.discover(request)
    _, around = driver.programs_around(task, task.filenames[0])
    return Path(max(around.programs.jobs, key=lambda job: len(job.seeds)).seeds[0])


def one_file(corpus: Path, runs: int, folder: Path) -> Measured:
    """`tpulint check FILE` in a project of 500 files that was checked before."""
    project = grown(corpus, 500, folder / "project")
    (project / "pyproject.toml").touch()
    cached = [*CHECK, "--cache-dir", str(folder / ".one")]
    module = next(path for path in sorted(project.rglob("*.py")) if passes(path.read_bytes()))
    once([*cached, str(module)])
    return measure("tpulint check FILE, 500 files", [*cached, str(module)], runs)


def settle(*paths: Path) -> None:
    """Make files as old as those that are not being written."""
    earlier = time.time() - 60
    for path in paths:
        os.utime(path, (earlier, earlier))


def grown(corpus: Path, files: int, folder: Path) -> Path:
    """Return a folder with `files` files of the corpus, some of them more than once if need be."""
    paths = sorted(corpus.rglob("*.py"))
    projects = sorted({path.relative_to(corpus).parts[0] for path in paths})
    order = [path for name in projects for path in paths if path.is_relative_to(corpus / name)]
    for number in range(files):
        copied = folder / f"copy{number // len(order)}"
        target = copied / order[number % len(order)].relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(order[number % len(order)], target)
    return folder


def scaling(corpus: Path, sizes: Sequence[int]) -> str:
    """Measure a cold run on more and more files, and return how its cost grows as a table."""
    rows = [
        "| files | lines | seconds | times ruff | seconds of a core | peak MB |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    points = []
    for files in sizes:
        with tempfile.TemporaryDirectory() as folder:
            tree = grown(corpus, files, Path(folder))
            run = measure(str(files), [*CHECK, "--no-cache", str(tree)], 1)
            ruff = measure("ruff", [*RUFF, str(tree)], 1)
            lines = lines_of(sorted(tree.rglob("*.py")))
        points.append((math.log(files), math.log(run.busy)))
        rows.append(
            f"| {files:,} | {lines:,} | {run.seconds:.2f} | {run.seconds / ruff.seconds:.2f} "
            f"| {run.busy:.2f} | {run.megabytes:.0f} |"
        )
    slope = statistics.linear_regression(*zip(*points, strict=True)).slope
    rows += ["", f"Seconds of a core grow as the number of files to the power of {slope:.2f}."]
    return "\n".join(rows)


def starts(folder: Path, runs: int) -> list[Measured]:
    """Measure starting up: the bare interpreter, the version, and a run that concerns no file."""
    (folder / "plain.py").write_text("import math\nprint(math.pi)\n", encoding="utf-8")
    return [
        measure("bare interpreter", [PYTHON, "-c", "pass"], runs),
        measure("tpulint version", [*TPULINT, "version"], runs),
        measure("tpulint check, nothing to parse", [*CHECK, "--no-cache", str(folder)], runs),
    ]


def on_hits(corpus: Path, runs: int) -> str:
    """One process on only the files that pass the prefilter: sentences.

    Those files are one program, and modules beside them that they import are read as well:
    lines are those of all that is read, seconds those of a core. So they are measured twice: in a
    tree of their own, with nothing to import but each other, and in their place.
    """
    hits = [path for path in sorted(corpus.rglob("*.py")) if passes(path.read_bytes())]
    names = [str(path) for path in hits]
    request = driver.Request(Config(jobs=1), frozenset(CODES))
    batch, around = driver.programs_around(driver.Task(request, tuple(names)), names[0])
    results = [driver.analyze_program(batch, job).dependencies for job in around.programs.jobs]
    read = {path for result in results if result is not None for path in result.files}
    # What was asked for and is not there, like a package's `__init__.py`, is a dependency, too.
    imported = [
        path for path in map(Path, read - set(names)) if path.suffix == ".py" and path.is_file()
    ]
    check = [*CHECK, "--no-cache", "--jobs", "1"]
    with tempfile.TemporaryDirectory() as folder:
        copy_tree(hits, corpus, Path(folder))
        alone = measure("hits alone", [*check, folder], runs)
    run = measure("hits", [*check, *names], runs)
    lines, more = lines_of(hits), lines_of(imported)
    return (
        f"Only the {len(hits)} files whose bytes pass the prefilter, {lines:,} lines, in one "
        f"process without a cache. In a tree of their own: {alone.busy:.2f} seconds of a core, "
        f"{lines / alone.busy / 1000:.1f} kilolines/s, {alone.megabytes:.0f} MB. In their place, "
        f"with the {len(imported)} modules whose imports are read for that, {more:,} lines: "
        f"{run.busy:.2f} seconds of a core, {(lines + more) / run.busy / 1000:.1f} kilolines/s "
        f"of all that is read, {run.megabytes:.0f} MB."
    )


def copy_tree(paths: Sequence[Path], root: Path, target: Path) -> None:
    """Copy files of `root`, in packages as there: each folder gets an empty `__init__.py`."""
    for path in paths:
        copied = target / path.relative_to(root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        for folder in copied.relative_to(target).parents[:-1]:
            (target / folder / "__init__.py").touch()
        shutil.copyfile(path, copied)


def lines_of(paths: Sequence[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def machine() -> str:
    """Return the machine's own description of itself."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip()
            for line in info.read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    packages = ", ".join(f"{name} {version(name)}" for name in ("libcst", "ruff", "flake8"))
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {packages}"
    )


def report(corpus: Path, runs: int, sizes: Sequence[int]) -> str:
    """All measurements as markdown."""
    files = sorted(corpus.rglob("*.py"))
    lines = lines_of(files)
    with tempfile.TemporaryDirectory() as folder:
        table = tools(corpus, runs, Path(folder))
        first = Path(folder, "plain")
        first.mkdir()
        started = starts(first, max(runs, 9))
        started.append(one_file(corpus, max(runs, 9), Path(folder)))
    hits = on_hits(corpus, runs)
    ruff = next(row for row in table if row.name == "ruff check").seconds
    bare = started[0].seconds
    rows = [
        f"Measured on {time.strftime('%Y-%m-%d')}: {machine()}; medians of {runs} runs in "
        "turns, flake8 run once.",
        "",
        f"The pinned corpus, {len(files):,} files, {lines:,} lines:",
        "",
        "| | seconds | kilolines/s | peak MB | times ruff |",
        "|---|--:|--:|--:|--:|",
        *(
            f"| {row.name} | {row.seconds:.2f} | {lines / row.seconds / 1000:,.0f} "
            f"| {row.megabytes:.0f} | {row.seconds / ruff:.2f} |"
            for row in table
        ),
        "",
        hits,
        "",
        "| start | milliseconds | over the bare interpreter |",
        "|---|--:|--:|",
        *(
            f"| {row.name} | {row.seconds * 1000:.0f} | {(row.seconds - bare) * 1000:.0f} |"
            for row in started
        ),
        "",
        scaling(corpus, sizes),
    ]
    return "\n".join(rows) + "\n"


def write(text: str, begin: str, end: str, document: Path = DOCUMENT) -> None:
    """Put `text` between the marks `begin` and `end` of a document."""
    before, _, rest = document.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    document.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="files, for scaling")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(ROOT / "tpulint", quiet=2)
    text = report(arguments.corpus.resolve(), arguments.runs, arguments.sizes)
    print(text)
    if arguments.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
