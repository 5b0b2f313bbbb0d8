"""Run public notebooks for TPUs, as they are, under `tpulint run`.

    python scripts/gallery_notebooks.py [NOTEBOOK...] [--on ENVIRONMENT] [--cache FOLDER] [--write]

The notebooks are the rows of scripts/notebooks.toml; without names all of them run. A notebook is
downloaded from the commit that its row names, unless the cache has it as `notebooks/NAME.ipynb`.
`--write` renews the rows of docs/gallery.md. Exit status 1: one that trained does not any more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts.gallery_environments import ROOT, python_of
from scripts.gallery_rows import Environment, read_table

TABLE = Path(__file__).with_name("notebooks.toml")
PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
CACHE = Path.home() / ".cache" / "tpulint-gallery"
CONTENT = Path("/content")
_LAUNCH = ROOT / "scripts" / "gallery_notebook_launch.py"
_DATA = ROOT / "scripts" / "gallery_notebook_data.py"


@dataclass(frozen=True)
class Notebook:
    """A public notebook, and what a run of it needs."""

    name: str
    repository: str
    commit: str
    path: str
    environments: tuple[str, ...] = ("notebooks-oldest", "notebooks-newest")
    data: str = ""
    """The kind of data in gallery_notebook_data.py."""
    steps: int = 0
    """Keras' `fit` ends after so many steps; 0 where the notebook trains as long as it says."""
    replicas: int = 2
    fails: dict[str, str] | None = None
    """Why not all of its cells run, by the name of the environment."""

    def reason(self, environment: str) -> str:
        """Return why not all of its cells run there, or ""."""
        return (self.fails or {}).get(environment, "")


@dataclass(frozen=True)
class Run:
    """A run that has ended."""

    notebook: str
    environment: str
    seconds: float
    steps: int
    """The steps of all computations on the TPU: training, validation and prediction."""
    megabytes: int
    """The most memory that the process had."""
    ended: str
    """Its exit status, or "timeout"."""

    @property
    def trains(self) -> bool:
        return self.ended == "0" and self.steps > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK")
    parser.add_argument("--on", action="append", metavar="ENVIRONMENT")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=900, help="the longest for one run (900)")
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md")
    parser.add_argument("--no-run", action="store_true", help="use the kept results only")
    options = parser.parse_args()
    cache = options.cache.resolve()
    environments, notebooks = read()
    names = [notebook.name for notebook in notebooks]
    if set(options.notebooks) - set(names):
        parser.error(f"there are only {', '.join(names)}")
    failed = False
    for notebook in notebooks if not options.no_run else ():
        if notebook.name in (options.notebooks or names):
            for name in notebook.environments:
                if options.on and name not in options.on:
                    continue
                python = str(python_of(environments[name], cache))
                run = run_of(notebook, name, python, cache, options.seconds)
                print(run, flush=True)
                failed |= not run.trains and not notebook.reason(name)
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page_with(text, list(rows(environments, notebooks, cache, text))), "utf-8")
    return int(failed)


def read() -> tuple[dict[str, Environment], tuple[Notebook, ...]]:
    """Return the environments by name, and the notebooks."""
    environments, table = read_table(TABLE)
    return environments, tuple(
        Notebook(name=name, **{key: _frozen(value) for key, value in row.items()})
        for name, row in table["notebooks"].items()
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def run_of(notebook: Notebook, environment: str, python: str, cache: Path, seconds: int) -> Run:
    """Run it with `python`, in at most so many seconds, and keep the result."""
    folder = cache / "notebook-runs" / f"{notebook.name}-{environment}"
    shutil.rmtree(folder, ignore_errors=True)
    _data(notebook.data, folder, python, cache)
    for name in ("home", "work", "buckets", "content"):
        (folder / name).mkdir(exist_ok=True)
    shutil.copy(_downloaded(notebook, cache), folder / "work" / "notebook.ipynb")
    limit = ["--steps", str(notebook.steps)] if notebook.steps else []
    report = ["--report", "json", "--report-file", str(folder / "report.json")]
    machine = ["--replicas", str(notebook.replicas), "--storage", str(folder / "buckets")]
    command = [python, str(_LAUNCH), *limit, "--", "run", *machine, *report, "notebook.ipynb"]
    began = time.monotonic()
    with _at_content(folder / "content"):
        ended, megabytes = _ended(command, folder, seconds)
    took = time.monotonic() - began
    run = Run(notebook.name, environment, took, _steps(folder / "report.json"), megabytes, ended)
    path = _result(cache, notebook.name, environment)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(run)), encoding="utf-8")
    return run


