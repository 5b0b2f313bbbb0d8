"""Read a program that a test holds as text, as a check would."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tpulint.check import driver
from tpulint.check.driver import BuiltProgram
from tpulint.codes import CODES
from tpulint.disk import Disk
from tpulint.frontends.settings import Settings
from tpulint.incremental.model import Batch, Job


def read_program(
    filenames: Iterable[str], unsaved: Mapping[str, bytes] | None = None
) -> BuiltProgram:
    """Read the files as one program; `unsaved` holds the bytes of those that are not on disk."""
    names = tuple(filenames)
    batch = Batch(names, frozenset(), Disk(unsaved), frozenset(CODES), Settings())
    return driver.read_program(batch, Job(names, (), len(names)))
