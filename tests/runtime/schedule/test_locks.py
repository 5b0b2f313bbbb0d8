"""The table of accesses of a variable by device and host. All rows run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow as tf

from tests.runtime.execute.tensorflows_marks import outside_compilation, ran
from tpulint.runtime.emulator import Options
from tpulint.runtime.errors import DeadlockError, StaleVariableWarning


def touched_by_nobody_else(v, x):
    """A variable of a cluster alone."""
    return outside_compilation(lambda a: v.assign_add(a, read_value=True) + 0.0, x * 2.0) * 10.0


def read_by_both(v, x):
    """The read alone needs nothing of the device."""
    seen = v.read_value() + x
    return outside_compilation(lambda a: a + v.read_value(), seen) * 10.0


def read_in_the_middle(v, x):
    seen = v.read_value() + x

    def host(a):
        with tf.control_dependencies([a]):
            return a + v.read_value()

    return outside_compilation(host, seen) * 10.0


def read_after_what_the_device_has_written(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        return outside_compilation(lambda: v.read_value() * 2.0) * 10.0


def written_in_the_middle(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0

    def host(a):
        with tf.control_dependencies([v.assign_add(a * 50.0)]):
            return tf.identity(a)

    return outside_compilation(host, y) * 10.0


def written_with_what_the_host_has(v, x):
    """The write alone needs nothing of the device, though it comes after one in the program."""
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0

    def host(a):
        with tf.control_dependencies([v.assign_add(100.0)]):
            return tf.identity(a)

    return outside_compilation(host, y) * 10.0


def written_beside_the_result(v, x):
    """The result does not wait for the write."""
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0

    def host(a):
        v.assign_add(a * 50.0)
        return a + 1.0

    return outside_compilation(host, y) * 10.0


def written_in_the_middle_with_no_result(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    done = outside_compilation(lambda a: v.assign_add(a * 100.0, read_value=False), y)
    return y, done


def written_by_a_cluster_that_another_waits_for(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    done = outside_compilation(lambda a: v.assign_add(a, read_value=False), y)

    def second(a):
        with tf.control_dependencies([done]):
            return tf.identity(a)

    return outside_compilation(second, y) * 10.0


def head(v, x):
    before = outside_compilation(lambda a: v.assign_add(a * 100.0, read_value=True) + 0.0, x)
    with tf.control_dependencies([before]):
        return v.assign_add(x, read_value=True) + before * 0.0


def read_with(v):
    def host(a):
        with tf.control_dependencies([a]):
            return v.read_value() + a

    return host


def tail(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return outside_compilation(read_with(v), y)


def tail_beside_what_the_device_gives(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return y, outside_compilation(read_with(v), y)


def tail_before_a_write(v, x):
    """Nothing makes the device write after the host has read."""
    seen = v.read_value()
    y = outside_compilation(read_with(v), x * 2.0 + seen)
    with tf.control_dependencies([seen]):
        return y, v.assign_add(x, read_value=False)


def not_a_tail_in_a_structure(v, x):
    """TensorFlow passes on what is in a structure by an operation on the device."""
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return {"read": outside_compilation(read_with(v), y)}


def read_of_the_start(v, x):
    """The read is a head, the rest is a tail."""
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return outside_compilation(lambda a: v.read_value() + a, y)


def late_read_that_nobody_sees(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0

    def host(a):
        with tf.control_dependencies([a]):
            tf.debugging.assert_equal(v.read_value(), 11.0)

    return y, outside_compilation(host, y)


def tail_that_writes(v, x):
    """The write is the work of a function that gives a result, not of an operation without."""

    @tf.function(autograph=False)
    def host(a):
        v.assign_add(a * 100.0, read_value=False)
        return a + 1.0

    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return outside_compilation(host, y)


def in_a_loop(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, outside_compilation(lambda b: b + v.read_value(), a * 1.0)),
        (0, y),
    )[1]


def in_a_branch_not_taken(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0
    return tf.cond(
        y > 1000.0, lambda: outside_compilation(lambda b: b + v.read_value(), y * 1.0), lambda: y
    )


def in_a_loop_with_no_result(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0

    def body(i, a):
        done = outside_compilation(lambda b: v.assign_add(b * 10.0, read_value=False), a * 1.0)
        with tf.control_dependencies([done]):
            return i + 1, a + 1.0

    seen = tf.while_loop(lambda i, _: i < 3, body, (0, y))[1]
    with tf.control_dependencies([seen]):
        return v.read_value() + seen


def in_a_branch_with_no_result(v, x):
    with tf.control_dependencies([v.assign_add(x)]):
        y = x * 2.0

    def branch():
        done = outside_compilation(lambda b: v.assign_add(b * 10.0, read_value=False), y * 1.0)
        with tf.control_dependencies([done]):
            return y * 1.0

    return tf.cond(y > 1.0, branch, lambda: y)


@dataclass(frozen=True)
class Row:
    computation: Any
    outputs: Any
    """The result of the single replica, with x = 1 and v = 10 before, or the error."""
    after: float = 0.0
    """The value of v after the step."""
    stale: bool = False
    host_variables: Any = "lock"
    word: str = "writes"
    """The host's access in the warning where a value is stale."""

    def __str__(self) -> str:
        return f"{self.computation.__name__}-{self.host_variables}"


