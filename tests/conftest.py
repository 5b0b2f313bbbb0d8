"""The order of the test files among workers of pytest-xdist, and how their processes begin.

The files that take minutes come first: a worker that takes one of them last leaves the others idle
until the end.
"""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import hypothesis
import pytest

# How long an example takes says more about the machine than about the test.
hypothesis.settings.register_profile(
    "tpulint", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("tpulint")

# A shell lets what it starts in the background ignore Ctrl-C, and so would the programs that the
# tests start, to which some send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TESTS = Path(__file__).parent
FIRST = (
    "runtime/pods/",
    "runtime/run/",
    "runtime/execute/test_thread_starvation.py",
    "rules/test_pages.py",
    "integration/",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.path.relative_to(TESTS).as_posix().startswith(FIRST))


def pytest_collection_finish() -> None:
    """Keep the collector out of what stays until the end: TensorFlow, and the collected tests.

    TensorFlow collects garbage whenever a TPU is initialized, which many tests do. To look at all
    these objects takes half a second.
    """
    gc.collect()
    gc.freeze()
