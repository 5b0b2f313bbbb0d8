"""The failure of a program while it ran, and the lines it passed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tpulint.cli.run.tracebacks import PACKAGE
from tpulint.codes import CODES
from tpulint.knowledge.raised_errors import raised_error, runtime_fault

LIBRARIES = (
    PACKAGE,
    os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""),
)


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
    faults = (fault_of(each) for each in chain_of(error))
    found = (failure for failure in faults if failure is not None)
    return next(found, None) or covered_error(tuple(causes_of(error)))


def fault_of(error: BaseException) -> RunFailure | None:
    """Return the fault of the runtime that `error` is, or None."""
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
            return RunFailure(type(error).__name__, "", row.rules, "", frames, row.anywhere)
    return None


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """Return `error` and what it was raised from. What a program handled is no cause of another."""
    for each in chain_of(error):
        yield each
        if each.__cause__ is None and not isinstance(each, SystemExit):
            return


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """`error`, what it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


def frames_of(error: BaseException) -> Iterator[tuple[str, int]]:
    """Return the lines that `error` has passed, and those that AutoGraph has put into its text."""
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    for filename, row in re.findall(r'File "(.+?)", line (\d+)', str(error)):
        yield filename, int(row)


def is_users(filename: str, own: tuple[str, ...] = ()) -> bool:
    """Return whether the file is neither tpulint's nor Python's nor an installed package's.

    `own` begins the paths of the program's own package, which may be installed.
    """
    if filename.startswith(own):
        return True
    installed = f"{os.sep}site-packages{os.sep}" in filename
    made = "__autograph_generated_file" in filename
    return not (installed or made or filename.startswith(LIBRARIES))


def line_of(failure: RunFailure) -> tuple[str, int]:
    filename, _, row = failure.place.rpartition(":")
    return filename, int(row)
