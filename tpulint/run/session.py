"""One run of a program: what is open while it lasts, and what is known of it at its end."""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from tpulint.check.discover import shown
from tpulint.hardware import DEVICES
from tpulint.incremental.model import describe
from tpulint.output.context import RenderContext
from tpulint.run import failure, report
from tpulint.run.cost import StepCost, cost_of
from tpulint.run.interrupt import Interrupts
from tpulint.run.program import INTERRUPTED, CannotRun, Ended, UserProgram
from tpulint.run.surroundings import StandIns, prepare
from tpulint.storage.session import CLOUD, DEFAULT_FOLDER, ServedStorage, StorageUse, serving

if TYPE_CHECKING:
    from tpulint.run.explain import Explained
    from tpulint.runtime.execute.probes import Traced, UnfinishedSegment
    from tpulint.runtime.run_statistics import Totals, Watch

GS_PATH = re.compile(r"gs://[^\s'\"`,;)\]}]*[^\s'\"`,;:.)\]}]")


class Machine(NamedTuple):
    """The TPU that a run is on: so many replicas or a topology, on so many hosts.

    They are in this process, or those at the addresses `workers`, or processes to be started. If
    it is `remote`, they have none of this machine's files, and a single host is another machine.
    """

    replicas: int | None
    topology: str | None
    hosts: int
    workers: tuple[str, ...] = ()
    processes: bool = False
    remote: bool = False

    @property
    def is_pod(self) -> bool:
        """Return whether the hosts are other machines to the program."""
        return self.hosts > 1 or bool(self.workers) or self.processes or self.remote

    def __str__(self) -> str:
        replicas = "1 replica" if self.replicas == 1 else f"{self.replicas} replicas"
        cores = f"topology {self.topology}" if self.topology else replicas
        hosts = "" if self.hosts == 1 else f", {self.hosts} hosts"
        return f"{cores}{hosts}, remote" if self.remote else f"{cores}{hosts}"


class RunRequest(NamedTuple):
    """The settings of a run: program, cores, seconds for a step, and the report's format.

    Without a `file` it goes to standard error. `storage` is the directory of the buckets, None for
    the default one. reads_cloud: what is missing there is copied from the cloud. `device`: the TPU
    whose costs are reported. `compile`: whether XLA compiles device programs, or only checks them.
    """

    program: UserProgram
    machine: Machine
    deadline: float | None
    report: str
    file: str | None
    storage: str | None = None
    reads_cloud: bool = False
    device: str | None = None
    compile: Literal["always", "never"] = "always"


