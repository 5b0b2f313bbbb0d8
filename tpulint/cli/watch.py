"""`--watch`: check again whenever a file or a configuration changes, until Ctrl-C.

The files are looked at in turns, by their stamps: no dependency, and the same on every
file system. A turn waits ten times as long as looking took, and half a second at least.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from tpulint.cli.report import print_messages
from tpulint.cli.request import request_of
from tpulint.config import ConfigError
from tpulint.config.files import FILES
from tpulint.pipeline import driver
from tpulint.pipeline.program_inputs import names_in, required
from tpulint.pipeline.stamps import stamp

PAUSE = 0.5  # seconds
CLEAR = "\x1bc"

State = Mapping[str, str | None]


def watch(options: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> int:
    """Check, wait for a change, and check again; only Ctrl-C ends it."""
    gc.enable()  # this process does not end with the check
    files = WatchedFiles(options)
    while True:
        before = files.state()
        if sys.stdout.isatty():
            sys.stdout.write(CLEAR)
        try:
            check(options)
        except ConfigError as error:
            print_messages([str(error)])
        sys.stdout.flush()
        print("tpulint: watching for changes (Ctrl-C ends)", file=sys.stderr, flush=True)
        wait_for_change(files, before)


def wait_for_change(files: WatchedFiles, before: State) -> None:
    pause = PAUSE
    while True:
        time.sleep(pause)
        begun = time.monotonic()
        if files.state() != before:
            return
        pause = max(PAUSE, 10 * (time.monotonic() - begun))


class WatchedFiles:
    """The files that a check can depend on, found again in each turn."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._paths = with_configurations([])

    def state(self) -> State:
        """Return the stamp of each file; of the last ones, while none can be found."""
        try:
            task = driver.discover(request_of(self._options))
            self._paths = with_configurations([*task.filenames, *task.context])
        except ConfigError:
            pass
        return {path: stamp(path) for path in self._paths}


def with_configurations(files: Sequence[str]) -> list[str]:
    """Return the files, their requirements, and every place for one of their configurations."""
    folders: set[str] = set()
    for folder in {os.getcwd(), *(os.path.dirname(os.path.abspath(each)) for each in files)}:
        while folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return [
        *files,
        *(os.path.join(folder, name) for folder in folders for name in FILES),
        *(os.path.join(folder, name) for folder in folders for name in required(names_in(folder))),
    ]
