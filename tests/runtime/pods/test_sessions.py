"""Sessions of pods whose hosts are processes."""

from __future__ import annotations

import tensorflow as tf

from tests.runtime.pods.alone import pass_alone


def test_what_sessions_on_hosts_in_processes_do() -> None:
    pass_alone("tests/runtime/pods/sessions.py")


if hasattr(tf.compat.v1, "estimator"):

    def test_what_estimators_on_hosts_in_processes_do() -> None:
        pass_alone("tests/runtime/pods/session_estimators.py")