class RunSession:
    """The run of `request`, from now on."""

    def __init__(self, request: RunRequest) -> None:
        self.request = request
        self.here = os.getcwd()
        self.process = os.getpid()
        self.started = time.monotonic()
        self.open = ExitStack()
        self.watch: Watch | None = None
        self.storage: ServedStorage | None = None
        self.stand_ins: StandIns | None = None
        self.ended = Ended(0)
        self.of_threads: list[BaseException] = []
        self.explained: Explained | None = None
        self.costs: tuple[StepCost, ...] = ()
        self.notes: list[str] = []
        self.interrupts = Interrupts(self.report_interrupted)
        self.reporting = threading.Lock()

    def emulate(self) -> None:
        """Start the emulator: TensorFlow has just been imported."""
        try:
            from tpulint.runtime.pods.workers import start_workers
            from tpulint.runtime.run_statistics import running

            replicas, topology, hosts, workers, processes, remote = self.request.machine
            if processes:
                workers = start_workers(hosts)
            machine = running(
                replicas,
                topology,
                self.request.deadline,
                hosts,
                workers,
                costs=self.request.device is not None,
                compile=self.request.compile,
                remote=remote,
                storage=self.storage.activity.seconds if self.storage else None,
            )
            self.watch = self.interrupts.watch = self.open.enter_context(machine)
        except Exception as error:
            raise CannotRun from error

    def surround(self) -> None:
        """Serve `gs://` from a directory, and be Colab and Kaggle: the program has not begun."""
        named = self.request.storage
        folder = DEFAULT_FOLDER if named is None or named == CLOUD else named
        self.stand_ins = prepare(os.path.abspath(folder))
        served = serving(self.request.storage, reads_cloud=self.request.reads_cloud)
        self.storage = self.open.enter_context(served)

    def note_threads(self) -> None:
        """Note also, from now on, what ends a thread of the program."""
        show = threading.excepthook

        def note(ended: threading.ExceptHookArgs) -> None:
            if ended.exc_value is not None:
                failure.strip_tpulint_frames(ended.exc_value)
                self.of_threads.append(ended.exc_value)
            show(ended)

        threading.excepthook = note

    def explain(self) -> None:
        """Ask the analyzer about what failed, before `finish`: it works in threads."""
        interrupted = isinstance(self.ended.error, KeyboardInterrupt)
        if self.watch is None or self.process != os.getpid() or interrupted:
            return
        from tpulint.run.explain import explain, files_that_ran, release_that_ran
        from tpulint.runtime.emulator import current_part
        from tpulint.runtime.execute.comparisons import KeptCopies

        current_part(KeptCopies).show()
        self.count_costs(self.watch)
        unseen = unseen_errors(self.watch, (*self.of_threads, self.ended.error))
        errors = [*self.watch.warnings.values(), *self.of_threads, self.ended.error, *unseen]
        failures = [error for error in map(failure.failure_of, errors) if error is not None]
        failures += recompilations(self.watch)
        self.notes += unseen_notes(unseen, self.watch, failed=bool(self.ended.status))
        self.notes += warnings_without_rule(self.watch)
        if self.request.compile == "never" and self.watch.segments:
            self.notes.append(uncompiled_note(self.watch.segments))
        program = self.request.program
        with working_in(self.here):
            try:
                own, main = program.own_paths(), os.path.abspath(program.main_file())
                is_file = main.endswith((".py", ".ipynb")) and os.path.isfile(main)
                ran = tuple(sorted({*files_that_ran(own), *([main] if is_file else [])}))
                release = release_that_ran()
                self.explained = explain(failures, main, ran, release, own) if ran else None
            except Exception as error:  # what the program has done counts, and is reported
                self.notes.append(f"`tpulint check` could not be asked: {describe(error)}")

    def count_costs(self, watch: Watch) -> None:
        """Count what a step costs on the device that was asked for."""
        if self.request.device is None:
            return
        device = DEVICES[self.request.device]
        try:
            with working_in(self.here):
                self.costs = tuple(
                    cost_of(work, device, report.shown_place) for work in watch.works()
                )
        except Exception as error:  # what the program has done counts, and is reported
            self.notes.append(f"The costs could not be counted: {describe(error)}")

    def finish(self) -> None:
        """End the emulation and write the report; a fork of the process has nothing to tell."""
        if self.process != os.getpid() or not self.reporting.acquire(blocking=False):
            return
        if isinstance(self.ended.error, KeyboardInterrupt):
            self.write_report()
            os._exit(INTERRUPTED)  # TensorFlow takes its time to end, and waits for host functions
        still_runs = self.watch is not None and bool(self.watch.unfinished())
        try:
            self.open.close()
        finally:
            self.write_report()
        if still_runs and self.ended.status:
            # A thread of TensorFlow's that asks for the interpreter while this ends aborts the
            # process: CPython ends such a thread, which C++ does not allow.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.ended.status)

    def report_interrupted(self) -> None:
        """Write the report of a program that Ctrl-C ends while its main thread cannot move."""
        if self.reporting.acquire(blocking=False):
            self.ended = Ended(INTERRUPTED)
            self.write_report()

    def write_report(self) -> None:
        """Write what is known of the run to its file, or to the first standard error."""
        if self.storage is not None:
            self.storage.close()
        if self.stand_ins is not None:
            self.stand_ins.close()
        with working_in(self.here):
            sources = self.explained.sources if self.explained else {}
            forms = {"html": report.html, "json": report.json_text, "text": report.text}
            written = forms[self.request.report](self.ran(), RenderContext(self.here, sources))
            self._write(written)

    def _write(self, text: str) -> None:
        file = self.request.file
        if file is None:
            failure.write_stderr(text)
            return
        try:
            with open(file, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.write(text)
        except OSError as error:
            failure.write_stderr(f"tpulint: {file}: cannot write the report: {error.strerror}\n")
        else:
            failure.write_stderr(f"tpulint: the report is in {shown(file)}\n")

    def ran(self) -> report.FinishedRun:
        request, storage, watch = self.request, self.storage, self.watch
        explained, error = self.explained, self.ended.error
        return report.FinishedRun(
            f"-m {request.program.name}" if request.program.is_module else request.program.name,
            str(request.machine),
            self.ended.status,
            time.monotonic() - self.started,
            computation_rows(watch) if watch else (),
            explained.faults if explained else (),
            unfinished(watch.unfinished()) if watch else (),
            (
                *self.notes,
                *(explained.messages if explained else ()),
                *failure.missing_estimator(error),
                *failure.other_number_of_replicas(error, request.machine.replicas),
                *failure.unconnected(error, on_a_pod=request.machine.is_pod),
                *(storage.problems if storage else ()),
                *(self.stand_ins.notes() if self.stand_ins else ()),
                *missing_objects([*self.of_threads, error], storage),
            ),
            explained.checked if explained else None,
            storage_uses(storage, watch) if storage else (),
            host_reads(watch) if watch else (),
            self.costs,
        )


def unseen_errors(watch: Watch, seen_errors: Iterable[BaseException | None]) -> list[Exception]:
    """Return the errors of steps that are none of those that ended the program or its threads.

    The program has handled them; or TensorFlow has raised, in their place, those of the queues and
    threads that a failed step leaves.
    """
    from tpulint.runtime.errors import RuntimeFault

    def identity(error: BaseException) -> object:
        place = getattr(error, "place", None)  # the program's own errors may have any
        return (type(error).__name__, place) if isinstance(place, str) else id(error)

    seen = {identity(link) for error in seen_errors for link in failure.chain_of(error)}
    # An error of TensorFlow's that belongs to no rule may be how the program finds out something.
    return [
        error
        for error in watch.errors.values()
        if identity(error) not in seen
        and (isinstance(error, RuntimeFault) or failure.failure_of(error))
    ]


def unseen_notes(unseen: Sequence[Exception], watch: Watch, *, failed: bool) -> Iterator[str]:
    """Yield what to say of the errors that did not end the program."""
    first = next(iter(watch.errors.values()), None)
    for error in unseen:
        kind, text, place = type(error).__name__, str(error), getattr(error, "place", None)
        if error is first and failed:
            yield f"The first fault was another one than ended the program: {kind}: {text}"
        else:
            at = f" (at {report.shown_place(place)})" if place else ""
            yield f"A step failed, and the program went on: {kind}: {text.splitlines()[0]}{at}"


def uncompiled_note(segments: Mapping[tuple[str | None, bool], int]) -> str:
    """Return what `--compile never` did; `segments` counts those compiled (true) and the others."""
    number = sum(segments.values())
    checked = sum(number for (_, is_compiled), number in segments.items() if not is_compiled)
    parts = f"{checked} of {number} parts, which TensorFlow's kernels ran."
    note = f"--compile never: of the device programs, XLA only checked {parts}"
    if checked == number:
        return note
    return (
        f"{note} It compiled the rest: shapes are not known before the step, TensorFlow has no "
        "kernel for an operation, or XLA refuses it."
    )


def missing_objects(
    errors: Sequence[BaseException | None], storage: ServedStorage | None
) -> Iterator[str]:
    """Yield what to copy where, for each object that an error names and that is not there."""
    links = [link for error in errors for link in failure.chain_of(error)] if storage else []
    paths = {path: link for link in links for path in GS_PATH.findall(str(link))}
    for path, link in paths.items():
        if isinstance(link, OSError) and link.errno == errno.ENOENT:  # the system's own word
            yield (
                f"{path} was opened as a local file: Python and its libraries open no gs:// path; "
                "use tf.io.gfile, or a local file and tf.io.gfile.copy"
            )
        elif storage and (place := storage.place_of_missing(path)):
            is_bucket = "/" not in path.removeprefix("gs://").rstrip("/")
            remedy = "make the folder" if is_bucket else "copy a sample to"
            folder = shown(storage.folder)
            yield f"{path} is not in {folder}: {remedy} {shown(place)}, or use --cloud-reads"


def storage_uses(storage: ServedStorage, watch: Watch | None) -> tuple[StorageUse, ...]:
    """Return what the run did with each bucket, with the waits of its steps."""
    if watch is None or watch.waits is None:
        return storage.uses
    waits = list(zip(watch.waits.steps, watch.waits.seconds))
    uses = []
    for use in storage.uses:
        slot = storage.activity.buckets.get(use.bucket, len(waits))
        steps, seconds = waits[slot] if slot < len(waits) else (0, 0.0)
        uses.append(use._replace(steps_waited=steps, seconds_waited=seconds))
    return tuple(uses)


def warnings_without_rule(watch: Watch) -> Iterator[str]:
    """Yield the runtime's warnings that no rule covers, which no finding can explain."""
    for warning in watch.warnings.values():
        if not warning.rule:
            yield f"{type(warning).__name__}: {warning}"


def unfinished(segments: Iterable[UnfinishedSegment]) -> tuple[report.UnfinishedLane, ...]:
    """Return the host clusters that had not ended, with the replicas and the line of each."""
    replicas: dict[tuple[str, str, str], list[int]] = {}
    for segment in segments:
        key = (segment.lane, segment.function, report.shown_place(segment.place or ""))
        replicas.setdefault(key, []).append(segment.replica)
    return tuple(report.UnfinishedLane(*key, tuple(numbers)) for key, numbers in replicas.items())


def host_reads(watch: Watch) -> tuple[report.HostReads, ...]:
    """Return what each line has read on the host, the one with the most reads first."""
    reads = (
        report.HostReads(report.shown_place(place or "") or "a library", total.number, total.bytes)
        for place, total in watch.reads.items()
    )
    return tuple(sorted(reads, key=lambda read: (-read.number, read.place)))


def computation_rows(watch: Watch) -> tuple[report.ComputationRun, ...]:
    return tuple(computation(place, totals, watch) for place, totals in watch.computations.items())


def computation(place: str | None, totals: Totals, watch: Watch) -> report.ComputationRun:
    lanes = []
    for name, total in sorted(totals.lanes.items()):
        place_of_lane = report.shown_place(total.place or "") if name != "device" else ""
        counts = (total.runs, total.round_trips, total.bytes_to_host, total.bytes_to_device)
        lanes.append(report.Lane(name, place_of_lane, *counts, total.seconds, total.function))
    return report.ComputationRun(
        report.shown_place(place or "") or "built by a library",
        len(totals.steps),
        tuple(lanes),
        len(totals.builds),
        len(totals.launches),
        totals.input_bytes,
        unfinished(segment for segment in watch.unfinished() if segment.computation == place),
        sum(build.end - build.start for build in totals.builds.values()),
        differing_arguments([build.traced for build in totals.builds.values()]),
        watch.segments[place, True],
        watch.segments[place, False],
    )


SHOWN_VALUES = 3


def differing_arguments(traced: Sequence[Traced | None]) -> tuple[str, ...]:
    """Return a line for each argument of a tf.function that differed between its traces.

    Without one, the same program means that the function is made anew. Other programs are those of
    several functions: Keras' `fit` trains and validates.
    """
    calls = [call for call in traced if call and call.arguments is not None]
    if len(calls) < max(len(traced), 2):
        return ()
    values_by_name: dict[str, dict[str, None]] = {}  # each value once, in the order of the traces
    for call in calls:
        for name, value in call.arguments or ():
            values_by_name.setdefault(name, {})[value] = None
    lines = []
    for name, values in values_by_name.items():
        if len(values) > 1:
            more = ", ..." if len(values) > SHOWN_VALUES else ""
            lines.append(f"`{name}` was {', '.join([*values][:SHOWN_VALUES])}{more}")
    if not lines and len({call.program for call in calls}) == 1:
        return ("its arguments were alike, so the function is made anew",)
    return tuple(lines)


def recompilations(watch: Watch) -> Iterator[failure.RunFailure]:
    """Yield the computations that were compiled again and again, for the analyzer to explain.

    With few of them it has to agree. With more the rule is named whether or not it is silent.
    """
    rules = (report.RECOMPILATION,)
    for place, totals in watch.computations.items():
        *_, last = [build.traced for build in totals.builds.values()]
        if len(totals.builds) > 1 and last is not None:
            code = report.RECOMPILATION if len(totals.builds) > report.MEANT_COMPILATIONS else ""
            yield failure.RunFailure("Recompilation", code, rules, place or "", last.frames)


@contextmanager
def working_in(folder: str) -> Iterator[None]:
    """Resolve relative paths in the context as they were when the program began."""
    try:
        before = os.getcwd()
    except OSError:  # the program has removed it
        before = folder
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
