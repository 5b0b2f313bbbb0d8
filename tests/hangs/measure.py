"""Measure the analyzer and the emulator on the pairs of this directory.

    python -m tests.hangs.measure [--write] [NAME ...]

`--write` renews the results in README.md. Each program runs under the emulator in a fork of one
process that has imported TensorFlow, for at most `MAX_SECONDS`; so this needs `os.fork`.
"""

from __future__ import annotations

import argparse
import atexit
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
PROGRAMS = FOLDER / "programs"
README = FOLDER / "README.md"
FAULT, TWIN = SIDES = ("fault", "twin")
MAX_SECONDS = 60.0
TARGET_SECONDS = 10.0

# What the analyzer may call a fault of each category, and what the emulator says of it.
CODES = {
    "variable": {"TPU101", "TPU105"},
    "lost_update": {"TPU103"},
    "collective": {"TPU305", "TPU306"},
    "feed": {"TPU106", "TPU612", "TPU614"},
    "order": {"TPU106"},
}
ERRORS = {
    "variable": "DeadlockError",
    "lost_update": "StaleVariableWarning",
    "collective": "DivergentCollectiveError",
    "feed": "DeadlockError|OutOfRangeError",
    "order": "DeadlockError",
}


class Pair(NamedTuple):
    """A program that hangs or loses an update, and its twin. analyzer: what `check` says of it."""

    name: str
    category: str
    analyzer: str
    cause: str


class Result(NamedTuple):
    """What a tool says of the two programs of a pair, "" for nothing, and its seconds."""

    fault: str
    twin: str
    seconds: float = 0.0


def read_pairs() -> list[Pair]:
    with open(FOLDER / "pairs.tsv", encoding="utf-8", newline="") as file:
        return [Pair(**row) for row in csv.DictReader(file, delimiter="\t")]


def analyze(pairs: Iterable[Pair]) -> dict[str, Result]:
    """Return how sure `tpulint check` is of a fault in each program of `pairs`."""
    options = ("--isolated", "--no-cache", "--exit-zero", "--certainty", "possible")
    command = [sys.executable, "-m", "tpulint", "check", *options, "--output-format", "json"]
    done = subprocess.run(
        [*command, str(PROGRAMS)], capture_output=True, text=True, timeout=300, check=True
    )
    certainties: dict[tuple[str, str], dict[str, str]] = {}
    for finding in json.loads(done.stdout):
        name, side = Path(finding["filename"]).relative_to(PROGRAMS).parts[:2]
        codes = certainties.setdefault((name, side), {})
        if codes.get(finding["code"]) != "definite":
            codes[finding["code"]] = finding["certainty"]

    def said(pair: Pair, side: str) -> str:
        actual = certainties.get((pair.name, side), {})
        of_category = {actual[code] for code in CODES[pair.category] & actual.keys()}
        return "definite" if "definite" in of_category else next(iter(of_category), "")

    return {pair.name: Result(said(pair, FAULT), said(pair, TWIN)) for pair in pairs}


def emulate(pairs: Iterable[Pair]) -> dict[str, Result]:
    """Return what the emulator reports when it runs each program of `pairs`."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow  # noqa: F401 - what each fork needs

    import tpulint.run.command
    import tpulint.run.session
    import tpulint.runtime  # noqa: F401
    from tpulint.cli.main import main

    def run() -> int:
        return main(["run", "--replicas", "2", "main.py"])

    results = {}
    for pair in pairs:
        errors, longest = {}, 0.0
        for side in SIDES:
            status, text, seconds = run_in_fork(PROGRAMS / pair.name / side, run)
            match = re.search(ERRORS[pair.category], text)
            errors[side] = match[0] if match else ("" if status == 0 else f"exit status {status}")
            longest = max(longest, seconds)
        results[pair.name] = Result(errors[FAULT], errors[TWIN], longest)
        print(f"{pair.name:40}{results[pair.name]}", file=sys.stderr, flush=True)
    return results


def run_in_fork(folder: Path, run: Callable[[], int]) -> tuple[int, str, float]:
    """Return the exit status of `run()` in `folder`, what it printed, and its seconds."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = os.fork()
        if process == 0:
            _run_and_exit(folder, run, output.fileno())
        status = _wait(process, start + MAX_SECONDS)
        output.seek(0)
        return status, output.read(), time.monotonic() - start


def _run_and_exit(folder: Path, run: Callable[[], int], output: int) -> None:
    status = 1
    try:
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        for stream in (1, 2):
            os.dup2(output, stream)
        try:
            status = run()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _wait(process: int, until: float) -> int:
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -signal.SIGKILL


class Matrix(NamedTuple):
    """A confusion matrix: programs at fault that a tool reports or misses, and twins."""

    true_positives: int
    missed: int
    false_positives: int
    silent: int


def matrix(results: Iterable[Result]) -> Matrix:
    results = list(results)
    true_positives = sum(bool(result.fault) for result in results)
    false_positives = sum(bool(result.twin) for result in results)
    return Matrix(
        true_positives,
        len(results) - true_positives,
        false_positives,
        len(results) - false_positives,
    )


def table(pairs: list[Pair], columns: Mapping[str, Mapping[str, Result]]) -> str:
    """Return the confusion matrix of each tool, by category, and its recall and precision."""
    parts = ("found", "missed", "false positives", "silent twins")
    heads = [f"{tool}: {part}" for tool in columns for part in parts]
    lines = [f"| category | pairs | {' | '.join(heads)} |", "|---|--:|" + "--:|" * len(heads)]
    for category in [*CODES, "all"]:
        names = [pair.name for pair in pairs if category in (pair.category, "all")]
        cells = [len(names)]
        for results in columns.values():
            cells += matrix(results[name] for name in names)
        lines.append(f"| {category.replace('_', ' ')} | {' | '.join(map(str, cells))} |")
    lines += ["", "| tool | recall | precision |", "|---|--:|--:|"]
    for tool, results in columns.items():
        true_positives, missed, false_positives, _ = matrix(results[pair.name] for pair in pairs)
        recall = true_positives / max(true_positives + missed, 1)
        precision = true_positives / max(true_positives + false_positives, 1)
        lines.append(f"| {tool} | {recall:.2f} | {precision:.2f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the results in README.md")
    parser.add_argument("names", nargs="*", help="the pairs (all)")
    options = parser.parse_args()
    pairs = [pair for pair in read_pairs() if not options.names or pair.name in options.names]
    analyzed, emulated = analyze(pairs), emulate(pairs)
    slow = sum(result.seconds > TARGET_SECONDS for result in emulated.values())
    text = (
        f"{table(pairs, {'analyzer': analyzed, 'emulator': emulated})}\n\n"
        f"{slow} programs took more than {TARGET_SECONDS:g} s under the emulator.\n"
    )
    print(text)
    for tool, results in (("analyzer", analyzed), ("emulator", emulated)):
        missed = [name for name, result in results.items() if not result.fault or result.twin]
        print(f"{tool}: missed or false positive: {', '.join(missed) or 'none'}")
    if options.write:
        head = README.read_text(encoding="utf-8").partition("## Results\n")[0]
        README.write_text(f"{head}## Results\n\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