def _data(kind: str, folder: Path, python: str, cache: Path) -> None:
    """Put a copy of the data of that kind into `folder`; a run writes there as well."""
    cached = cache / "notebook-data" / (kind.replace(" ", "-") or "none")
    if not cached.exists():
        new = cached.with_name(f"{cached.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": str(ROOT)}
        subprocess.run([python, str(_DATA), kind, str(new)], env=environment, check=True)
        new.rename(cached)
    shutil.copytree(cached, folder)


def _downloaded(notebook: Notebook, cache: Path) -> Path:
    """Return the file of the notebook, which is downloaded if it is not there yet."""
    path = cache / "notebooks" / f"{notebook.name}.ipynb"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        place = urllib.parse.quote(f"{notebook.repository}/{notebook.commit}/{notebook.path}")
        with urllib.request.urlopen(f"https://raw.githubusercontent.com/{place}") as answer:
            path.write_bytes(answer.read())
    return path


@contextmanager
def _at_content(folder: Path) -> Iterator[None]:
    """Show the files of the folder in `/content` as well, as on Colab."""
    links = {CONTENT / path.name: path for path in folder.iterdir()}
    if links:
        CONTENT.mkdir(exist_ok=True)
    for link, path in links.items():
        link.symlink_to(path)
    try:
        yield
    finally:
        for link in links:
            link.unlink()


def _ended(command: list[str], folder: Path, seconds: int) -> tuple[str, int]:
    """Run the command; return how it ended, and the most memory it had, in megabytes."""
    home = str(folder / "home")
    environment = {**os.environ, "HOME": home, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    words = ["timeout", "--signal=KILL", str(seconds), *command]
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            words, cwd=folder / "work", stdout=log, stderr=log, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
    ended = os.waitstatus_to_exitcode(status)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    killed = ended in (-9, 137)
    return f"timeout after {seconds} s" if killed else str(ended), usage.ru_maxrss // unit


def _steps(report: Path) -> int:
    if not report.exists():
        return 0
    computations = json.loads(report.read_text(encoding="utf-8"))["computations"]
    return sum(computation["steps"] for computation in computations)


def _result(cache: Path, notebook: str, environment: str) -> Path:
    return cache / "results" / f"notebook-{notebook}-{environment}.json"


# The part of docs/gallery.md on notebooks.

BEGIN = "<!-- notebooks: written by scripts/gallery_notebooks.py -->\n"
END = "<!-- end of notebooks -->\n"


def rows(
    environments: dict[str, Environment], notebooks: tuple[Notebook, ...], cache: Path, before: str
) -> Iterator[str]:
    """Yield a row for each run; what has no result keeps its row of the page `before`."""
    for notebook in notebooks:
        for name in notebook.environments:
            place = f"{notebook.repository}/blob/{notebook.commit}/{notebook.path}"
            link = f"[{notebook.path.rpartition('/')[2]}](https://github.com/{place})"
            begun = f"| {notebook.repository} | {link.replace(' ', '%20')} |"
            begun += f" {environments[name].tensorflow} |"
            path = _result(cache, notebook.name, name)
            if path.exists():
                run = Run(**json.loads(path.read_text(encoding="utf-8")))
                yield f"{begun} {_cells(notebook, run)} |\n"
            else:
                earlier_rows = (line for line in before.splitlines(True) if line.startswith(begun))
                yield next(earlier_rows, f"{begun} | | | not run |\n")


def _cells(notebook: Notebook, run: Run) -> str:
    reason = notebook.reason(run.environment)
    if run.steps:
        verdict = f"trains, {notebook.steps} steps of each `fit`" if notebook.steps else "trains"
        verdict += "" if run.trains else f"; then it {reason}" if reason else f"; {run.ended}"
    else:
        verdict = f"no: it {reason}" if reason else f"no: exit status {run.ended}"
    return f"{run.steps:,} | {run.seconds:.0f} | {run.megabytes:,} | {verdict}"


def page_with(text: str, lines: list[str]) -> str:
    """Return the page with these rows in their place."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    columns = "| repository | notebook | TensorFlow | steps | seconds | MB | verdict |\n"
    return f"{head}{BEGIN}\n{columns}|---|---|---|---|---|---|---|\n{''.join(lines)}\n{END}{tail}"


if __name__ == "__main__":
    sys.exit(main())
