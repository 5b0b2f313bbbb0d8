"""`tpulint check`: from the options to a request, and from what was found to what is said."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from tpulint.cache_dir import tag
from tpulint.config import Config, ConfigError, certainty, codes, find_config, load_config, target
from tpulint.diagnostics.rule_selection import Layer, selected
from tpulint.finding import Finding
from tpulint.output.context import Context
from tpulint.pipeline import driver
from tpulint.pipeline.discover import shown

if TYPE_CHECKING:
    from tpulint.source import Source


def check(options: argparse.Namespace) -> int:
    """Runs the check and says what it found; the answer is the exit status."""
    request = request_of(options)
    task, run = driver.prepare(request)
    if options.add_suppressions is not None and not options.add_suppressions.strip():
        raise ConfigError("--add-suppressions: give the reason in words")
    if options.fix or options.diff:
        return mend(options, task, run)
    run = driver.check(task, run, {})
    if request.cache:
        tag(request.cache)
    if options.write_baseline:
        return write_baseline(options.write_baseline, run)
    if options.add_suppressions:
        return add_suppressions(options.add_suppressions, run)
    return tell(options, run, 0, sys.stdout)


def tell(options: argparse.Namespace, run: driver.Run, fixed: int, stream: TextIO) -> int:
    """Writes the findings in the asked format, and what else there is to standard error."""
    from tpulint.output import load
    from tpulint.output.color import wanted
    from tpulint.output.text import hidden_line, statistics

    driver.say(run.messages)
    plain = options.output_format not in ("text", "full")
    color = not plain and options.output_file is None and wanted(sys.stdout)
    context = Context(os.getcwd(), run.sources, run.hidden, fixed, color)
    if options.statistics:
        written = statistics(run.findings)
    else:
        written = load(options.output_format)(run.findings, context)
    if run.hidden and (plain or options.statistics):
        driver.say([hidden_line(run.hidden)])
    if options.output_file is not None:
        write_file(options.output_file, written.encode("utf-8", "surrogateescape"))
    else:
        out(written, stream)
    return status(options, run, bool(run.findings))


def status(options: argparse.Namespace, run: driver.Run, found: bool) -> int:
    if run.failed:
        return 2
    return 1 if found and not options.exit_zero else 0


def out(text: str, stream: TextIO) -> None:
    """Writes UTF-8 whatever the locale says, as the files that the findings come from."""
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()


def mend(options: argparse.Namespace, task: driver.Task, run: driver.Run) -> int:
    """--fix and --diff."""
    from tpulint.diagnostics.fix import difference, fix_all

    last = run

    def again(given: Mapping[str, bytes]) -> tuple[Sequence[Finding], Mapping[str, Source]]:
        nonlocal last
        last = driver.check(task, run, given)
        return last.findings, last.sources

    fixed = fix_all(again, options.unsafe_fixes)
    last.messages += fixed.messages
    stdin = task.request.stdin
    if options.diff:
        driver.say(last.messages)
        for filename, data in sorted(fixed.files.items()):
            out(difference(fixed.originals[filename], data), sys.stdout)
        return status(options, last, bool(fixed.files))
    if stdin is not None:
        name = task.request.stdin_filename
        sys.stdout.buffer.write(fixed.files.get(name, stdin))
        return tell(options, last, fixed.counts.total(), sys.stderr)
    for filename, data in sorted(fixed.files.items()):
        if not overwrite(filename, fixed.originals[filename], data, last):
            del fixed.counts[filename]
    return tell(options, last, fixed.counts.total(), sys.stdout)


def overwrite(filename: str, before: Source, data: bytes, run: driver.Run) -> bool:
    """Replaces the file, unless somebody else changed it meanwhile."""
    try:
        with open(filename, "rb") as file:
            if file.read() != before.data:
                raise OSError(0, "it changed while tpulint ran; nothing was written")
        write_file(filename, data)
    except (OSError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        driver.fail(run, f"{filename}: cannot write the file: {reason}")
        return False
    return True


def write_file(path: str, data: bytes) -> None:
    """Writes beside the file and moves it there, so that no half-written file is ever seen."""
    import tempfile

    goal = os.path.realpath(path)
    if os.path.exists(goal) and not os.path.isfile(goal):
        with open(goal, "wb") as file:  # a device or a pipe
            file.write(data)
        return
    try:
        mode = os.stat(goal).st_mode & 0o7777 if os.path.exists(goal) else None
        os.makedirs(os.path.dirname(goal), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(goal), prefix=".tpulint-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o666 & ~umask() if mode is None else mode)
            os.replace(temporary, goal)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise ConfigError(f"{path}: cannot write: {error.strerror or error}") from None


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def write_baseline(path: str, run: driver.Run) -> int:
    from tpulint.diagnostics import baseline

    driver.say(run.messages)
    write_file(path, baseline.write(run.findings, run.sources, path).encode())
    number = len(run.findings)
    print(f"Wrote {number} {'finding' if number == 1 else 'findings'} to {path}.")
    return 2 if run.failed else 0


def add_suppressions(reason: str, run: driver.Run) -> int:
    from tpulint.diagnostics.annotate import annotate

    added = 0
    for filename, (data, number) in annotate(run.findings, run.sources, reason).items():
        if data is None:
            driver.fail(run, f"{filename}: no place for a suppression comment")
        elif overwrite(filename, run.sources[filename], data, run):
            added += number
    driver.say(run.messages)
    print(f"Added {added} {'suppression' if added == 1 else 'suppressions'}.")
    return 2 if run.failed else 0


def request_of(options: argparse.Namespace) -> driver.Request:
    """The request. Raises ConfigError for values and combinations that make no sense."""
    paths = tuple(options.paths) or (".",)
    stdin = None
    if driver.STDIN in paths:
        if paths != (driver.STDIN,):
            raise ConfigError("- (standard input) cannot stand beside other paths")
        if options.write_baseline or options.add_suppressions:
            raise ConfigError("- goes with neither --write-baseline nor --add-suppressions")
    elif options.stdin_filename:
        raise ConfigError("--stdin-filename goes with - only")
    if options.unsafe_fixes and not (options.fix or options.diff):
        options.fix = not (options.statistics or options.write_baseline or options.add_suppressions)
    config = configuration(options, start_of(paths, options.stdin_filename))
    if driver.STDIN in paths:
        stdin = sys.stdin.buffer.read()
    layers = [
        Layer(config.select, config.extend_select, config.ignore),
        Layer(
            None if options.select is None else listed("--select", options.select),
            listed("--extend-select", options.extend_select),
            listed("--ignore", options.ignore),
        ),
    ]
    return driver.Request(
        config,
        selected(layers),
        paths,
        stdin,
        shown(options.stdin_filename) if options.stdin_filename else driver.STDIN,
        options.force_exclude,
        None if options.write_baseline else baseline_of(options, config),
        None if options.no_cache else cache_directory(options, config),
    )


def configuration(options: argparse.Namespace, start: str) -> Config:
    """The configuration file's words, and over them the command line's."""
    if options.isolated:
        config = Config(root=os.getcwd())
    else:
        config = load_config(options.config) if options.config else find_config(start)
    given = vars(options)
    if given.get("certainty"):
        config = config._replace(certainty=certainty(given["certainty"]))
    if given.get("target_tensorflow"):
        try:
            config = config._replace(target_tensorflow=target(given["target_tensorflow"]))
        except ConfigError as error:
            raise ConfigError(f"--target-tensorflow: {error}") from None
    jobs = given.get("jobs")
    if jobs is not None:
        if jobs < 1:
            raise ConfigError("--jobs: must be a whole number from 1")
        config = config._replace(jobs=jobs)
    return config


def start_of(paths: Sequence[str], stdin_filename: str | None) -> str:
    """The directory that the search for a configuration starts from: where all paths meet."""
    if paths == (driver.STDIN,):
        return os.path.dirname(os.path.abspath(stdin_filename)) if stdin_filename else os.getcwd()
    full = [os.path.abspath(path) for path in paths]
    above = [path if os.path.isdir(path) else os.path.dirname(path) for path in full]
    return os.path.commonpath(above)


def listed(option: str, value: str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    try:
        return codes([word for word in value.replace(" ", ",").split(",") if word])
    except ConfigError as error:
        raise ConfigError(f"{option}: {error}") from None


def baseline_of(options: argparse.Namespace, config: Config) -> str | None:
    return str(options.baseline) if options.baseline else config.baseline_path


def cache_directory(options: argparse.Namespace, config: Config) -> str:
    given = vars(options).get("cache_dir") or os.environ.get("TPULINT_CACHE_DIR")
    return str(given) if given else config.cache_path
