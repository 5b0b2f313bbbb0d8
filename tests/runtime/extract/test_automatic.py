"""Automatic outside compilation: with soft placement, unsupported operations go to the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import control_flow
from tests.runtime.oracle.programs import MODES


@pytest.fixture(params=MODES)
def run(request: Any) -> Iterator[Any]:
    """Run a function's result, in a session or in a tf.function, with soft placement."""
    tf.config.set_soft_device_placement(True)
    with control_flow(request.param):
        yield in_function if request.param == "function" else in_session


def in_function(build: Any) -> Any:
    @tf.function(autograph=False)
    def step() -> Any:
        return build()

    return tf.nest.map_structure(lambda tensor: tensor.numpy(), step())


def in_session(build: Any) -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        result = build()
        session.run(tf.compat.v1.global_variables_initializer())
        return session.run(result)


def to_text_and_back(x: Any) -> Any:
    return tf.strings.to_number(tf.strings.join([tf.strings.as_string(x), "5"]))


def test_strings_go_to_the_host(run: Any) -> None:
    def computation(x: Any) -> Any:
        return to_text_and_back(x * 2.0) * 10.0

    outcome = run(lambda: tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]]))
    np.testing.assert_allclose(outcome, [[20.0], [40.0]], rtol=1e-5)


def test_a_function_of_python_goes_to_the_host(run: Any) -> None:
    def computation(x: Any) -> Any:
        y = tf.numpy_function(lambda v: v + np.float32(1.0), [x * 2.0], tf.float32)
        return tf.ensure_shape(y, []) * 3.0

    assert run(lambda: tpu.rewrite(computation, [tf.constant(1.0)])) == [9.0]


def test_in_a_loop_and_a_branch(run: Any) -> None:
    def computation(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, tf.cond(i < 2, lambda: y * 2.0, lambda: to_number(y))

        return tf.while_loop(lambda i, _: i < 4, body, [0, x])[1]

    def to_number(y: Any) -> Any:
        return tf.strings.to_number(tf.strings.as_string(y)) + 1.0

    assert run(lambda: tpu.rewrite(computation, [tf.constant(1.0)])) == [6.0]


def test_in_a_function_that_is_called(run: Any) -> None:
    @tf.function
    def called(x: Any) -> Any:
        return tf.strings.length(tf.strings.as_string(x)) * 2

    assert run(lambda: tpu.rewrite(lambda x: called(x + 9) + 1, [tf.constant(1)])) == [5]


def test_the_devices_own_functions_may_be_compiled(run: Any) -> None:
    @tf.function(jit_compile=True)
    def called(x: Any) -> Any:
        return to_text_and_back(x) + 1.0

    outcome = run(lambda: tpu.rewrite(called, [tf.constant(2.0)]))
    np.testing.assert_allclose(outcome, [3.0], rtol=1e-5)


def test_strings_are_carried_by_a_loop_on_the_host(run: Any) -> None:
    def computation(x: Any) -> Any:
        text = tf.while_loop(
            lambda i, _: i < 3,
            lambda i, text: (i + 1, tf.strings.join([text, tf.strings.as_string(i)])),
            [0, tf.strings.as_string(x)],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([])],
        )[1]
        return tf.strings.to_number(text, tf.int32) * 2

    assert run(lambda: tpu.rewrite(computation, [tf.constant(9)])) == [18024]


def test_strings_leave_the_computation(run: Any) -> None:
    assert run(lambda: tpu.rewrite(lambda x: tf.strings.as_string(x + 1), [tf.constant(4)])) == [
        b"5"
    ]


def test_prints_run_once_a_replica_and_in_order(run: Any, capfd: Any) -> None:
    def computation(x: Any) -> Any:
        tf.print("first", x)
        tf.print("second", x + 1)
        return x * 2

    outcome = run(lambda: tpu.replicate(computation, [[tf.constant(1)], [tf.constant(5)]]))
    assert outcome == [[2], [10]]
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if line in ("first 1", "second 2")] == ["first 1", "second 2"]
    assert [line for line in lines if line in ("first 5", "second 6")] == ["first 5", "second 6"]


