"""The failure of a program while it ran: its traceback, its place, and hints on its cause."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import runpy
import sys
import traceback as tracebacks
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import FrameType, TracebackType
from typing import NamedTuple

from tpulint.codes import CODES
from tpulint.frontends.tensorflow.knowledge.tables import raised_error, runtime_fault

# Tracebacks as the program's author reads them: without the frames of tpulint.

WHOLE = "TPULINT_TRACEBACK"
_BEGINS = "tpulint cannot run this program"
_HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(os.path.dirname(_HERE), "")
_STARTER = os.path.join(_HERE, "program.py")
_STARTS = frozenset({runpy.__file__, "<frozen runpy>"})


def is_tpulint_file(filename: str) -> bool:
    return filename.startswith(PACKAGE)


def stack_of(frame: FrameType) -> str:
    """Return the lines of the program that `frame` is in, as a traceback shows them."""
    stack = tracebacks.extract_stack(frame)
    starts = [row for row, summary in enumerate(stack) if summary.filename == _STARTER]
    below = stack[max(starts, default=-1) + 1 :]
    users = [summary for summary in below if not is_tpulint_file(summary.filename)]
    shown = [summary for summary in users if summary.filename not in _STARTS]
    return f"Traceback (most recent call last):\n{''.join(tracebacks.format_list(shown))}"


def strip_tpulint_frames(error: BaseException) -> None:
    """Remove our frames from the traceback of `error`, and from those that it came from."""
    for link in _with_causes(error):
        # What has started the program goes in any case.
        entries = list(itertools.dropwhile(_is_of_start, _entries(link.__traceback__)))
        if not shows_all():
            entries = [entry for entry in entries if not is_tpulint_file(_file(entry))]
        for entry, following in zip(entries, [*entries[1:], None]):
            entry.tb_next = following
        link.__traceback__ = entries[0] if entries else None


def internal_error_message(error: BaseException) -> str | None:
    """Return the message for an error of the emulator itself, without a traceback; else None."""
    for link in _with_causes(error):
        if any(
            kind.__qualname__ == "InternalError" and kind.__module__ == "tpulint.runtime.errors"
            for kind in type(link).__mro__
        ):
            lines = str(link).splitlines()
            first = next((i for i, line in enumerate(lines) if _BEGINS in line), 0)
            indent = max(lines[first].find(_BEGINS), 0)
            others = (
                line if line[:indent].strip() else line[indent:] for line in lines[first + 1 :]
            )
            return "\n".join(["tpulint: " + lines[first][indent:], *others])
    return None


def shows_all() -> bool:
    """Return whether tracebacks are asked for with tpulint's own frames."""
    return bool(os.environ.get(WHOLE))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and all that it came from, first what it was raised from, as tracebacks do."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            waiting += [link.__context__, link.__cause__]


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _file(entry: TracebackType) -> str:
    return entry.tb_frame.f_code.co_filename


def _is_of_start(entry: TracebackType) -> bool:
    return _file(entry) in _STARTS or is_tpulint_file(_file(entry))


# Words of tpulint's own on standard error, whatever the program has made of `sys.stderr`.


def write_stderr(text: str) -> None:
    """Write to the standard error that the process was started with."""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be closed
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    with contextlib.suppress(OSError):
        os.write(2, text.encode("utf-8", "surrogateescape"))


# The failure of a program while it ran, and the lines it passed.

LIBRARIES = (PACKAGE, os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""))


class RunFailure(NamedTuple):
    """An error that ended the program, or a warning of the runtime that was given on its way.

    `code` is the rule that it names, or empty for an error that is not the runtime's; `rules` are
    those whose fault raises it. `place` is the user's "file:line", or empty; `frames` are the
    (file, line) that it passed, innermost last. `anywhere`: it is raised far from the fault.
    """

    kind: str
    code: str
    rules: tuple[str, ...]
    place: str
    frames: tuple[tuple[str, int], ...]
    anywhere: bool = False


def failure_of(error: BaseException | None) -> RunFailure | None:
    """Return the runtime's fault that `error` is or came from, or TensorFlow's error of a rule.

    None where no rule covers it.
    """
    faults = (fault_of(link) for link in chain_of(error))
    failures = (failure for failure in faults if failure is not None)
    return next(failures, None) or covered_error(tuple(causes_of(error)))


def fault_of(error: BaseException) -> RunFailure | None:
    code = str(getattr(error, "rule", ""))
    if code not in CODES:
        return None
    place = getattr(error, "place", None) or ""
    rules, anywhere = runtime_fault(code)
    frames = tuple(frames_of(error))
    return RunFailure(type(error).__name__, code, (code, *rules), place, frames, anywhere)


def covered_error(errors: Sequence[BaseException]) -> RunFailure | None:
    """Return the first of `errors` that TensorFlow raises for a fault of a rule, or None.

    Each comes from the one after it.
    """
    frames = tuple(frame for error in reversed(errors) for frame in frames_of(error))
    for error in errors:
        types = {kind.__name__ for kind in type(error).__mro__}
        row = raised_error(types, str(error), (filename for filename, _ in frames))
        if row is not None:
            filename, _, line = str(getattr(error, "place", None) or "").rpartition(":")
            passed = (*frames, (filename, int(line))) if line.isdigit() else frames
            return RunFailure(type(error).__name__, "", row.rules, "", passed, row.anywhere)
    return None


