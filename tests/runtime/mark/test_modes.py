"""The same call in a plain graph, in a tf.function and eagerly: results, and the marked graph."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.compare import marking_only

MARK = "_tpu_replicate"


def computation(x: Any) -> Any:
    text = tpu.outside_compilation(tf.strings.as_string, x)
    return tpu.outside_compilation(tf.strings.to_number, text) * 2.0


def marked(graph: Any) -> list[str]:
    return [op.type for op in graph.get_operations() if MARK in op.node_def.attr]


def test_in_a_plain_graph_the_marks_stand_in_the_users_graph() -> None:
    with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
        placeholder = tf.compat.v1.placeholder(tf.float32, [])
        results = tpu.replicate(computation, [[placeholder], [placeholder + 1.0]])
        assert session.run(results, {placeholder: 3.0}) == [[6.0], [8.0]]
        assert tpu.marked_graph(results) is graph
    assert marked(graph).count("AsString") == 1


def test_in_a_function_they_stand_in_a_graph_of_their_own() -> None:
    actual = []

    @tf.function
    def step(x: Any) -> Any:
        results = tpu.replicate(computation, [[x], [x + 1.0]])
        actual.append(tpu.marked_graph(results))
        return results

    assert tf.nest.map_structure(float, step(tf.constant(3.0))) == [[6.0], [8.0]]
    concrete = step.get_concrete_function(tf.constant(3.0))
    assert marked(concrete.graph) == []
    assert marked(actual[0]).count("AsString") == 1
    assert tpu.marked_graph(concrete) is actual[0]


def test_an_eager_call_is_traced_and_run() -> None:
    results = tpu.replicate(computation, [[tf.constant(3.0)], [tf.constant(4.0)]])
    assert tf.nest.map_structure(float, results) == [[6.0], [8.0]]
    assert marked(tpu.marked_graph(results)).count("AsString") == 1


def test_an_eager_computation_without_tensors_has_run() -> None:
    variable = tf.Variable(1.0)

    def add() -> None:
        variable.assign_add(2.0)

    assert tpu.rewrite(add) is None
    assert float(variable) == 3.0


def test_what_comes_from_no_computation_has_no_marked_graph() -> None:
    with pytest.raises(ValueError, match="no output of a TPU computation"):
        tpu.marked_graph(tf.constant(1.0))


def test_the_marks_take_no_name_of_the_users_operations_away() -> None:
    """The operations that run the step have one name scope of their own."""
    with tf.Graph().as_default() as graph, marking_only():
        first = tpu.rewrite(lambda x: x + 1.0, [tf.constant(1.0)])[0]
        tpu.rewrite(lambda x: x + 1.0, [first])
        names = {op.name for op in graph.get_operations()}
        ours = {name for name in names if name.startswith("tpulint/")}
    assert {"cluster/pivot", "cluster_1/pivot", "add", "add_1", "input0", "input0_1"} <= names
    assert ours
    assert not any(MARK in graph.get_operation_by_name(n).node_def.attr for n in ours)


def test_results_keep_their_static_shape_and_structure() -> None:
    with tf.Graph().as_default():
        results = tpu.replicate(
            lambda x: {"a": x, "b": (None, tf.sparse.from_dense(x))},
            [[tf.constant([1.0, 2.0])]],
        )
    assert results[0]["a"].shape == [2]
    assert results[0]["b"][0] is None
    assert isinstance(results[0]["b"][1], tf.SparseTensor)


def test_the_compilation_status_is_an_empty_message() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        status, _ = tpu.split_compile_and_replicate(lambda x: x + 1.0, [[tf.constant(1.0)]])
        assert session.run(status) == b""


@pytest.mark.parametrize(
    "name",
    [
        "replicate",
        "rewrite",
        "shard",
        "batch_parallel",
        "outside_compilation",
        "core",
        "cross_replica_sum",
        "CrossShardOptimizer",
    ],
)
def test_names_and_parameters_are_tensorflows(name: str) -> None:
    theirs = inspect.signature(getattr(tf.compat.v1.tpu, name)).parameters.values()
    ours = inspect.signature(getattr(tpu, name)).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [
        (p.name, p.kind, p.default) for p in theirs
    ]


def test_every_name_of_the_public_face_is_there() -> None:
    assert all(hasattr(tpu, name) for name in tpu.__all__)
    public = {name for name in dir(tf.compat.v1.tpu) if not name.startswith("_")}
    assert public - set(dir(tpu)) == {"initialize_system", "shutdown_system"}