def test_beside_a_cluster_of_the_users(run: Any) -> None:
    def computation(x: Any) -> Any:
        y = tpu.outside_compilation(to_text_and_back, x)
        return to_text_and_back(y * 2.0) + 1.0

    outcome = run(lambda: tpu.rewrite(computation, [tf.constant(1.0)]))
    np.testing.assert_allclose(outcome, [3.0], rtol=1e-5)


def test_a_variable_is_read_on_the_device(run: Any) -> None:
    leaked = [] if run is in_session else [tf.Variable(3.0)]

    def build() -> Any:
        variable = leaked[0] if leaked else tf.Variable(3.0)

        def computation() -> Any:
            with tf.control_dependencies([variable.assign_add(1.0)]):
                return to_text_and_back(variable) + 1.0

        return tpu.rewrite(computation)

    np.testing.assert_allclose(run(build), [5.0], rtol=1e-5)


def test_what_is_no_matter_of_placement_stays_an_error(run: Any) -> None:
    def computation(x: Any) -> Any:
        return tf.cast(tf.cast(x, tf.complex128), tf.float32)

    with pytest.raises(tpu.UnsupportedOpError) as caught:
        run(lambda: tpu.rewrite(computation, [tf.constant(1.0)]))
    assert caught.value.rule == "TPU504"


def test_without_soft_placement_it_is_the_error(run: Any) -> None:
    tf.config.set_soft_device_placement(False)
    with pytest.raises(tpu.UnsupportedOpError) as caught:
        run(lambda: tpu.rewrite(to_text_and_back, [tf.constant(1.0)]))
    assert caught.value.rule in ("TPU501", "TPU504")


@pytest.mark.filterwarnings("ignore::tpulint.runtime.PartialNanWarning")
def test_checks_of_numbers_are_added_to_no_operation_of_the_emulator() -> None:
    @tf.function
    def step(x: Any) -> Any:
        return tpu.replicate(tf.math.log, [[x], [x]])

    tf.config.set_soft_device_placement(True)
    tf.debugging.enable_check_numerics()
    try:
        assert [float(replica[0]) for replica in step(tf.constant(1.0))] == [0.0, 0.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Detected Infinity or NaN"):
            step(tf.constant(-1.0))
        tf.config.set_soft_device_placement(False)
        with pytest.raises(tpu.UnsupportedOpError, match="DebugNumericSummaryV2") as caught:
            tf.function(step.python_function)(tf.constant(1.0))
    finally:
        tf.debugging.disable_check_numerics()
    assert caught.value.rule == "TPU501"


def test_one_function_in_both_ways() -> None:
    """Soft placement is decided when a computation is built, also for what it calls."""
    called = tf.function(lambda x: tf.strings.length(tf.strings.as_string(x)))

    @tf.function
    def step(x: Any) -> Any:
        return tpu.rewrite(lambda v: tf.cond(v > 0, lambda: called(v), lambda: v), [x])

    tf.config.set_soft_device_placement(True)
    assert int(step(tf.constant(123))[0]) == 3
    tf.config.set_soft_device_placement(False)
    with pytest.raises(tpu.UnsupportedOpError):
        tf.function(step.python_function)(tf.constant(123))


def test_operations_that_hand_on_strings_share_a_cluster(run: Any) -> None:
    def computation(x: Any) -> Any:
        y = tf.sin(to_text_and_back(x))
        return to_text_and_back(y)

    with tpu.profile() as profile:
        run(lambda: tpu.rewrite(computation, [tf.constant(1.0)]))
    lanes = {total.lane: total.runs for total in profile.steps[0]}
    lanes.pop("device")
    assert lanes == {"host cluster auto0": 1, "host cluster auto1": 1}


def test_an_operation_that_only_a_tpu_compiles(run: Any) -> None:
    def computation(x: Any) -> Any:
        return tf.raw_ops.ResizeNearestNeighborGrad(grads=x * 2.0, size=[1, 1])

    outcome = run(lambda: tpu.rewrite(computation, [tf.ones([1, 2, 2, 1])]))
    np.testing.assert_allclose(outcome, [[[[[8.0]]]]])
