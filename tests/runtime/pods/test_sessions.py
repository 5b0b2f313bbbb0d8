"""Sessions of pods whose hosts are processes."""

from __future__ import annotations

import tensorflow as tf

from tests.runtime.pods.alone import allow_its_time, pass_alone

pytestmark = allow_its_time


def test_what_sessions_and_estimators_on_hosts_in_processes_do() -> None:
    estimators = ["tests/runtime/pods/session_estimators.py"]
    has_estimator = hasattr(tf.compat.v1, "estimator")
    pass_alone("tests/runtime/pods/sessions.py", *(estimators if has_estimator else []))
