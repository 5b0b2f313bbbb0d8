"""Every error of marking: its class, TensorFlow's class, its rule, and the user's line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import XLAControlFlowContext, assignment, queue
from tests.runtime.oracle.compare import marking_only

X = [1.0, 2.0]


def x() -> Any:
    return tf.constant(X)


def nested_clusters() -> Any:
    def outer(value: Any) -> Any:
        return tpu.outside_compilation(tf.sin, value)  # here

    return tpu.rewrite(lambda value: tpu.outside_compilation(outer, value), [x()])


def nested_computations() -> Any:
    def computation(value: Any) -> Any:
        return tpu.rewrite(lambda inner: inner + 1.0, [value])[0]  # here

    return tpu.rewrite(computation, [x()])


def called_cluster() -> Any:
    return tpu.rewrite(lambda v: tpu.outside_compilation(tf.sin(v)), [x()])  # here


def cluster_with_wrong_arguments() -> Any:
    return tpu.rewrite(lambda v: tpu.outside_compilation(lambda: v, v), [x()])  # here


def left_context() -> Any:
    def host(value: Any) -> Any:
        XLAControlFlowContext().Enter()
        return value

    return tpu.rewrite(lambda value: tpu.outside_compilation(host, value), [x()])  # here


def tensor_of_a_branch() -> Any:
    def computation(value: Any) -> Any:
        seen = []
        tf.cond(value[0] > 0.0, lambda: seen.append(value * 2.0) or value, lambda: value)
        return seen[0] + 1.0  # here

    return tpu.rewrite(computation, [x()])


def tensor_of_a_cluster() -> Any:
    def computation(value: Any) -> Any:
        seen = []
        tpu.outside_compilation(lambda v: seen.append(v * 2.0) or v, value)
        return seen[0] + 1.0  # here

    return tpu.rewrite(computation, [x()])


def inputs_in_one_list() -> Any:
    return tpu.replicate(lambda v: v, [x(), x()])  # here


def inputs_in_a_tuple() -> Any:
    return tpu.replicate(lambda v: v, ([x()], [x()]))  # here


def unequal_numbers() -> Any:
    return tpu.replicate(lambda *v: v[0], [[x()], [x(), x()]])  # here


def unequal_containers() -> Any:
    return tpu.replicate(lambda v: v, [[x()], (x(),)])  # here


def unequal_dtypes() -> Any:
    return tpu.replicate(lambda v: v, [[x()], [tf.constant([1, 2])]])  # here


def unequal_shapes() -> Any:
    return tpu.replicate(lambda v: v, [[x()], [tf.constant([1.0])]])  # here


def too_many_inputs() -> Any:
    return tpu.rewrite(lambda v: v, [x(), x()])  # here


def bound_method() -> Any:
    class Model:
        def step(self, value: Any) -> Any:
            return value

    return tpu.rewrite(Model().step, [x()])  # here


def too_many_from_the_queue() -> Any:
    return tpu.replicate(lambda v: v, infeed_queue=queue(2))  # here


def maximum_shapes_of_other_structure() -> Any:
    return tpu.replicate(lambda v: v, [[x()], [x()]], maximum_shapes=[[8]])  # here


def maximum_shapes_of_other_rank() -> Any:
    inputs = [[tf.ones([2])], [tf.ones([3])]]
    shapes = [tf.TensorShape([8, 8])]
    return tpu.replicate(lambda v: v, inputs, maximum_shapes=shapes)  # here


def maximum_shapes_and_a_queue() -> Any:
    shapes = [tf.TensorShape([8])]
    return tpu.replicate(lambda v: v, infeed_queue=queue(1), maximum_shapes=shapes)  # here


def operation_before_tensor() -> Any:
    return tpu.rewrite(lambda v: (tf.no_op(), v), [x()])  # here


def operation_in_a_structure() -> Any:
    return tpu.rewrite(lambda v: {"a": tf.no_op()}, [x()])  # here


def too_few_assigned() -> Any:
    cores = assignment(1, 1)
    return tpu.replicate(lambda v: v, [[x()], [x()]], device_assignment=cores)  # here


def too_many_assigned() -> Any:
    cores = assignment(2, 1)
    return tpu.replicate(lambda v: v, [[x()]], device_assignment=cores)  # here


def core_that_is_not_there() -> Any:
    def computation(value: Any) -> Any:
        with tf.device(tpu.core(1)):
            return value + 1.0  # here

    return tpu.rewrite(computation, [x()])


ROWS: list[tuple[Callable[[], Any], type[Exception], type[Exception], str]] = [
    (nested_clusters, tpu.NestedClusterError, NotImplementedError, "TPU201"),
    (nested_computations, tpu.NestedComputationError, ValueError, "TPU202"),
    (called_cluster, tpu.ClusterCalledError, TypeError, "TPU205"),
    (tensor_of_a_cluster, tpu.EscapedTensorError, ValueError, "TPU207"),
    (cluster_with_wrong_arguments, tpu.CalleeArityError, TypeError, "TPU208"),
    (left_context, tpu.ControlFlowContextError, NotImplementedError, "TPU301"),
    (tensor_of_a_branch, tpu.EscapedTensorError, ValueError, "TPU303"),
    (inputs_in_one_list, tpu.InputsNotPerReplicaError, TypeError, "TPU401"),
    (inputs_in_a_tuple, tpu.InputsNotPerReplicaError, TypeError, "TPU401"),
    (unequal_numbers, tpu.UnequalInputsError, ValueError, "TPU402"),
    (unequal_containers, tpu.UnequalInputsError, TypeError, "TPU402"),
    (unequal_dtypes, tpu.UnequalInputsError, ValueError, "TPU402"),
    (unequal_shapes, tpu.UnequalInputsError, ValueError, "TPU402"),
    (too_many_inputs, tpu.ArityError, TypeError, "TPU403"),
    (bound_method, tpu.ArityError, TypeError, "TPU403"),
    (too_many_from_the_queue, tpu.ArityError, TypeError, "TPU403"),
    (maximum_shapes_of_other_structure, tpu.MaximumShapesError, ValueError, "TPU404"),
    (maximum_shapes_of_other_rank, tpu.MaximumShapesError, ValueError, "TPU404"),
    (maximum_shapes_and_a_queue, tpu.MaximumShapesError, ValueError, "TPU404"),
    (operation_before_tensor, tpu.OutputOrderError, ValueError, "TPU407"),
    (operation_in_a_structure, tpu.OutputOrderError, ValueError, "TPU407"),
    (too_few_assigned, tpu.DeviceAssignmentError, tf.errors.InvalidArgumentError, "TPU408"),
    (too_many_assigned, tpu.DeviceAssignmentError, tf.errors.InvalidArgumentError, "TPU408"),
    (core_that_is_not_there, tpu.DeviceAssignmentError, tf.errors.InvalidArgumentError, "TPU408"),
]


@pytest.mark.parametrize(
    ("program", "ours", "theirs", "rule"), ROWS, ids=lambda value: getattr(value, "__name__", value)
)
def test_the_error_names_its_rule_and_the_users_line(
    program: Callable[[], Any], ours: type[Exception], theirs: type[Exception], rule: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(ours) as caught:
        program()
    error = caught.value
    assert isinstance(error, theirs)
    assert error.rule == rule
    lines, first = inspect.getsourcelines(program)
    marked = next(first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))
    assert error.place == f"{__file__}:{marked}"
    assert str(error).splitlines()[-1].startswith(f"  at {error.place} [{rule} ")


def test_an_array_of_inputs_is_refused_as_tensorflow_does() -> None:
    with tf.Graph().as_default(), pytest.raises(AttributeError, match="no attribute 'name'"):
        tpu.replicate(lambda v: v, [[np.float32(1.0), np.float32(2.0)]])


def test_no_replicas_are_nothing_and_their_first_an_index_error() -> None:
    with tf.Graph().as_default():
        assert tpu.split_compile_and_replicate(lambda: None, []) == []
        with pytest.raises(IndexError):
            tpu.replicate(lambda: None, [])


def test_what_a_computation_made_cannot_be_fetched() -> None:
    leaked = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        (result,) = tpu.rewrite(lambda v: leaked.append(v + 1.0) or leaked[0] * 2.0, [x()])
        assert session.run(result).tolist() == [4.0, 6.0]
        with pytest.raises(tpu.UnfetchableError, match="marked as not fetchable") as caught:
            session.run(leaked[0])
    assert isinstance(caught.value, ValueError)
    assert caught.value.rule == "TPU406"


def test_the_users_own_error_comes_out_as_it_is() -> None:
    def host() -> None:
        raise KeyError("the user's")

    with tf.Graph().as_default(), pytest.raises(KeyError) as caught:
        tpu.rewrite(lambda: tpu.outside_compilation(host))
    assert caught.type is KeyError


def test_a_nested_computation_in_a_function_has_tensorflows_other_class() -> None:
    def computation(value: Any) -> Any:
        @tf.function
        def inner(v: Any) -> Any:
            return tpu.rewrite(lambda w: w, [v])[0]

        return inner(value)

    with tf.Graph().as_default(), marking_only(), pytest.raises(NotImplementedError) as caught:
        tpu.rewrite(computation, [x()])
    assert "tpu_shard_context cannot be nested" in str(caught.value)


def test_an_error_keeps_its_class_place_and_rule_through_autograph() -> None:
    @tf.function
    def step(value: Any) -> Any:
        return tpu.replicate(lambda v: v, (value,))  # here

    with pytest.raises(tpu.InputsNotPerReplicaError) as caught:
        step(x())
    error = caught.value
    assert error.rule == "TPU401"
    line = inspect.getsourcelines(step.python_function)[1] + 2
    assert error.place == f"{__file__}:{line}"
    assert "received <class 'tuple'>" in str(error)


def test_an_operations_error_keeps_its_class_through_autograph() -> None:
    @tf.function
    def step() -> None:
        raise tpu.DeadlockError("all wait")

    with pytest.raises(tpu.DeadlockError) as caught:
        step()
    assert isinstance(caught.value, tf.errors.DeadlineExceededError)
    assert caught.value.rule == "TPU101"
    assert caught.value.message.count("TPU101") == 1


@pytest.mark.parametrize(
    ("replicas", "text"),
    [
        (3, "Requested num_replicas=3 but there are only 2 cores in the TPU topology"),
        (2, "TPUReplicate asked to create 2 replicas, but the number of cores in the TPU topology"),
    ],
)
def test_without_an_assignment_the_replicas_are_the_whole_topology(
    replicas: int, text: str
) -> None:
    cores = 2 if replicas == 3 else 4

    def build(count: int) -> Any:
        return tpu.replicate(lambda: tf.constant(1.0), [[]] * count)

    with tpu.emulated_tpu(num_replicas=cores), tf.Graph().as_default():
        build(1)
        build(cores)
        with pytest.raises(tpu.DeviceAssignmentError, match=text) as caught:
            build(replicas)
    assert caught.value.rule == "TPU408"


def test_an_assignment_of_a_larger_machine_than_the_emulated_one() -> None:
    refused = pytest.raises(tpu.DeviceAssignmentError, match="there are only 2 cores")
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default(), refused:
        inputs = [[tf.constant(1.0)] for _ in range(4)]
        tpu.replicate(lambda v: v, inputs, device_assignment=assignment(4, 2))
