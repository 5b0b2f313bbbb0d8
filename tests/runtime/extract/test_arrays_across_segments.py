"""TensorArrays and the stacks of gradients, of TensorFlow 1, around host clusters and collectives.

Each program gets `host`, which calls a function in a host cluster, and `total`, a collective. With
one replica its values are those of plain calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.building import control_flow

LIMIT = {"maximum_iterations": 8}
X = np.float32([0.5, -0.7, 0.9])
Program = Callable[[Any, Any, Any], Any]


@pytest.fixture(autouse=True)
def _control_flow_of_tensorflow_1() -> Iterator[None]:
    with control_flow("graph, V1 control flow"):
        yield


def values(program: Program) -> Any:
    """Return the values of `program` as a TPU computation."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:

        def computation(x: Any) -> Any:
            return program(tpu.outside_compilation, tpu.cross_replica_sum, x)

        return session.run(tpu.rewrite(computation, [tf.constant(X)]))[0]


def plain_values(program: Program) -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(program(lambda f, *args: f(*args), tf.identity, tf.constant(X)))


def gradient(y: Any, x: Any) -> Any:
    return tf.gradients(y, x)[0]


def repeat(body: Callable[[Any, Any], Any], x: Any) -> Any:
    """Return `x` after three rounds of `body`, which gets the round's number."""
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: [i + 1, body(i, a)], [0, x], **LIMIT)[1]


def array(size: int) -> Any:
    return tf.TensorArray(tf.float32, size, clear_after_read=False, element_shape=[])


def map_with_a_cluster_in_its_body(host: Any, total: Any, x: Any) -> Any:
    return tf.map_fn(lambda e: host(tf.sin, e), x)


def map_after_a_collective(host: Any, total: Any, x: Any) -> Any:
    return tf.map_fn(tf.sin, total(x))


def map_in_a_map(host: Any, total: Any, x: Any) -> Any:
    inner = lambda e: tf.reduce_sum(tf.map_fn(lambda f: host(tf.sin, f) * e, x))  # noqa: E731
    return tf.map_fn(inner, x)


def map_in_a_branch(host: Any, total: Any, x: Any) -> Any:
    return tf.cond(x[0] > 0.0, lambda: tf.map_fn(lambda e: host(tf.sin, e), x), lambda: x)


def scan_with_a_cluster_in_its_body(host: Any, total: Any, x: Any) -> Any:
    return tf.scan(lambda a, e: host(lambda a, e: a * e + 1.0, a, e), x)


def fold_with_a_collective_in_its_body(host: Any, total: Any, x: Any) -> Any:
    return tf.foldl(lambda a, e: total(a * e + 1.0), x)


def array_that_is_written_and_read_around_clusters(host: Any, total: Any, x: Any) -> Any:
    a = array(6).write(0, x[0]).write(1, host(tf.sin, x[1])).scatter([2, 3], x[:2] * 2.0)
    y = total(host(tf.cos, x))
    a = a.write(4, y[0]).write(5, y[2])
    read = host(tf.cos, a.read(1)) + a.read(1)
    return a.stack() * tf.cast(a.size(), tf.float32) + tf.reduce_sum(a.gather([0, 2, 4])) + read


def array_that_is_split_and_concatenated(host: Any, total: Any, x: Any) -> Any:
    parts = tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, [1, 1, 1])
    rows = tf.TensorArray(tf.float32, 2).write(0, x).write(1, host(tf.cos, x))
    closed = array(1)
    with tf.control_dependencies([closed.close()]):
        return tf.concat([rows.concat(), host(tf.sin, parts.read(0)), parts.read(2)], 0)


def several_segments_in_one_loop(host: Any, total: Any, x: Any) -> Any:
    def body(i: Any, a: Any, rows: Any) -> Any:
        b = host(lambda v: v * v, total(host(tf.sin, a)) * 0.5)
        return i + 1, a + b, rows.write(i, b)

    start = (0, x, tf.TensorArray(tf.float32, 3))
    _, y, rows = tf.while_loop(lambda i, *_: i < 3, body, start, **LIMIT)
    return y + tf.reduce_sum(rows.stack(), 0)


