"""Public repositories as programs to seed faults into: a list of commits, and nothing of theirs."""

from __future__ import annotations

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from scripts.mutate.draw import batches, drawn, sites_under
from scripts.mutate.measure import Checked, Result
from scripts.mutate.report import FOUND, row
from scripts.mutate.sites import Site

PINS = Path(__file__).with_name("repositories.txt")
DEFAULT = Path.home() / ".cache" / "tpulint-public"
EVERYWHERE = frozenset(["TPU604", "TPU605"])  # codes whose faults are seeded at every site
HOST = "https://github.com"
FETCH_SECONDS = 600


class NoRepositories(Exception):
    """None of the repositories is there, and none can be fetched."""


def read_pins() -> dict[str, tuple[str, str]]:
    """Return the repository and the commit of each folder's name."""
    pairs = (line.split() for line in PINS.read_text(encoding="utf-8").splitlines())
    return {name.replace("/", "+"): (name, commit) for name, commit in pairs}


def bring(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names of the folders that are there or can be fetched, and of the others."""
    pins = read_pins()
    folder.mkdir(parents=True, exist_ok=True)
    there, missing = [], []
    for name, (repository, commit) in pins.items():
        if not (folder / name).is_dir() and not fetch(folder / name, repository, commit):
            missing.append(name)
        else:
            there.append(name)
        if missing and not there:  # without a network the others would fail, too
            there = [pin for pin in pins if (folder / pin).is_dir()]
            return there, [pin for pin in pins if pin not in there]
    return there, missing


def fetch(folder: Path, repository: str, commit: str) -> bool:
    """Fetch one commit of a repository into `folder`, and return whether it is there."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
        url = f"{HOST}/{repository}"
        for arguments in (
            ["init", "--quiet"],
            ["fetch", "--quiet", "--depth", "1", url, commit],
            ["checkout", "--quiet", "FETCH_HEAD"],
        ):
            done = subprocess.run(
                ["git", *arguments],
                cwd=partial,
                check=False,
                capture_output=True,
                timeout=FETCH_SECONDS,
            )
            if done.returncode:
                return False
        Path(partial).rename(folder)  # only now, so that a broken fetch leaves no folder
        Path(partial).mkdir()
    return True


def measured(folder: Path, names: Iterable[str], per_operator: int, a_file: int) -> list[Result]:
    """Return the outcome of the mutants, of which no two stand in one repository at a time."""
    folder = folder.resolve()
    texts: dict[str, str] = {}
    sites: list[Site] = []
    for name in sorted(names):
        here, there = sites_under(folder / name, whole=True)
        texts |= here
        sites += there
    mutants = drawn(texts, sites, per_operator, a_file, EVERYWHERE)
    filenames = [Path(mutant.site.filename) for mutant in mutants]
    packages = sorted({filename.relative_to(folder).parts[0] for filename in filenames})
    with tempfile.TemporaryDirectory() as summaries:
        checked = Checked(folder, packages, Path(summaries))
        rounds = batches(mutants, checked.package)
        return [result for batch in rounds for result in checked.results(batch)]


def table(results: Iterable[Result]) -> str:
    """Return the counts of each rule."""
    rules: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        rules[result.mutant.operator.codes[0]].append(result)
    return "\n".join([FOUND, *(row(code, rules[code]) for code in sorted(rules))]) + "\n"


def report(folder: Path, per_operator: int, a_file: int) -> tuple[list[Result], str]:
    """Return the outcomes on the repositories in `folder`, and what to print about them."""
    names, missing = bring(folder)
    if not names:
        raise NoRepositories(
            f"No repository of {PINS.name} is in {folder}, and none can be fetched: is there a"
            " network? Or name a folder that holds them, each as OWNER+NAME."
        )
    results = measured(folder, names, per_operator, a_file)
    text = f"{len(results)} faults in {len(names)} repositories\n"
    if missing:
        text += f"not there, and not fetched: {', '.join(missing)}\n"
    return results, f"{text}\n{table(results)}"
