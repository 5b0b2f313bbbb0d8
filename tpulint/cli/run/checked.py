"""What `tpulint check` says of the files that a program has run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tpulint.cli.run.failure import is_users
from tpulint.config import Config
from tpulint.diagnostics.rule_selection import Layer, selected
from tpulint.output.run_report import Checked
from tpulint.pipeline import driver
from tpulint.pipeline.projects import Analysis


def checked(
    analysis: Analysis, files: Sequence[str], task: driver.Task, config: Config, run: driver.Run
) -> Checked:
    """The findings in `files` that `tpulint check` would report with the user's configuration."""
    codes = selected([Layer(config.select, config.extend_select, config.ignore)])
    request = task.request._replace(config=config, codes=codes, baseline=config.baseline_path)
    wanted = {os.path.abspath(each) for each in files}
    asked = frozenset(each for each in task.filenames if os.path.abspath(each) in wanted)
    found = [
        each for each in analysis.findings if each.span.filename in asked and each.code in codes
    ]
    now = driver.Run()
    driver.judge(
        found, asked.intersection(analysis.marked), task._replace(request=request), {}, now
    )
    run.messages += [each for each in now.messages if each not in run.messages]
    return Checked(tuple(now.findings), len(asked), now.hidden)


def files_that_ran() -> tuple[str, ...]:
    """The Python files of the modules that are imported now and are no library's."""
    named = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    files = {os.path.abspath(each) for each in named if isinstance(each, str) and is_users(each)}
    return tuple(sorted(each for each in files if each.endswith(".py") and os.path.isfile(each)))
