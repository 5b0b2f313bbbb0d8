"""The log messages while a computation is marked."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import THEIRS
from tests.runtime.oracle.compare import marking_only


class Kept(logging.Handler):
    """The messages, formatted."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture
def log() -> Iterator[Kept]:
    handler = Kept()
    loggers = [tf.get_logger(), logging.getLogger("absl")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler
    for logger in loggers:
        logger.removeHandler(handler)


def seven_summaries() -> None:
    for i in range(7):
        tf.compat.v1.summary.scalar(f"s{i}", 1.0)


def a_placeholder() -> None:
    tf.compat.v1.placeholder(tf.float32, [], name="given")


def a_partitioned_variable() -> None:
    partitioner = tf.compat.v1.fixed_size_partitioner(2)
    with tf.compat.v1.variable_scope("part", partitioner=partitioner):
        tf.compat.v1.get_variable("v", [4])


def logged(api: Any, computation: Any, log: Kept) -> list[str]:
    log.messages.clear()
    with tf.Graph().as_default(), marking_only():
        api.rewrite(computation)
    # Each partitioner is an object of its own, and prints as one.
    return [message.split(" at 0x")[0] for message in log.messages]


@pytest.mark.parametrize(
    ("computation", "first"),
    [
        (seven_summaries, "7 unsupported operations found: \n  ScalarSummary (s0)"),
        (a_placeholder, "Operation of type Placeholder (given) is not supported on the TPU."),
        (a_partitioned_variable, "Partitioned variables are not supported on TPU."),
    ],
)
def test_it_is_what_tensorflow_logs(computation: Any, first: str, log: Kept) -> None:
    ours = logged(tpu, computation, log)
    assert ours[0].startswith(first)
    assert ours == logged(THEIRS, computation, log)


def test_only_five_unsupported_operations_are_listed(log: Kept) -> None:
    ours = logged(tpu, seven_summaries, log)
    assert ours[0].count("ScalarSummary") == 5
    assert ours[1] == "... and 2 more"
