"""Pods whose hosts are processes."""

from __future__ import annotations

import tensorflow as tf

from tests.runtime.pods.alone import allow_its_time, pass_alone

pytestmark = allow_its_time

INSIDE = "tests/runtime/pods/inside.py"
AS_IN_THIS_PROCESS = [
    "-p",
    "tests.runtime.pods.with_workers",
    *(f"tests/runtime/emulate/{name}.py" for name in ("test_hosts", "test_hosts_errors")),
]
"""The tests of hosts in this process, which one release has to pass with hosts in processes."""


def test_what_hosts_in_processes_do() -> None:
    """But a host has no dataset that is made on another one."""
    chosen = "not lost and not of_each_host and not shared_by_the_hosts"
    is_newest = not hasattr(tf.compat.v1, "estimator")
    pass_alone("-k", chosen, INSIDE, *(AS_IN_THIS_PROCESS if is_newest else []))


def test_what_is_done_about_hosts_that_are_lost() -> None:
    """Hang: a process that had lost a host in a step did not end, as TensorFlow waited for it."""
    pass_alone("-k", "lost", INSIDE)
