"""The order of the test files among workers of pytest-xdist: those that take minutes come first.

A worker that takes one of them last leaves the others idle until the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

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
