"""`tpulint run` and `tpulint worker`: a program under the emulator, and one host of a pod."""

from __future__ import annotations

import argparse
import atexit
import importlib.util
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import ModuleType

from tpulint.config import ConfigError
from tpulint.incremental.model import describe
from tpulint.installation import install
from tpulint.run.program import INTERRUPTED, OUR_FAULT, CannotRun, UserProgram, execute
from tpulint.run.session import Machine, RunRequest, RunSession
from tpulint.storage.session import CLOUD, serving

# `tpulint run`: the story of a program that runs under the emulator.

REPLICAS = 8  # the cores of one host, which is the smallest TPU that most programs are written for
PAGE = "tpulint-run.html"


def run(options: argparse.Namespace) -> int:
    """Run the program, have its report written at the end, and return its exit status."""
    request = request_of(options)
    require_packages("run", request.storage)
    session = RunSession(request)
    session.note_threads()
    session.interrupts.listen()
    session.surround()
    if not options.verbose:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    around = nullcontext if options.verbose else without_startup_messages
    after_import("tensorflow", session.emulate, around)
    # Registered first, and so called last: after the program's threads and its own last words.
    atexit.register(session.finish)
    try:
        session.ended = execute(request.program, session.interrupts.take, session.notes.append)
    except CannotRun as problem:
        atexit.unregister(session.finish)
        cause = problem.__cause__
        if isinstance(cause, ValueError):  # there is no such machine
            raise ConfigError(f"run: {cause}") from None
        print(f"tpulint: internal error: {describe(cause or problem)}", file=sys.stderr)
        return OUR_FAULT
    session.explain()
    return session.ended.status


def require_packages(command: str, storage: str | None) -> None:
    """Raise ConfigError where a package of the extra `runtime` is missing."""
    if importlib.util.find_spec("tensorflow") is None:
        raise ConfigError(f"{command}: TensorFlow is not installed: {install('runtime')}")
    # Nothing may reach a bucket in the cloud because a package is missing here.
    if storage != CLOUD and importlib.util.find_spec("trustme") is None:
        raise ConfigError(
            f"{command}: trustme, which serves `gs://`, is not installed: {install('runtime')}"
            " (or leave `gs://` alone: --storage cloud)"
        )


def request_of(options: argparse.Namespace) -> RunRequest:
    """Return the request. Raises ConfigError for values and combinations that make no sense."""
    words = options.module if options.module is not None else options.program
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        raise ConfigError("run: give the SCRIPT to run, or -m MODULE")
    program = UserProgram(words[0], options.module is not None, tuple(words[1:]))
    if not program.is_module and not os.path.exists(program.name):
        raise ConfigError(f"run: {program.name}: no such file or directory")
    replicas = options.replicas
    if replicas is not None and replicas < 1:
        raise ConfigError("--replicas: must be a whole number from 1")
    workers = tuple(options.workers.split(",")) if options.workers is not None else ()
    hosts = len(workers) or (1 if options.hosts is None else options.hosts)
    if hosts < 1:
        raise ConfigError("--hosts: must be a whole number from 1")
    if options.processes and options.hosts is None:
        raise ConfigError("--processes: give the number of --hosts, too")
    if replicas is None and options.topology is None:
        replicas = REPLICAS * hosts
    if options.deadline is not None and not options.deadline > 0:
        raise ConfigError("--deadline: must be more than 0 seconds")
    file = options.report_file or (PAGE if options.report == "html" else None)
    if file is not None:
        file = os.path.abspath(file)
        if os.path.isdir(file) or not os.path.isdir(os.path.dirname(file)):
            raise ConfigError(f"--report-file: {options.report_file}: no place for a file")
    machine = Machine(replicas, options.topology, hosts, workers, options.processes, options.remote)
    storage = options.storage
    if storage == CLOUD and options.cloud_reads:
        raise ConfigError("--cloud-reads: `--storage cloud` reads and writes the cloud already")
    if storage not in (None, CLOUD) and os.path.lexists(storage) and not os.path.isdir(storage):
        raise ConfigError(f"--storage: {storage}: not a directory")
    return RunRequest(
        program,
        machine,
        options.deadline,
        options.report,
        file,
        storage,
        options.cloud_reads,
        options.device,
        options.compile,
    )


# `tpulint worker`: one host of an emulated pod, for programs on this and on other machines.


def worker(options: argparse.Namespace) -> int:
    """Serve at the port until Ctrl-C; the answer is the exit status.

    The storage is what `tpulint run` has: the host reads the files of its own machine.
    """
    port, storage = options.port, options.storage
    if not 0 <= port < 2**16:
        raise ConfigError("--port: must be a whole number below 65536, or 0 for any that is free")
    require_packages("worker", storage)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from tpulint.runtime.pods.workers import serve

    with serving(storage):
        try:
            address = serve(port)
        except OSError as problem:
            raise ConfigError(f"worker: {problem}") from None
        print(f"tpulint: a host of a pod is at port {address.rpartition(':')[2]}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            os._exit(INTERRUPTED)  # TensorFlow's server ends with the process only
    return 0


# Call a function as soon as a module has been imported, by whomever and whenever.
#
# So a program meets TensorFlow when it asks for it: what it sets in `os.environ` before counts, and
# one that only prints its help never waits for TensorFlow.


def after_import(
    name: str,
    do: Callable[[], None],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    """Call `do` once, when the module `name` has been imported; at once where it is already.

    The module is imported in the context that `around` gives.
    """
    if name in sys.modules:
        do()
    else:
        sys.meta_path.insert(0, _Watcher(name, do, around))


# What TensorFlow writes to standard error before it reads TF_CPP_MIN_LOG_LEVEL: informational
# lines of abseil, and the line that announces them.
STARTUP = re.compile(rb"I0000 |[WE]0000 .*cu|WARNING: All log messages before absl::Init")


@contextmanager
def without_startup_messages() -> Iterator[None]:
    """Leave out the lines of STARTUP of what is written to standard error meanwhile."""
    try:
        sys.stderr.flush()
        before = os.dup(2)
    except (AttributeError, OSError):  # it is closed
        yield
        return
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
            written.seek(0)
            for line in written:
                if not STARTUP.match(line):
                    sys.stderr.buffer.write(line)
            sys.stderr.flush()


@dataclass(eq=False)
class _Watcher:
    """A finder of modules, as `sys.meta_path` holds them."""

    name: str
    do: Callable[[], None]
    around: Callable[[], AbstractContextManager[None]]
    asks_others: bool = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name or self.asks_others:
            return None
        self.asks_others = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.asks_others = False
        if spec is not None and spec.loader is not None:
            self.follow(spec.loader.exec_module, spec)
        return spec

    def follow(self, execute: Callable[[ModuleType], None], spec: ModuleSpec) -> None:
        def exec_module(module: ModuleType) -> None:
            # Not before: programs ask for the spec alone, to see whether the module is installed.
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            with self.around():
                execute(module)
            self.do()

        # On this one loader: it keeps its class, by which others know how to read the source.
        vars(spec.loader)["exec_module"] = exec_module
