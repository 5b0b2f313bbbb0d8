"""Data are no constants of a device program, as on a TPU; constants and shapes are."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.tpu import tpu_feed

import tpulint.runtime as tpu
from tpulint.runtime.errors import OutsideCompilationNoOpWarning, UnsupportedOpError

Tensor = Any


@pytest.fixture(scope="module")
def strategy() -> Iterator[Any]:
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        yield tf.distribute.TPUStrategy(resolver)


def total(tensor: Tensor) -> Tensor:
    return tf.cast(tf.reduce_sum(tensor), tf.float32)


def on_the_host(tensor: Tensor) -> Tensor:
    return tpu.outside_compilation(lambda value: value + 1, tensor)


def refused(run: Callable[[], Any], function: Callable[..., Any]) -> None:
    """Check that `run` raises TPU502 at a line of `function`."""
    with pytest.raises(UnsupportedOpError, match="must be a compile-time constant") as caught:
        run()
    assert caught.value.rule == "TPU502"
    lines, first = inspect.getsourcelines(function)
    file, _, line = str(caught.value.place).rpartition(":")
    assert (file, int(line) in range(first, first + len(lines))) == (__file__, True)
    assert "dummy_file_name" not in str(caught.value)


# Shapes that depend on `n`, which is data.
REFUSED: dict[str, Callable[[Tensor], Tensor]] = {
    "tile": lambda n: total(tf.tile(tf.ones([1]), [n + 1])),
    "reshape": lambda n: total(tf.reshape(tf.ones([4]), [n, -1])),
    "fill": lambda n: total(tf.fill([n], 1.0)),
    "range": lambda n: total(tf.range(n)),
    "repeat": lambda n: total(tf.repeat([1.0, 2.0], n)),
    "one_hot": lambda n: total(tf.one_hot([0, 1], n)),
    "broadcast_to": lambda n: total(tf.broadcast_to(1.0, [n])),
    "axis": lambda n: total(tf.reduce_sum(tf.ones([2, 2]), n - 1)),
    "random": lambda n: total(tf.random.uniform([n])),
    "tensor array": lambda n: total(tf.TensorArray(tf.float32, n).write(0, 1.0).stack()),
    "branch": lambda n: tf.cond(n > 5, lambda: total(tf.fill([n], 1.0)), lambda: 0.0),
    "loop": lambda n: tf.while_loop(
        lambda i, _: i < 2, lambda i, s: (i + 1, s + total(tf.range(n))), (0, 0.0)
    )[1],
    "function": lambda n: tf.function(lambda m: total(tf.range(m)))(n),
    "result of a loop": lambda n: total(
        tf.range(tf.while_loop(lambda i: i < n, lambda i: (i + 1,), (0,))[0])
    ),
    "also a bound of a slice": lambda n: total(tf.ones([4])[:n]) + total(tf.range(n)),
    "host result": lambda n: total(tf.range(on_the_host(n))),
    "host result of a constant": lambda n: total(tf.range(on_the_host(tf.constant(1)))),
    "after a host cluster": lambda n: total(on_the_host(n)) * total(tf.range(n)),
    "collective": lambda n: total(tf.range(tpu.cross_replica_sum(n))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_shape_of_a_step_argument(strategy: Any, name: str) -> None:
    @tf.function
    def step(x: Tensor) -> Any:
        return strategy.run(lambda arguments: REFUSED[name](arguments[0]), args=(x,))

    refused(lambda: step(tf.constant([2])), REFUSED[name])


@pytest.mark.parametrize("soft", [True, False])
def test_a_shape_of_a_step_argument_with_soft_placement_or_without(
    strategy: Any, soft: bool
) -> None:
    before = tf.config.get_soft_device_placement()

    @tf.function
    def step(n: Tensor) -> Any:
        tf.config.set_soft_device_placement(soft)
        return strategy.run(REFUSED["tile"], args=(n,))

    try:
        refused(lambda: step(tf.constant(2)), REFUSED["tile"])
    finally:
        tf.config.set_soft_device_placement(before)


@pytest.mark.parametrize("name", ["tile", "reshape"])
def test_a_shape_of_a_placeholder(name: str) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        n = tf.compat.v1.placeholder(tf.int32, [])
        results = tpu.replicate(REFUSED[name], [[n], [n]])
        refused(lambda: session.run(results, {n: 2}), REFUSED[name])


@pytest.mark.parametrize("name", ["tile", "reshape"])
def test_a_shape_of_a_variable(strategy: Any, name: str) -> None:
    with strategy.scope():
        variable = tf.Variable(2)

    @tf.function
    def step() -> Any:
        return strategy.run(lambda: REFUSED[name](variable.read_value()))

    refused(step, REFUSED[name])


@pytest.mark.parametrize("name", ["tile", "reshape"])
def test_a_shape_of_an_infeed(name: str) -> None:
    queue = tpu_feed.InfeedQueue(tuple_types=[tf.int32], tuple_shapes=[[2]])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        queue.set_number_of_shards(2)
        fed = [[tf.constant([2])], [tf.constant([2])]]
        enqueue = queue.generate_enqueue_ops(fed, tpu_ordinal_function=lambda core: core)
        results = tpu.replicate(lambda x: REFUSED[name](x[0]), [[], []], infeed_queue=queue)
        refused(lambda: session.run([enqueue, results]), REFUSED[name])


def host(tensor: Tensor) -> Tensor:
    """Pass on `tensor` through a host cluster, which ends a segment."""
    return tpu.outside_compilation(lambda value: value + 0, tensor)


def sized(x: Tensor, size: Tensor) -> Tensor:
    """Use `size` as a shape, in the segment after a host cluster that takes `x`."""
    return total(host(x)) * total(tf.range(size))


def sized_in_a_branch(x: Tensor, size: Tensor) -> Tensor:
    return tf.cond(x[0, 0] > 0.0, lambda: sized(x, size), lambda: 0.0)


# The shape of `x` is known when the computation is compiled.
ACCEPTED: dict[str, Callable[[Tensor], Tensor]] = {
    "range": lambda x: total(tf.range(tf.shape(x)[0])),
    "reshape": lambda x: total(tf.reshape(x, [-1, tf.shape(x)[1] // 2])),
    "arithmetic": lambda x: total(tf.tile(x, [tf.size(x) // tf.shape(x)[0], tf.rank(x)])),
    "index": lambda x: total(x[tf.cast(x[0, 0], tf.int32)]),
    "begin": lambda x: total(tf.slice(x, [tf.cast(x[0, 0], tf.int32), 0], [1, 2])),
    "gather": lambda x: total(tf.gather(x, tf.cast(x[0], tf.int32) % 2)),
    "mask": lambda x: total(tf.boolean_mask(x, x[:, 0] > 1.0)),
    "map_fn": lambda x: total(tf.map_fn(lambda row: row * 2.0, x)),
    "scan": lambda x: total(tf.scan(lambda a, row: a + row, x)),
    "loop": lambda x: tf.while_loop(
        lambda i, _: i < 2, lambda i, s: (i + 1, s + total(tf.range(tf.shape(x)[0]))), (0, 0.0)
    )[1],
    "after a host cluster": lambda x: sized(x, tf.shape(x)[0]),
    "constant after a host cluster": lambda x: sized(x, tf.constant(2) * 3 + 1),
    "computed after a host cluster": lambda x: sized(x, tf.reduce_prod(tf.shape(x)) - 1),
    "shape of a local": lambda x: sized(x, tf.shape(tf.concat([x, x], 0))[0]),
    "function after a host cluster": lambda x: sized(x, tf.function(lambda y: tf.size(y) + 1)(x)),
    "branch around a host cluster": lambda x: sized_in_a_branch(x, 2 * tf.shape(x)[0]),
    "loop around a host cluster": lambda x: tf.while_loop(
        lambda i, *_: i < 2,
        lambda i, s, n: (i + 1, s + sized(x, n), n),
        (0, 0.0, 2 * tf.shape(x)[0]),
    )[1],
    "after a loop around a host cluster": lambda x: total(
        tf.range(
            tf.while_loop(
                lambda i, *_: i < 2,
                lambda i, s, n: (i + 1, s + total(host(x)), n),
                (0, 0.0, 2 * tf.shape(x)[0]),
            )[2]
        )
    ),
    "function around a host cluster": lambda x: tf.function(sized)(x, tf.shape(x)[0] + 1),
    "out of a function": lambda x: sized(
        x, tf.function(lambda y: (host(y), 2 * tf.shape(x)[0]))(x)[1]
    ),
}


STATIC = ["after a host cluster", "loop around a host cluster", "out of a function"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [*((name, [None, 2]) for name in ACCEPTED), *((name, [2, 2]) for name in STATIC)],
)
def test_a_shape_of_shapes_and_constants(name: str, shape: list[int | None]) -> None:
    value = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, shape)
        results = tpu.replicate(ACCEPTED[name], [[x], [x]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideCompilationNoOpWarning)
            plain = ACCEPTED[name](x)
        values, expected = session.run([results, plain], {x: value})
    assert values == [[pytest.approx(expected)]] * 2


def test_a_shape_of_shapes_after_a_collective() -> None:
    def computation(x: Tensor) -> Tensor:
        size = 2 * tf.shape(x)[0]
        return tf.reshape(tpu.cross_replica_sum(x), [size, -1])

    value = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [None, 2])
        results = session.run(tpu.replicate(computation, [[x], [x]]), {x: value})
    np.testing.assert_allclose(results, [[2.0 * value.reshape([4, 1])]] * 2)


def test_a_constant_of_the_code_around() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        size = tf.constant(3) + 1
        x = tf.compat.v1.placeholder(tf.float32, [])
        results = tpu.replicate(lambda y: total(tf.range(size)) * y, [[x], [x]])
        assert session.run(results, {x: 2.0}) == [[12.0]] * 2


def test_a_constant_of_the_function_around(strategy: Any) -> None:
    @tf.function
    def steps(x: Tensor) -> Any:
        size = tf.constant(3) + 1
        result = tf.zeros([])
        for _ in tf.range(2):
            run = strategy.run(lambda y: total(tf.range(size)) * y, args=(x,))
            result += strategy.reduce("SUM", run, axis=None)
        return result

    assert float(steps(tf.constant(2.0))) == 48.0


# A TPU's compiler takes these with a bound of their size; XLA for the CPU not in all releases.
SLICED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum of two": lambda x, n: x[:n] + x[1 : n + 1],
    "cumsum": lambda x, n: tf.cumsum(x[:n]),
    "slice": lambda x, n: tf.cumsum(tf.slice(x, [0, 0], [n, 2])),
    "top_k": lambda x, n: tf.cumsum(tf.math.top_k(x[:, 0], n)[0]),
    "computed": lambda x, n: tf.cumsum(x[: tf.maximum(n, 1)]),
    "function": lambda x, n: tf.function(lambda y, m: tf.cumsum(y[:m]))(x, n),
    "branch": lambda x, n: tf.cond(n > 1, lambda: total(tf.cumsum(x[:n])), lambda: 0.0),
    "loop": lambda x, n: tf.while_loop(
        lambda i, _: i < 2, lambda i, s: (i + 1, s + total(tf.cumsum(x[:n]))), (0, 0.0)
    )[1],
    "host result": lambda x, n: tf.cumsum(x[: host(n)]),
}


@pytest.mark.parametrize("name", SLICED)
def test_a_slice_as_large_as_an_argument_says(name: str) -> None:
    value = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [3, 2])
        n = tf.compat.v1.placeholder(tf.int32, [])
        results = tpu.replicate(SLICED[name], [[x, n], [x, n]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutsideCompilationNoOpWarning)
            plain = SLICED[name](x, n)
        for size in (1, 2):
            values, expected = session.run([results, plain], {x: value, n: size})
            for (of_replica,) in values:
                np.testing.assert_allclose(of_replica, expected)