def gradient_of_a_loop_before_a_cluster(host: Any, total: Any, x: Any) -> Any:
    return gradient(host(tf.sin, repeat(lambda i, a: a * a, x)), x)


def gradient_of_a_loop_before_a_collective(host: Any, total: Any, x: Any) -> Any:
    return gradient(total(repeat(lambda i, a: a * a, x)), x)


def gradient_of_a_loop_with_a_cluster(host: Any, total: Any, x: Any) -> Any:
    return gradient(repeat(lambda i, a: host(tf.sin, a) * a, x), x)


def gradient_of_a_loop_with_several_segments(host: Any, total: Any, x: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return host(tf.sin, total(host(tf.cos, a) * a)) + a

    return gradient(repeat(body, x) * x, x)


def gradient_of_a_loop_in_a_loop(host: Any, total: Any, x: Any) -> Any:
    return gradient(repeat(lambda i, a: a * repeat(lambda j, b: host(tf.sin, b) * a, a), x), x)


def gradient_of_a_loop_in_a_loop_before_a_cluster(host: Any, total: Any, x: Any) -> Any:
    y = repeat(lambda i, a: a * repeat(lambda j, b: tf.sin(b) * a, a), x)
    return gradient(host(tf.sin, y), x)


def gradient_of_a_loop_taken_in_a_branch(host: Any, total: Any, x: Any) -> Any:
    def branch() -> Any:
        return gradient(host(tf.sin, repeat(lambda i, a: a * a, x)), x)

    return tf.cond(x[0] > 0.0, branch, lambda: x)


def gradient_of_a_map_with_a_cluster(host: Any, total: Any, x: Any) -> Any:
    return gradient(tf.map_fn(lambda e: host(tf.sin, e) * e, x), x)


def gradient_of_a_scan_before_a_cluster(host: Any, total: Any, x: Any) -> Any:
    return gradient(host(tf.sin, tf.scan(lambda a, e: a * e + 1.0, x)), x)


def gradient_of_reads_that_add_up(host: Any, total: Any, x: Any) -> Any:
    a = array(4).write(0, x[0]).write(1, host(tf.sin, x[1])).scatter([2, 3], x[:2] * 2.0)
    read = a.read(1) * host(tf.cos, a.read(3)) + a.read(1)
    return gradient(read + tf.reduce_sum(tf.sin(host(tf.identity, a.stack()))), x)


def gradient_of_a_concatenation(host: Any, total: Any, x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, 2, element_shape=[3]).write(0, x).write(1, host(tf.cos, x))
    return gradient(tf.sin(host(tf.identity, rows.concat())), x)


def gradient_that_computes_again(host: Any, total: Any, x: Any) -> Any:
    @tf.recompute_grad  # type: ignore[untyped-decorator]
    def function(v: Any) -> Any:
        return host(tf.cos, v) * tf.sin(v)

    return gradient(total(repeat(lambda i, a: function(a) * x, x)), x)


PROGRAMS = [
    map_with_a_cluster_in_its_body,
    map_after_a_collective,
    map_in_a_map,
    map_in_a_branch,
    scan_with_a_cluster_in_its_body,
    fold_with_a_collective_in_its_body,
    array_that_is_written_and_read_around_clusters,
    array_that_is_split_and_concatenated,
    several_segments_in_one_loop,
    gradient_of_a_loop_before_a_cluster,
    gradient_of_a_loop_before_a_collective,
    gradient_of_a_loop_with_a_cluster,
    gradient_of_a_loop_with_several_segments,
    gradient_of_a_loop_in_a_loop,
    gradient_of_a_loop_in_a_loop_before_a_cluster,
    gradient_of_a_loop_taken_in_a_branch,
    gradient_of_a_map_with_a_cluster,
    gradient_of_a_scan_before_a_cluster,
    gradient_of_reads_that_add_up,
    gradient_of_a_concatenation,
    gradient_that_computes_again,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_those_of_plain_calls(program: Program) -> None:
    np.testing.assert_allclose(values(program), plain_values(program), rtol=1e-4)


def test_an_element_may_be_read_twice_as_xla_keeps_it() -> None:
    def program(host: Any, total: Any, x: Any) -> Any:
        a = tf.TensorArray(tf.float32, 1).write(0, x)
        first = host(tf.sin, a.read(0))
        with tf.control_dependencies([first]):
            return first + a.read(0)

    np.testing.assert_allclose(values(program), np.sin(X) + X, rtol=1e-5)


def test_replicas_have_arrays_of_their_own() -> None:
    def computation(x: Any) -> Any:
        return tf.map_fn(lambda e: tpu.outside_compilation(tf.sin, e) + tpu.cross_replica_sum(e), x)

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        results = session.run(tpu.replicate(computation, [[tf.constant(X)], [tf.constant(2 * X)]]))
    for (result,), x in zip(results, (X, 2 * X), strict=True):
        np.testing.assert_allclose(result, np.sin(x) + 3 * X, rtol=1e-5)


def test_a_loop_after_a_cluster_is_compiled_with_its_arrays() -> None:
    """TensorFlow creates an array where it can, before the cluster: nothing of it crosses."""
    graph = tf.Graph()
    with graph.as_default():
        x = tpu.rewrite(
            lambda x: tf.map_fn(tf.sin, tpu.outside_compilation(tf.cos, x)), [tf.constant(X)]
        )
    assert x
    functions = graph.as_graph_def().library.function
    compiled = [function for function in functions if function.attr["_XlaMustCompile"].b]
    kinds = [node.op for function in compiled for node in function.node_def]
    assert kinds.count("TensorArrayV3") == 2
    assert "While" in kinds


def array_that_grows(host: Any, total: Any, x: Any) -> Any:
    a = tf.TensorArray(tf.float32, 1, True, clear_after_read=False, element_shape=[])
    a = a.write(0, x[0])
    return a.write(1, host(tf.sin, a.read(0))).stack()


def gradient_of_a_conditional_in_a_loop(host: Any, total: Any, x: Any) -> Any:
    y = repeat(lambda i, a: tf.cond(i < 1, lambda: a * a, lambda: a), x)
    return gradient(host(tf.sin, y), x)


def gradient_of_a_conditional_with_a_cluster_in_a_loop(host: Any, total: Any, x: Any) -> Any:
    y = repeat(lambda i, a: tf.cond(i < 1, lambda: host(tf.sin, a) * a, lambda: a), x)
    return gradient(y, x)


def gradient_of_a_loop_in_a_conditional(host: Any, total: Any, x: Any) -> Any:
    y = tf.cond(x[0] > 0.0, lambda: repeat(lambda i, a: a * a, x), lambda: x)
    return gradient(host(tf.sin, y), x)


@pytest.mark.parametrize(
    ("program", "rule", "text"),
    [
        (array_that_grows, "TPU503", "TensorArrays with dynamic size"),
        (gradient_of_a_conditional_in_a_loop, "TPU501", "Uninitialized arguments: Stack"),
        (gradient_of_a_conditional_with_a_cluster_in_a_loop, "TPU501", "Uninitialized arguments"),
        (gradient_of_a_loop_in_a_conditional, "TPU501", "Uninitialized arguments: Stack"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_xla_refuses_is_refused_across_segments(
    program: Program, rule: str, text: str
) -> None:
    with pytest.raises(tpu.UnsupportedOpError, match=text) as caught:
        values(program)
    assert caught.value.rule == rule
    assert f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize(
    "program",
    [array_that_grows, gradient_of_a_conditional_in_a_loop, gradient_of_a_loop_in_a_conditional],
    ids=lambda program: program.__name__,
)
def test_xla_refuses_it_in_one_program(program: Program) -> None:
    """TensorFlow's own passes for XLA, on programs that run without it."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:

        def computation() -> Any:
            return program(lambda f, *args: f(*args), tf.identity, tf.constant(X))

        assert session.run(computation()).size
        compiled = tf.xla.experimental.compile(computation)
        with pytest.raises(tf.errors.OpError):
            session.run(compiled)
