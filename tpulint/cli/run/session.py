"""One run of a program: what is open while it lasts, and what is known of it at its end."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tpulint.cli.run.program import CannotRun, Ended, Program

if TYPE_CHECKING:
    from tpulint.cli.run.explain import Explained
    from tpulint.output.run_report import Computation, Ran
    from tpulint.runtime.running import Totals, Watch


class Request(NamedTuple):
    """The settings of a run: program, cores, seconds for a step, and the report's format.

    Without a `file` it goes to standard error.
    """

    program: Program
    replicas: int | None
    topology: str | None
    deadline: float | None
    report: str
    file: str | None


class Session:
    """The run of `request`, from now on."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.here = os.getcwd()
        self.process = os.getpid()
        self.started = time.monotonic()
        self.open = ExitStack()
        self.watch: Watch | None = None
        self.ended = Ended(0)
        self.of_threads: list[BaseException] = []
        self.explained: Explained | None = None

    def emulate(self) -> None:
        """Starts the emulator: TensorFlow has just been imported."""
        try:
            from tpulint.runtime.running import running

            asked = self.request
            machine = running(asked.replicas, asked.topology, asked.deadline)
            self.watch = self.open.enter_context(machine)
        except Exception as error:
            raise CannotRun from error

    def note_threads(self) -> None:
        """From now on, notes also what ends a thread of the program."""
        show = threading.excepthook

        def note(ended: threading.ExceptHookArgs) -> None:
            if ended.exc_value is not None:
                self.of_threads.append(ended.exc_value)
            show(ended)

        threading.excepthook = note

    def explain(self) -> None:
        """Asks the analyzer of what failed. It works in threads, so this is no time of `tell`."""
        if self.watch is None or self.process != os.getpid():
            return
        from tpulint.cli.run.explain import explain
        from tpulint.cli.run.failure import failure_of

        told = [*self.watch.warnings.values(), *self.of_threads, self.ended.error]
        failures = [each for each in map(failure_of, told) if each is not None]
        if failures:
            with working_in(self.here):
                self.explained = explain(failures, self.request.program.name)

    def tell(self) -> None:
        """Ends the emulation and writes the report; a fork of the process has nothing to tell."""
        if self.process != os.getpid():
            return
        self.open.close()
        from tpulint.output import run_report
        from tpulint.output.context import Context

        with working_in(self.here):
            sources = self.explained.sources if self.explained else {}
            form = run_report.html if self.request.report == "html" else run_report.text
            written = form(self.ran(), Context(self.here, sources))
            self.write(written)

    def ran(self) -> Ran:
        """Return the report."""
        from tpulint.output.run_report import Ran

        request = self.request
        replicas = "1 replica" if request.replicas == 1 else f"{request.replicas} replicas"
        computations = self.watch.computations if self.watch else {}
        return Ran(
            f"-m {request.program.name}" if request.program.is_module else request.program.name,
            f"topology {request.topology}" if request.topology else replicas,
            self.ended.status,
            time.monotonic() - self.started,
            tuple(computation(place, totals) for place, totals in computations.items()),
            self.explained.faults if self.explained else (),
            self.explained.messages if self.explained else (),
        )

    def write(self, report: str) -> None:
        """Writes it to its file, or to the standard error that the process was started with."""
        file = self.request.file
        if file is None:
            say(report)
            return
        try:
            with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(report)
        except OSError as error:
            say(f"tpulint: {file}: cannot write the report: {error.strerror}\n")
        else:
            from tpulint.pipeline.discover import shown

            say(f"tpulint: the report is in {shown(file)}\n")


def computation(place: str | None, totals: Totals) -> Computation:
    """The row of a computation and those of its lanes."""
    from tpulint.cli.run.explain import shown_place
    from tpulint.output.run_report import Computation, Lane

    lanes = tuple(
        Lane(
            name,
            shown_place(total.place or "") if name != "device" else "",
            total.runs,
            total.round_trips,
            total.bytes_to_host,
            total.bytes_to_device,
            total.seconds,
        )
        for name, total in sorted(totals.lanes.items())
    )
    return Computation(shown_place(place or "") or "built by a library", len(totals.steps), lanes)


def say(text: str) -> None:
    """Writes to standard error, whatever the program has made of `sys.stderr`."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be closed
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "surrogateescape"))


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """In here, relative paths mean what they meant when the program began."""
    try:
        before = os.getcwd()
    except OSError:  # the program has removed it
        before = folder
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
