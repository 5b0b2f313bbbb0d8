"""Pods whose hosts are processes."""

from __future__ import annotations

import pytest

from tests.runtime.pods.alone import pass_alone


@pytest.mark.parametrize("chosen", ["lost", "not lost"])
def test_what_hosts_in_processes_do(chosen: str) -> None:
    """Hang: a process that had lost a host in a step did not end, as TensorFlow waited for it."""
    pass_alone("tests/runtime/pods/inside.py", "-k", chosen)
