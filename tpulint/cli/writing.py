"""Files and streams written whole, and never over another program's change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from tpulint.config import ConfigError
from tpulint.disk import read_regular
from tpulint.pipeline.cache_place import is_inside
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.failure import FileFailure
from tpulint.pipeline.project_root import project_of, repository_of

if TYPE_CHECKING:
    from tpulint.source import Source


def out(text: str, stream: TextIO) -> None:
    """Write UTF-8 whatever the locale says, as the files that the findings come from."""
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "surrogateescape"))
    stream.buffer.flush()


def overwrite(filename: str, before: Source, data: bytes, result: CheckResult) -> bool:
    """Replace the file; where it cannot, or another program changed it, that is a failure."""
    try:
        if leads_out(filename):
            raise OSError(0, "it is a link that leads out of the project")
        if read_regular(filename) != before.data:
            raise OSError(0, "it changed while tpulint ran; nothing was written")
        write_file(filename, data)
    except (OSError, ConfigError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        reason = cause.strerror if isinstance(cause, OSError) else str(error)
        result.failures.append(FileFailure(filename, f"cannot write the file: {reason}"))
        return False
    return True


def write_file(path: str, data: bytes) -> None:
    """Write beside the file and move it there, so that no half-written file is ever seen."""
    import tempfile

    goal = os.path.realpath(path)
    if repository_of(os.path.abspath(path)) is not None and leads_out(path):
        raise ConfigError(f"{path}: cannot write: it is a link that leads out of the repository")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as file:  # a device or a pipe
                file.write(data)
            return
        mode = os.stat(goal).st_mode & 0o7777 if os.path.exists(goal) else None
        if mode is not None and not os.access(goal, os.W_OK):
            raise PermissionError(13, "Permission denied")  # its directory alone would let us
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
        raise ConfigError(f"{path}: cannot write: {error.strerror or error}") from error


def leads_out(path: str) -> bool:
    """Return whether a file of a project is a link to somewhere else."""
    full, here = os.path.abspath(path), os.getcwd()
    around = here if is_inside(os.path.dirname(full), here) else os.path.dirname(full)
    return os.path.islink(full) and not is_inside(full, project_of(full) or around)


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now
