"""The extension for IPython: `%load_ext tpulint` checks each cell before it runs.

A fault is reported before it can hang. `%%tpulint_run` runs one cell on an emulated TPU.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shlex
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tpulint import plugins
from tpulint.check import driver
from tpulint.check.per_file import request_of
from tpulint.check.request import project_of
from tpulint.check.resolve import CheckResult
from tpulint.config import ConfigError
from tpulint.config.files import Closest
from tpulint.finding import Finding
from tpulint.installation import install
from tpulint.output.context import RenderContext
from tpulint.output.full import block

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo

    from tpulint.run.session import Machine
    from tpulint.runtime.run_statistics import Watch

NAME = "notebook.ipynb"  # where nobody says how the notebook is called
MAGIC = "tpulint_run"

# An `InteractiveShell`, whose own annotations leave most of what is used here open.
Shell: TypeAlias = Any


class Cells:
    """The cells of a session, by their numbers; a cell that runs again takes its own place."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        history = shell.history_manager.input_hist_raw
        self._texts = dict(enumerate(history))
        self._numbers: dict[str, int] = {}
        self._reported: set[tuple[str, str, str]] = set()

    def check(self, info: ExecutionInfo) -> None:
        """Check the session with the cell that is about to run, and report what is new."""
        if not info.store_history:
            return
        number = len(self._shell.history_manager.input_hist_raw)  # where it is about to be put
        earlier = self._numbers.get(info.cell_id or "")
        if earlier is not None:
            self._texts.pop(earlier, None)
        if info.cell_id:
            self._numbers[info.cell_id] = number
        self._texts[number] = info.raw_cell
        try:
            result = self.result()
        except ConfigError as error:
            print(f"tpulint: {error}")
            return
        for failure in result.failures:
            print(f"tpulint: {failure}")
        context = result.context
        for finding in result.findings:
            key = self._key(finding, context)
            cell, _ = context.place(finding.span.filename, finding.span.start)
            if cell == number or key not in self._reported:
                print(block(finding, context))
            self._reported.add(key)

    def result(self) -> CheckResult:
        """Return the findings in the cells, which are one notebook in the working directory."""
        folder = os.getcwd()
        root = project_of(folder) or folder
        plugins.require(plugins.choose([root]).options)
        request = request_of(Closest(root), folder)._replace(
            cache=None, fixes=True, noqa=True, stdin=self._notebook(), stdin_filename=self._name()
        )
        return driver.check(driver.discover(request))

    def _notebook(self) -> bytes:
        last = max(self._texts, default=0)
        cells = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": self._texts.get(row, "")}
            for row in range(1, last + 1)
        ]
        notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        return json.dumps(notebook).encode()

    def _name(self) -> str:
        """Return the notebook's name, which VS Code and Jupyter tell."""
        path = self._shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME")
        name = os.path.basename(str(path or NAME))
        return name if name.endswith(".ipynb") else NAME

    def _key(self, finding: Finding, context: RenderContext) -> tuple[str, str, str]:
        line = context.line(finding.span.filename, finding.span.start.row)
        return finding.code, finding.message, line


def load(shell: Shell) -> None:
    """Check the cells of a session from now on, and make its magic known."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow reads it when it is imported
    cells = Cells(shell)
    shell.events.register("pre_run_cell", cells.check)
    shell.__dict__.setdefault("_tpulint_cells", []).append(cells)
    shell.register_magic_function(partial(run_cell, shell, cells), "cell", MAGIC)


def unload(shell: Shell) -> None:
    for cells in shell.__dict__.pop("_tpulint_cells", ()):
        shell.events.unregister("pre_run_cell", cells.check)


# `%%tpulint_run`: a cell under the emulator, in the namespace of the session.


def run_cell(shell: Shell, cells: Cells, line: str, cell: str) -> object:
    """Run the cell on an emulated TPU, write the report, and return the value of its last line."""
    from tpulint.run.session import Machine

    options = options_of(line)
    try:
        from tpulint.runtime.run_statistics import running
    except ModuleNotFoundError as missing:
        if missing.name != "tensorflow":
            raise
        print(f"tpulint: TensorFlow is not installed: {install('runtime')}")
        return None
    replicas = 8 * options.hosts
    if options.replicas is not None or options.topology is not None:
        replicas = options.replicas
    machine = Machine(replicas, options.topology, options.hosts)
    started = time.monotonic()
    ended_by: BaseException | None = None
    with running(replicas, options.topology, options.deadline, options.hosts) as watch:
        try:
            return executed(shell, cell)
        except BaseException as error:
            ended_by = error
            raise
        finally:
            seconds = time.monotonic() - started
            print(report_of(shell, cells, machine, seconds, watch, ended_by))


def options_of(line: str) -> argparse.Namespace:
    """Return the options of the magic, which are those of `tpulint run`."""
    parser = argparse.ArgumentParser(
        f"%%{MAGIC}", add_help=False, allow_abbrev=False, exit_on_error=False
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--replicas", type=int)
    size.add_argument("--topology")
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--deadline", type=float)
    try:
        options, unknown = parser.parse_known_args(shlex.split(line))
    except argparse.ArgumentError as error:
        raise ValueError(f"%%{MAGIC}: {error}") from None
    if unknown:
        raise ValueError(f"%%{MAGIC}: unknown arguments: {' '.join(unknown)}")
    return options


def running_number(shell: Shell) -> int:
    """Return the number of the cell that runs; the shell may have counted on already."""
    return len(shell.history_manager.input_hist_raw) - 1


def executed(shell: Shell, cell: str) -> object:
    """Run the cell as IPython does, and return the value of its last line."""
    text = shell.transform_cell(cell)
    name = shell.compile.cache(text, running_number(shell), raw_code=cell)
    tree = ast.parse(text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), shell.user_ns)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns)


def report_of(
    shell: Shell,
    cells: Cells,
    machine: Machine,
    seconds: float,
    watch: Watch,
    error: BaseException | None,
) -> str:
    """Return the report that `tpulint run` writes, with the finding in the cells for a fault."""
    from tpulint.run import session
    from tpulint.run.failure import failure_of
    from tpulint.run.report import FinishedRun, RunFault, text

    unseen = session.unseen_errors(watch, [error])
    problems = map(failure_of, (*watch.warnings.values(), error, *unseen))
    failures = [failure for failure in problems if failure is not None]
    result = cells.result() if failures else None
    findings = result.findings if result else []
    faults = []
    for failure in failures:
        same = [finding for finding in findings if finding.code in failure.rules]
        if same:
            faults.append(RunFault(failure.kind, same[0].code, failure.place, same[0]))
        elif failure.code:
            faults.append(RunFault(failure.kind, failure.code, failure.place, None))
    ran = FinishedRun(
        f"In [{running_number(shell)}]",
        str(machine),
        int(error is not None),
        seconds,
        session.computation_rows(watch),
        tuple(faults),
        notes=(
            *session.unseen_notes(unseen, watch, failed=error is not None),
            *session.warnings_without_rule(watch),
        ),
    )
    written = text(ran, RenderContext(os.getcwd(), result.context.sources if result else {}))
    for name, number in getattr(shell.compile, "_filename_map", {}).items():
        written = written.replace(f"{name}:", f"In [{number}]:")
    return written
