"""In a tf.function the order of the program is that of the graph: TensorFlow adds the edges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.errors import DeadlockError, StaleVariableWarning


def device_writes_and_host_reads(v, x):
    v.assign_add(x)
    return tpu.outside_compilation(lambda: v.read_value() * 2.0) * 1.0


def device_writes_and_host_reads_last(v, x):
    """Return the host's result from the computation: the host reads once the device has ended."""
    v.assign_add(x)
    return tpu.outside_compilation(lambda: v.read_value() * 2.0)


def host_reads_and_device_writes(v, x):
    seen = tpu.outside_compilation(lambda: v.read_value() * 2.0)
    return v.assign_add(x) + seen


def host_reads_beside_what_the_device_gives_it(v, x):
    """The read alone needs nothing of the device."""
    seen = tpu.outside_compilation(lambda a: v.read_value() + a, x * 2.0)
    v.assign_add(x)
    return seen * 1.0


def host_writes_and_device_reads(v, x):
    tpu.outside_compilation(lambda: v.assign_add(10.0, read_value=False))
    return v.read_value() + x


def device_reads_and_host_writes(v, x):
    y = v.read_value() + x
    tpu.outside_compilation(lambda: v.assign_add(10.0, read_value=False))
    return y


def device_on_both_sides_of_a_read(v, x):
    v.assign_add(x)
    seen = tpu.outside_compilation(lambda: v.read_value() * 2.0)
    v.assign_add(x)
    return seen


def device_on_both_sides_of_a_write(v, x):
    v.assign_add(x)
    tpu.outside_compilation(lambda: v.assign_add(10.0, read_value=False))
    return v.read_value() + 0.0


def both_read(v, x):
    return tpu.outside_compilation(lambda a: v.read_value() + a, v.read_value() * x) * 1.0


def in_a_called_function(v, x):
    @tf.function(autograph=False)
    def called(a):
        v.assign_add(a)

    called(x)
    return tpu.outside_compilation(lambda: v.read_value() * 2.0) * 1.0


def in_a_branch(v, x):
    tf.cond(x > 0.0, lambda: v.assign_add(x), lambda: v.read_value())
    return tpu.outside_compilation(lambda: v.read_value() * 2.0) * 1.0


def beside_a_print(v, x):
    """Nothing waits for what is printed."""
    v.assign_add(x)

    def host(a):
        tf.print("seen", v.read_value())
        return a + 1.0

    return tpu.outside_compilation(host, x * 1.0) * 1.0


def both_read_and_the_host_in_a_branch(v, x):
    """There is no write that either could miss."""

    def branch():
        tpu.outside_compilation(lambda: tf.print("seen", v.read_value()))
        return x * 1.0

    return tf.cond(x > 0.0, branch, branch) * v


@dataclass(frozen=True)
class Row:
    computation: Callable[..., Any]
    output: Any
    """With x = 3 and v = 1 before; or the error."""
    after: float = 0.0
    stale: bool = False
    host_variables: Any = "lock"

    def __str__(self) -> str:
        return f"{self.computation.__name__}-{self.host_variables}"


ROWS = [
    Row(device_writes_and_host_reads, DeadlockError),
    Row(device_writes_and_host_reads_last, 8.0, 4.0),
    Row(host_reads_and_device_writes, 6.0, 4.0),
    Row(host_reads_beside_what_the_device_gives_it, 7.0, 4.0),
    Row(host_writes_and_device_reads, 14.0, 11.0),
    Row(device_reads_and_host_writes, 4.0, 11.0, stale=True),
    Row(device_on_both_sides_of_a_read, DeadlockError),
    Row(device_on_both_sides_of_a_write, 4.0, 14.0, stale=True),
    Row(both_read, 4.0, 1.0),
    Row(in_a_called_function, DeadlockError),
    Row(in_a_branch, DeadlockError),
    Row(beside_a_print, 4.0, 4.0),
    Row(both_read_and_the_host_in_a_branch, 3.0, 1.0),
    Row(device_writes_and_host_reads, 2.0, 4.0, True, "snapshot"),
    Row(device_writes_and_host_reads_last, 8.0, 4.0, False, "snapshot"),
    Row(host_reads_and_device_writes, 6.0, 4.0, False, "snapshot"),
    Row(host_writes_and_device_reads, 14.0, 11.0, False, "snapshot"),
]


def in_function(row: Row) -> tuple[float, float]:
    v = tf.Variable(1.0)

    @tf.function(autograph=False)
    def step(x):
        return tpu.rewrite(lambda a: row.computation(v, a), [x])[0]

    return float(step(tf.constant(3.0))), float(v)


def eagerly(row: Row) -> tuple[float, float]:
    v = tf.Variable(1.0)
    (value,) = tpu.rewrite(lambda a: row.computation(v, a), [tf.constant(3.0)])
    return float(value), float(v)


@pytest.mark.parametrize("run", [in_function, eagerly], ids=lambda run: run.__name__)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_order(row, run):
    with (
        warnings.catch_warnings(record=True) as caught,
        tpu.options(host_variables=row.host_variables),
    ):
        warnings.simplefilter("always")
        if row.output is DeadlockError:
            with pytest.raises(DeadlockError) as error:
                run(row)
            assert error.value.rule == "TPU101"
        else:
            assert run(row) == (row.output, row.after)
    assert row.stale == any(warning.category is StaleVariableWarning for warning in caught)


def test_without_automatic_dependencies_there_is_no_such_order():
    v = tf.Variable(1.0)

    def step(x):
        return tpu.rewrite(lambda a: device_writes_and_host_reads(v, a), [x])[0]

    with pytest.warns(StaleVariableWarning):
        function = tf.compat.v1.wrap_function(step, [tf.TensorSpec([], tf.float32)])
    assert float(function(tf.constant(3.0))) == 2.0


def test_a_tail_takes_what_a_conditional_passes_on() -> None:
    """Missed before: the tensor behind an identity was not handed to the part that runs last."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        total = tf.compat.v1.get_variable("total", initializer=1.0, use_resource=True)

        def add(amount):
            total.assign_add(amount, read_value=False)

        def computation(x):
            chosen = tf.cond(x > 0.0, lambda: x * 3.0, lambda: x)
            tpu.outside_compilation(add, chosen)
            return x * total

        results = tpu.replicate(computation, [[tf.constant(2.0)]])
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run(results) == [[2.0]]
        assert session.run(total) == 7.0


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_conditional_that_runs_last_waits_for_a_read_on_the_device(replicas: int) -> None:
    """Missed before: the read was looked for in the part that runs last."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        seen = tf.compat.v1.get_variable("seen", initializer=1.0, use_resource=True)
        total = tf.compat.v1.get_variable("total", initializer=1.0, use_resource=True)

        def add(dependency):
            def branch():
                with tf.control_dependencies([dependency]):
                    return total.assign_add(2.0)

            tf.cond(dependency > 0.0, branch, branch)

        def computation(x):
            taken = seen.read_value()
            total.assign_sub(x)
            tpu.outside_compilation(add, taken)
            return x * 2.0

        with pytest.warns(StaleVariableWarning):
            results = tpu.replicate(computation, [[tf.constant(2.0)]] * replicas)
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run(results) == [[4.0]] * replicas
