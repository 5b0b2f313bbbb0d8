"""Keep tests of the runtime from leaving state behind in TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tpulint.runtime import install


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    """Begin as if the program had used the runtime before: test_first_use has the other case."""
    install()


@pytest.fixture(autouse=True)
def control_flow_v2() -> None:
    """Begin each test with the control flow of TensorFlow 2, whatever ran before in the process."""
    tf.compat.v1.enable_control_flow_v2()


@pytest.fixture(autouse=True)
def soft_placement_as_before() -> Iterator[None]:
    """Restore soft placement; unset is neither value: it means on outside functions only."""
    before = context.context()._soft_device_placement
    yield
    if context.context()._soft_device_placement != before:
        context.context().soft_device_placement = before is None or before
        context.context()._soft_device_placement = before
        context.context().function_call_options = None
