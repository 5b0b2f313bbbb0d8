"""Sessions of pods whose hosts are processes."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.runtime.pods.alone import allow_its_time, pass_alone

pytestmark = allow_its_time


def test_what_sessions_and_estimators_on_hosts_in_processes_do() -> None:
    estimators = ["tests/runtime/pods/session_estimators.py"]
    has_estimator = hasattr(tf.compat.v1, "estimator")
    pass_alone("tests/runtime/pods/sessions.py", *(estimators if has_estimator else []))


# Each in a process of its own: three times TensorFlow aborted a process (SIGABRT, in a thread of
# its C++) that opened another session after such a step, where many tests ran beside it.
@pytest.mark.parametrize(
    "test",
    [
        "test_hang_a_queue_on_a_host_that_nothing_fills",
        "test_false_a_host_that_computes_is_waited_for",
    ],
)
def test_a_step_that_is_ended_while_it_waits_on_a_host(test: str) -> None:
    pass_alone(f"tests/runtime/pods/session_waits.py::{test}")
