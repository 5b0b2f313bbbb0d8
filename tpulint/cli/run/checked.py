"""The findings of `tpulint check` in the files that a program has run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tpulint.cli.run.failure import is_users
from tpulint.config import Config
from tpulint.config.closest import Closest
from tpulint.output.run_report import Checked
from tpulint.pipeline import driver
from tpulint.pipeline.analysis import Analysis
from tpulint.pipeline.verdict import judge


def checked(
    analysis: Analysis, files: Sequence[str], task: driver.Task, config: Config, run: driver.Run
) -> Checked:
    """The findings in `files` that `tpulint check` would report with the user's configuration."""
    request = task.request._replace(config=config, closest=Closest(config.root))
    wanted = {os.path.abspath(each) for each in files}
    asked = frozenset(each for each in task.filenames if os.path.abspath(each) in wanted)
    found = [each for each in analysis.findings if each.span.filename in asked]
    now = driver.Run()
    judge(found, asked, asked.intersection(analysis.marked), task.partial, request, {}, now)
    run.say(now.messages)
    return Checked(tuple(now.findings), len(asked), now.hidden.total())


def files_that_ran() -> tuple[str, ...]:
    """The Python files of the modules that are imported now and are no library's."""
    named = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    files = {os.path.abspath(each) for each in named if isinstance(each, str) and is_users(each)}
    return tuple(sorted(each for each in files if each.endswith(".py") and os.path.isfile(each)))
