"""No test here may hang: a watchdog ends the whole run, with the stacks of all threads."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest

SECONDS = 120.0


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