ROWS = [
    Row(touched_by_nobody_else, (120.0,), 12.0),
    Row(read_by_both, (210.0,), 10.0),
    Row(read_in_the_middle, DeadlockError),
    Row(read_after_what_the_device_has_written, DeadlockError),
    Row(written_in_the_middle, DeadlockError),
    Row(written_with_what_the_host_has, (20.0,), 111.0, stale=True),
    Row(written_beside_the_result, (30.0,), 111.0, stale=True),
    Row(written_in_the_middle_with_no_result, (2.0,), 211.0, stale=True),
    Row(written_by_a_cluster_that_another_waits_for, DeadlockError),
    Row(head, (111.0,), 111.0),
    Row(tail, (13.0,), 11.0),
    Row(tail_beside_what_the_device_gives, (2.0, 13.0), 11.0),
    Row(tail_before_a_write, (23.0,), 11.0, stale=True, word="reads"),
    Row(not_a_tail_in_a_structure, DeadlockError),
    Row(read_of_the_start, (12.0,), 11.0, stale=True, word="reads"),
    Row(late_read_that_nobody_sees, (2.0,), 11.0),
    Row(tail_that_writes, (3.0,), 211.0, stale=True),
    Row(in_a_loop, DeadlockError),
    Row(in_a_branch_not_taken, (2.0,), 11.0),
    Row(in_a_loop_with_no_result, (16.0,), 101.0, stale=True),
    Row(in_a_branch_with_no_result, (2.0,), 31.0, stale=True),
    Row(touched_by_nobody_else, (120.0,), 12.0, host_variables="snapshot"),
    Row(read_in_the_middle, (210.0,), 10.0, True, "snapshot", "reads"),
    Row(read_by_both, (210.0,), 10.0, host_variables="snapshot"),
    Row(read_after_what_the_device_has_written, (200.0,), 11.0, True, "snapshot", "reads"),
    Row(written_in_the_middle, (20.0,), 11.0, stale=True, host_variables="snapshot"),
    Row(written_with_what_the_host_has, (20.0,), 111.0, stale=True, host_variables="snapshot"),
    Row(head, (111.0,), 111.0, host_variables="snapshot"),
    Row(tail, (13.0,), 11.0, host_variables="snapshot"),
    Row(not_a_tail_in_a_structure, (12.0,), 11.0, True, "snapshot", "reads"),
    Row(in_a_loop, (32.0,), 11.0, True, "snapshot", "reads"),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_verdict(row):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.compat.v1.get_variable("v", initializer=10.0, use_resource=True)
        x = tf.compat.v1.placeholder(tf.float32, [])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            built = ran(
                lambda a: row.computation(v, a),
                [[x]],
                Options(host_variables=row.host_variables),
            )
        session.run(v.initializer)
        if row.outputs is DeadlockError:
            with pytest.raises(DeadlockError) as error:
                session.run(built.outputs, {x: 1.0})
            text = str(error.value)
            assert error.value.rule == "TPU101"
            assert text.count(__file__) >= 3, text
            assert "device" in text
            assert "host cluster" in text
            assert "'v'" in text
        else:
            assert session.run((built.done, built.outputs), {x: 1.0})[1] == (row.outputs,)
            assert session.run(v) == row.after
        output = [
            str(warning.message) for warning in caught if warning.category is StaleVariableWarning
        ]
        assert row.stale == bool(output)
        if output:
            assert any(f"cluster {row.word} the variable 'v'" in line for line in output), output
