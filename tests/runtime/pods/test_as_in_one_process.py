"""The tests of hosts in this process, with hosts that are processes."""

from __future__ import annotations

import pytest

from tests.runtime.pods.alone import pass_alone

pytestmark = pytest.mark.any_release


def test_they_do_what_hosts_in_this_process_do() -> None:
    """But a host has no dataset that is made on another one."""
    files = [f"tests/runtime/emulate/{name}.py" for name in ("test_hosts", "test_hosts_errors")]
    pass_alone(
        "-p",
        "tests.runtime.pods.with_workers",
        "-k",
        "not of_each_host and not shared_by_the_hosts",
        *files,
    )