_COPIED = "in user code:\n"


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """Return `error` and what it was raised from. What a program handled is no cause of another."""
    for link in chain_of(error):
        yield link
        # AutoGraph raises a copy of the error, without TensorFlow's frames, in the error's place.
        is_copy = str(link).startswith(_COPIED)
        if link.__cause__ is None and not is_copy and not isinstance(link, SystemExit):
            return


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield `error`, what it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def frames_of(error: BaseException) -> Iterator[tuple[str, int]]:
    """Return the lines that `error` has passed, and those that AutoGraph has put into its text."""
    yield from ((_file(entry), entry.tb_lineno) for entry in _entries(error.__traceback__))
    for filename, row in re.findall(r'File "(.+?)", line (\d+)', str(error)):
        yield filename, int(row)


def is_users(filename: str, own: tuple[str, ...] = ()) -> bool:
    """Return whether the file is neither tpulint's nor Python's nor an installed package's.

    `own` begins the paths of the program's own package, which may be installed.
    """
    if filename.startswith(own):
        return True
    installed = f"{os.sep}site-packages{os.sep}" in filename
    is_generated = "__autograph_generated_file" in filename
    return not (installed or is_generated or filename.startswith(LIBRARIES))


def line_of(failure: RunFailure) -> tuple[str, int]:
    filename, _, row = failure.place.rpartition(":")
    return filename, int(row)


# A word on what TensorFlow lacks since 2.16: the Estimator, and TPUEstimator with it.

_MODULES = re.compile(r"tensorflow_estimator|tensorflow(\.\w+)*\.estimator")
_NAMES = re.compile(r"(?:no attribute|cannot import name) 'estimator'")
_DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tf-nightly")
LAST = (2, 15)


def missing_estimator(error: BaseException | None, release: str | None = None) -> Iterator[str]:
    """Yield one line on what to install, where `error` is that there is no Estimator.

    `release` is TensorFlow's; of the one that is installed where nothing is said.
    """
    if not any(_is_of_estimator(link) for link in chain_of(error)):
        return
    for name in _DISTRIBUTIONS:
        # No error may keep the release from being looked up.
        with contextlib.suppress(PackageNotFoundError):
            release = release or version(name)
    if release and tuple(int(number) for number in re.findall(r"\d+", release)[:2]) > LAST:
        yield (
            f"TensorFlow {release} has no Estimator; TensorFlow 2.15 is the last that has it, on "
            "Python 3.11 or older: pip install 'tensorflow-cpu==2.15.*'"
        )


def _is_of_estimator(error: BaseException) -> bool:
    if isinstance(error, ModuleNotFoundError):
        return bool(_MODULES.match(error.name or ""))
    named = isinstance(error, (AttributeError, ImportError))
    return named and bool(_NAMES.search(str(error)))


# A word on a program that is written for another number of replicas.

_OTHER_NUMBERS = re.compile(
    r"num_replicas should be \((?P<here>\d+)\), got \((?P<wanted>\d+)\)"
    r"|(?i:requested) (?:num_replicas=)?(?P<more>\d+) (?:replicas )?but (?:there are )?only "
    r"(?P<fewer>\d+) (?:replicas|cores)"
    r"|create (?P<part>\d+) replicas, but the number of cores in the TPU topology is (?P<all>\d+)"
)
_UNDIVIDED = re.compile(
    r"The `global_batch_size` (?P<rows>\d+) is not divisible by "
    r"`num_replicas_in_sync` (?P<here>\d+)"
)


def other_number_of_replicas(error: BaseException | None, cores: int | None) -> Iterator[str]:
    """Yield one line on the number that fits, where TensorFlow says that the TPU has another.

    `cores`: the number that the run was asked for, None where it was asked for a topology.
    """
    texts = [str(link) for link in chain_of(error)]
    for match in filter(None, map(_OTHER_NUMBERS.search, texts)):
        numbers = match.groupdict()
        wanted = int(numbers["wanted"] or numbers["more"] or numbers["part"])
        here = int(numbers["here"] or numbers["fewer"] or numbers["all"])
        fits = f": --replicas {wanted * cores // here}" if cores and here else ""
        yield f"The program asks for {wanted} replicas, and the emulated TPU has {here}{fits}"
        return
    for match in filter(None, map(_UNDIVIDED.search, texts)):
        rows, here = int(match["rows"]), int(match["here"])
        fewer = next(number for number in range(here - 1, 0, -1) if rows % number == 0)
        fits = f", but among {fewer}: --replicas {fewer * cores // here}" if cores else ""
        yield f"A batch of {rows} rows cannot be divided among {here} replicas{fits}"
        return


# A word on a pod whose hosts a program asks for a TPU without naming them.

_NOT_FOUND = "TPUs not found in the cluster"
_ON_ANOTHER_HOST = re.compile(r"was explicitly assigned to /job:\w+/(?s:.*)available devices are")


def unconnected(error: BaseException | None, *, on_a_pod: bool) -> Iterator[str]:
    """Yield one line on how to name them, where TensorFlow finds none of the pod's hosts."""
    if not on_a_pod:
        return
    if any(_ON_ANOTHER_HOST.search(str(link)) for link in chain_of(error)):
        yield (
            "The hosts of a pod are other machines, and a session without a target is of this one: "
            "tf.compat.v1.Session(resolver.master()), or the target grpc://localhost:8470"
        )
    if any(str(link).startswith(_NOT_FOUND) for link in chain_of(error)):
        yield (
            "The hosts of a pod are other machines, and the program has not connected to "
            "them: tf.config.experimental_connect_to_cluster(resolver). Many programs leave it out "
            "where the TPU's name is '' or 'local'; give another name"
        )
