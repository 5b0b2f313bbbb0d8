"""outside_compilation: arguments, names, cores, and where it does nothing."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.compare import marking_only


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph, marking_only():
        yield graph


def cluster(op: Any) -> str | None:
    attrs = op.node_def.attr
    actual = attrs["_xla_outside_compilation"].s if "_xla_outside_compilation" in attrs else None
    return None if actual is None else actual.decode()


def test_args_is_the_list_of_positional_arguments_as_in_the_first_version() -> None:
    leaked = []

    def host(a: Any, b: Any) -> Any:
        leaked.append(tf.subtract(a, b))
        return leaked[0]

    tpu.rewrite(lambda x: tpu.outside_compilation(host, args=[x, x]), [tf.constant(1.0)])
    assert cluster(leaked[0].op) == "0"


def test_no_args_at_all_as_in_the_first_version() -> None:
    leaked = []

    def host() -> None:
        leaked.append(tf.no_op())

    tpu.rewrite(lambda: tpu.outside_compilation(host, args=None))
    assert cluster(leaked[0]) == "0"


def test_a_parameter_of_the_users_own_is_called_args() -> None:
    seen = []

    def host(args: Any) -> None:
        seen.append(args)

    tpu.rewrite(lambda: tpu.outside_compilation(host, args=[1, 2]))
    assert seen == [[1, 2]]


def test_clusters_are_counted_and_those_of_another_computation_anew(graph: Any) -> None:
    def computation(x: Any) -> Any:
        return tpu.outside_compilation(tf.sin, x), tpu.outside_compilation(tf.cos, x)

    tpu.rewrite(computation, [tf.constant(1.0)])
    tpu.rewrite(computation, [tf.constant(1.0)])
    names = ["Sin", "Cos", "Sin_1", "Cos_1"]
    assert [cluster(graph.get_operation_by_name(n)) for n in names] == ["0", "1", "0", "1"]


def test_the_core_of_a_cluster_is_noted_and_the_cluster_stands_on_the_outer_device(
    graph: Any,
) -> None:
    def computation(x: Any) -> Any:
        with tf.device(tpu.core(1)):
            x = tpu.outside_compilation(tf.sin, x)
        x = tpu.outside_compilation(tf.cos, x)
        with tf.device(tpu.core(0)):
            return tpu.outside_compilation(tf.tan, x)

    with tf.device("/job:foo"):
        tpu.rewrite(computation, [tf.constant(1.0)])
    metadata = graph.get_operation_by_name("TPUReplicateMetadata")
    assert metadata.get_attr("host_compute_core") == [b"0:1", b"2:0"]
    assert graph.get_operation_by_name("Sin").device == "/job:foo"


def test_one_replicas_host_operation_can_be_fetched_and_no_other(graph: Any) -> None:
    def computation(x: Any) -> Any:
        return tpu.outside_compilation(tf.sin, x) + 1.0

    tpu.rewrite(computation, [tf.constant(1.0)])
    tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(1.0)]])
    assert graph.is_fetchable(graph.get_operation_by_name("Sin"))
    for name in ("add", "Sin_1", "add_1"):
        with pytest.raises(tpu.UnfetchableError):
            graph.is_fetchable(graph.get_operation_by_name(name))


def test_the_shards_of_an_input_are_marked(graph: Any) -> None:
    tpu.rewrite(lambda x: tpu.experimental_map_outside_compilation(tf.sin, x), [tf.constant([1.0])])
    assert graph.get_operation_by_name("Sin").get_attr("_xla_map_outside_compilation")


def test_outside_any_computation_it_is_a_plain_call_and_a_warning() -> None:
    with pytest.warns(tpu.OutsideCompilationNoOpWarning) as caught:
        assert tpu.outside_compilation(lambda a: a + 1, 2) == 3
    assert caught[0].message.rule == "TPU203"
    assert caught[0].message.place == f"{caught[0].filename}:{caught[0].lineno}"
    assert caught[0].filename == __file__


def test_where_the_context_is_cleared_it_is_a_plain_call_and_a_warning() -> None:
    def computation(x: Any) -> Any:
        with tf.control_dependencies(None):
            tpu.outside_compilation(lambda: tf.constant(1.0))
        return x

    with pytest.warns(tpu.ContextClearedWarning) as caught:
        tpu.rewrite(computation, [tf.constant(1.0)])
    assert caught[0].message.rule == "TPU302"


def test_in_a_function_init_scope_leaves_the_computation_with_a_warning() -> None:
    """Missed alarm: the graph stays the default one while the operations run eagerly."""

    def computation(x: Any) -> Any:
        with tf.init_scope():
            tpu.outside_compilation(lambda: tf.constant(1.0))
        return x

    @tf.function(autograph=False)
    def step(x: Any) -> Any:
        return tpu.rewrite(computation, [x])

    with pytest.warns(tpu.ContextClearedWarning) as caught:
        step(tf.constant(1.0))
    assert caught[0].message.rule == "TPU302"


def test_in_a_function_the_inner_of_two_clusters_wins_and_there_is_a_warning() -> None:
    leaked = []

    def inner(v: Any) -> Any:
        leaked.append(tf.sin(v))
        return leaked[0]

    @tf.function(autograph=False)
    def step(x: Any) -> Any:
        host = lambda v: tpu.outside_compilation(inner, v)  # noqa: E731
        return tpu.rewrite(lambda v: tpu.outside_compilation(host, v), [x])

    with pytest.warns(tpu.NestedClusterWarning) as caught:
        step.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert caught[0].message.rule == "TPU201"
    assert cluster(leaked[0].op) == "1"


@pytest.mark.parametrize(
    ("inputs_of_replicas", "shapes", "warned"),
    [
        ([[[1.0]]], None, True),
        ([[[1.0]]], [tf.TensorShape([4])], True),
        ([[[1.0]], [[2.0]]], [tf.TensorShape([4])], True),
        ([[[1.0]], [[2.0, 3.0]]], [tf.TensorShape([4])], False),
    ],
)
def test_a_warning_for_padding_without_effect(
    inputs_of_replicas: Any, shapes: Any, warned: bool
) -> None:
    inputs = [[tf.constant(value) for value in replica] for replica in inputs_of_replicas]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tpu.replicate(
            lambda x: tf.reduce_sum(x),
            inputs,
            maximum_shapes=shapes,
            padding_spec=tpu.PaddingSpec.AUTO,
        )
    rules = [w.message.rule for w in caught if isinstance(w.message, tpu.PaddingWarning)]
    assert rules == (["TPU409"] if warned else [])


def test_a_hand_written_guard_can_ask_which_cluster_is_open() -> None:
    clusters = []

    def ask() -> Any:
        context = tf.compat.v1.get_default_graph()._get_control_flow_context()
        clusters.append(context._outside_compilation_cluster)
        return tf.constant(1.0)

    def computation() -> Any:
        outside = ask()
        return outside + tpu.outside_compilation(ask) + ask()

    tpu.rewrite(computation)
    assert clusters == [None, "0", None]


@pytest.mark.parametrize(
    "cleared", [tf.init_scope, lambda: tf.control_dependencies(None)], ids=["init", "dependencies"]
)
def test_a_context_that_was_cleared_before_and_is_restored_inside(cleared: Any) -> None:
    """TensorFlow compares the contexts also where no computation is around any more."""

    def computation(x: Any) -> Any:
        scope = cleared()
        scope.__enter__()

        def host(a: Any) -> Any:
            scope.__exit__(None, None, None)
            return a + 1.0

        return tpu.outside_compilation(host, x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tpu.ContextClearedWarning)
        with pytest.raises(tpu.ControlFlowContextError, match="cannot be different") as error:
            tpu.rewrite(computation, [tf.constant(1.0)])
    assert error.value.rule == "TPU301"
