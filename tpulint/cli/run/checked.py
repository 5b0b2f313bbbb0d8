"""The findings of `tpulint check` in the files that a program has run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tpulint.analysis.names.target_release import Targets
from tpulint.cli.run.failure import is_users
from tpulint.config import Config
from tpulint.config.closest import Closest
from tpulint.output.run_report import Checked
from tpulint.pipeline import driver
from tpulint.pipeline.analysis import Analysis


def checked(
    analysis: Analysis, files: Sequence[str], task: driver.Task, config: Config
) -> tuple[Checked, list[str]]:
    """Return what `tpulint check` with the user's configuration reports in `files`.

    The second value are its messages for standard error.
    """
    wanted = {os.path.abspath(each) for each in files}
    asked = tuple(each for each in task.filenames if os.path.abspath(each) in wanted)
    request = task.request._replace(config=config, closest=Closest(config.root))
    part = task._replace(request=request, filenames=asked, context=())
    result = driver.resolve(analysis, part, {})
    found = Checked(tuple(result.findings), len(asked), result.hidden.total())
    return found, [*map(str, result.failures), *result.warnings, *result.messages]


def states_release(filename: str) -> bool:
    """Return whether the project of a file says which TensorFlow it needs."""
    return Targets().of(filename).stated


def release_that_ran() -> str | None:
    """Return the release of TensorFlow that is imported now ("2.12"); None where it has none."""
    version = getattr(sys.modules.get("tensorflow"), "__version__", "")
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return f"{major}.{minor}" if major.isdigit() and minor.isdigit() else None


def files_that_ran(own: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the Python files of the modules that are imported now and are no library's.

    `own` begins the paths of the program's own package, which may be installed.
    """
    named = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    files = {os.path.abspath(each) for each in named if isinstance(each, str)}
    users = (each for each in files if is_users(each, own))
    return tuple(sorted(each for each in users if each.endswith(".py") and os.path.isfile(each)))
