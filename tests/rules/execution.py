"""Run the programs of the pages under the runtime, TensorFlow imported once for all of them.

The module is run as a script by `execute`: it imports TensorFlow, which starts no
thread before the first operation, and then forks a fresh process for each program,
so that no program sees another's graph, eager mode, devices or hang.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any, TypedDict

from tpulint.codes import performance_codes
from tpulint.hardware import DEVICES
from tpulint.run.cost import cost_of
from tpulint.run.failure import RunFailure, failure_of
from tpulint.testing import MAIN, Block, write

SECONDS_A_PROGRAM = 60
AT_ONCE = 2
REPLICAS = 2
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """The output and the error of a program.

    `raised` holds the names of the error's classes (empty where it ended well), `rule` the
    error's, `warned` the (class name, rule) of each warning that carries a rule, `failures` what
    `tpulint run` would ask the analyzer about, with paths within the block, `text` the last
    words for a failing test. `report` is what the report of `tpulint run --device v3` counts, as in
    its JSON, of a program on the page of a rule about performance.
    """

    raised: tuple[str, ...]
    rule: str
    warned: tuple[tuple[str, str], ...]
    text: str
    failures: tuple[RunFailure, ...] = ()
    report: dict[str, Any] = field(default_factory=dict)


class Script(TypedDict):
    """A program to run: its file, whether it finds an emulated TPU, and that on another machine.

    With `counts`, the report of its run is wanted.
    """

    path: str
    emulate: bool
    remote: bool
    counts: bool


def execute(blocks: Iterable[Block]) -> dict[str, Outcome]:
    """The outcome of each block, by its name, in order; one that does not end is `("Timeout",)`."""
    with tempfile.TemporaryDirectory() as folder:
        scripts: dict[str, Script] = {}
        for block in blocks:
            home = Path(folder, block.name.replace(":", "_"))
            write(block, home)
            scripts[block.name] = {
                "path": str(home / MAIN),
                "emulate": not block.uses_runtime,
                "remote": block.is_remote,
                "counts": block.own_code in performance_codes(),
            }
        if not scripts:
            return {}
        done = subprocess.run(
            [sys.executable, "-m", "tests.rules.execution"],
            input=json.dumps(scripts),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=ROOT,
            env=os.environ | {"TMPDIR": folder},  # TensorFlow's own files, which nobody deletes
            timeout=SECONDS_A_PROGRAM * (len(scripts) + 1),
        )
    rows = json.loads(done.stdout.splitlines()[-1])
    return {
        name: Outcome(
            tuple(row["raised"]),
            row["rule"],
            tuple(map(tuple, row["warned"])),
            row["text"],
            tuple(RunFailure(*failure) for failure in row["failures"]),
            row["report"],
        )
        for name, row in ((name, rows[name]) for name in scripts)
    }


def main() -> None:
    """Read `{name: Script}` from standard input and print `{name: outcome}` as the last line."""
    import tensorflow  # noqa: F401

    import tpulint.runtime  # noqa: F401

    # Most programs initialize a TPU, and then TensorFlow collects garbage: not in what is shared.
    gc.freeze()
    scripts: dict[str, Script] = json.load(sys.stdin)
    outcomes = _run_all(scripts)
    print(json.dumps({name: asdict(outcome) for name, outcome in outcomes.items()}))


def _run_all(scripts: dict[str, Script]) -> dict[str, Outcome]:
    fork = multiprocessing.get_context("fork")
    waiting = list(scripts.items())
    running: dict[Connection, tuple[str, Any, float]] = {}
    outcomes: dict[str, Outcome] = {}
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            name, script = waiting.pop(0)
            mine, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=_child, args=(script, theirs))
            process.start()
            theirs.close()
            running[mine] = (name, process, monotonic() + SECONDS_A_PROGRAM)
        wait(list(running), timeout=1)
        for mine, (name, process, deadline) in list(running.items()):
            if not mine.poll() and process.is_alive() and monotonic() < deadline:
                continue
            outcomes[name] = _receive(mine)
            process.kill()
            process.join()
            del running[mine]
    return outcomes


def _receive(mine: Connection) -> Outcome:
    if not mine.poll():
        return Outcome(("Timeout",), "", (), f"no end within {SECONDS_A_PROGRAM} seconds")
    try:
        received: Outcome = mine.recv()
    except EOFError:
        return Outcome(("Died",), "", (), "the process died without a word")
    return received


def _child(script: Script, theirs: Connection) -> None:
    from tpulint.runtime import emulated_tpu

    os.dup2(2, 1)  # what a program prints is no part of the answer
    path = Path(script["path"])
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    raised: tuple[str, ...] = ()
    failures: list[RunFailure | None] = []
    rule = text = ""
    remote: dict[str, Any] = {"remote": True, "storage": "buckets"} if script["remote"] else {}
    report: dict[str, Any] = {}
    counts = counted_in(report) if script["counts"] else nullcontext()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with emulated_tpu(REPLICAS, **remote) if script["emulate"] else nullcontext(), counts:
                runpy.run_path(str(path), run_name="__main__")
        except BaseException as error:
            raised = tuple(kind.__name__ for kind in type(error).__mro__)
            rule = str(getattr(error, "rule", ""))
            text = traceback.format_exc()[-3000:]
            failures.append(failure_of(error))
    ours = [item.message for item in caught if hasattr(item.message, "rule")]
    failures += [failure_of(problem) for problem in ours if isinstance(problem, Warning)]
    warned = tuple((type(problem).__name__, str(problem.rule)) for problem in ours)
    failures_here = tuple(
        _beside(path.parent, failure) for failure in failures if failure is not None
    )
    theirs.send(Outcome(raised, rule, tuple(dict.fromkeys(warned)), text, failures_here, report))
    theirs.close()
    os._exit(0)


@contextmanager
def counted_in(report: dict[str, Any]) -> Iterator[None]:
    """Add to `report` what `tpulint run --device v3` counts of the program in the context."""
    from tpulint.run.report import plain
    from tpulint.run.session import computation, host_reads
    from tpulint.runtime.run_statistics import running

    with running(REPLICAS, None, costs=True) as watch:
        yield
    totals = watch.computations.items()
    costs = tuple(cost_of(work, DEVICES["v3"], os.path.basename) for work in watch.works())
    report["computations"] = plain(tuple(computation(at, total, watch) for at, total in totals))
    report["reads"] = plain(host_reads(watch))
    report["costs"] = plain(costs)


def _beside(folder: Path, failure: RunFailure) -> RunFailure:
    """`failure` with the files of `folder` named as in the block."""
    home = str(folder) + os.sep
    frames = tuple((name.removeprefix(home), row) for name, row in failure.frames)
    return failure._replace(place=failure.place.removeprefix(home), frames=frames)


def within(folder: Path, failure: RunFailure) -> RunFailure:
    """The same of a block that is written to `folder`."""
    place = str(folder / failure.place) if failure.place else ""
    frames = tuple((str(folder / name), row) for name, row in failure.frames)
    return failure._replace(place=place, frames=frames)


if __name__ == "__main__":
    main()
