"""Files and streams written whole, and never over another program's change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from tpulint.config import ConfigError
from tpulint.pipeline.check_result import CheckResult
from tpulint.pipeline.failure import FileFailure

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
        with open(filename, "rb") as file:
            if file.read() != before.data:
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
    if os.path.exists(goal) and not os.path.isfile(goal):
        with open(goal, "wb") as file:  # a device or a pipe
            file.write(data)
        return
    try:
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


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now
