"""`tpulint run`: the story of a program that runs under the emulator."""

from __future__ import annotations

import argparse
import atexit
import importlib.util
import os
import sys

from tpulint.cli.run.after_import import after_import
from tpulint.cli.run.program import OUR_FAULT, CannotRun, UserProgram, execute
from tpulint.cli.run.session import Machine, RunRequest, RunSession
from tpulint.config import ConfigError

REPLICAS = 8  # the cores of one host, which is the smallest TPU that most programs are written for
PAGE = "tpulint-run.html"


def run(options: argparse.Namespace) -> int:
    """Run the program, have its report written at the end, and return its exit status."""
    request = request_of(options)
    if importlib.util.find_spec("tensorflow") is None:
        raise ConfigError("run: TensorFlow is not installed: pip install 'tpulint[runtime]'")
    session = RunSession(request)
    session.note_threads()
    session.interrupts.listen()
    after_import("tensorflow", session.emulate)
    # Registered first, and so called last: after the program's threads and its own last words.
    atexit.register(session.tell)
    try:
        session.ended = execute(request.program, session.interrupts.take)
    except CannotRun as problem:
        atexit.unregister(session.tell)
        cause = problem.__cause__
        if isinstance(cause, ValueError):  # there is no such machine
            raise ConfigError(f"run: {cause}") from None
        from tpulint.pipeline.failure import describe

        print(f"tpulint: internal error: {describe(cause or problem)}", file=sys.stderr)
        return OUR_FAULT
    session.explain()
    return session.ended.status


def request_of(options: argparse.Namespace) -> RunRequest:
    """The request. Raises ConfigError for values and combinations that make no sense."""
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
    machine = Machine(replicas, options.topology, hosts, workers, options.processes)
    return RunRequest(program, machine, options.deadline, options.report, file)
