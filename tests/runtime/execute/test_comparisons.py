"""The warnings of a watched step about what its replicas get and give, on two hosts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.execute.probes import watch_segments

Dataset = Callable[[Any], Any]


@pytest.fixture(scope="module")
def strategy() -> Iterator[Any]:
    with tpu.emulated_tpu(num_replicas=2, hosts=2), watch_segments(lambda run: None):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("pod")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        yield tf.distribute.TPUStrategy(resolver)


def warned(strategy: Any, function: Callable[..., Any], batches: Any) -> list[Any]:
    """Return the warnings of steps that run `function` on `batches`."""

    @tf.function
    def step(x: Any) -> Any:
        return strategy.run(function, args=(x,))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for x in batches:
            step(x)
    ours = [warning.message for warning in caught]
    return [problem for problem in ours if isinstance(problem, tpu.errors.RuntimeFaultWarning)]


def rows(count: int) -> Any:
    numbers = tf.range(1.0, count + 1.0)[:, tf.newaxis] * tf.ones([1, 2])
    return tf.data.Dataset.from_tensor_slices(numbers)


@pytest.mark.parametrize("shards", [False, True])
def test_hosts_that_give_the_same_rows(strategy: Any, shards: bool) -> None:
    def dataset(context: Any) -> Any:
        number = context.num_input_pipelines if shards else 1
        return rows(12).shard(number, context.input_pipeline_id % number).batch(2, True)

    batches = strategy.distribute_datasets_from_function(dataset)
    actual = warned(strategy, tf.reduce_sum, batches)
    assert [type(item) for item in actual] == [] if shards else [tpu.EqualRowsWarning]
    assert all(item.rule == "TPU714" and "2 hosts" in str(item) for item in actual)


def test_rows_that_tell_nothing_are_not_compared(strategy: Any) -> None:
    def dataset(_: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices(tf.ones([12, 2])).batch(2, True)

    assert not warned(strategy, tf.reduce_sum, strategy.distribute_datasets_from_function(dataset))


@pytest.mark.parametrize(
    ("function", "kinds"),
    [(tf.reduce_mean, [tpu.EmptyReplicaWarning]), (tf.reduce_sum, []), (tf.math.square, [])],
    ids=["mean of nothing", "sum of nothing", "predictions of nothing"],
)
def test_a_replica_without_rows(strategy: Any, function: Any, kinds: list[type]) -> None:
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = rows(5).batch(4).with_options(options)
    actual = warned(strategy, function, strategy.experimental_distribute_dataset(dataset))
    assert [type(item) for item in actual] == kinds
    assert all(item.rule == "TPU605" and "1 got no rows" in str(item) for item in actual)


def test_a_result_that_is_no_number_on_one_replica(strategy: Any) -> None:
    def loss(x: Any) -> Any:
        return tf.reduce_mean(tf.math.log(x))

    def batch(*values: float) -> Any:
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([values[context.replica_id_in_sync_group]])
        )

    # What is no number anywhere shows by itself.
    assert not warned(strategy, loss, [batch(1.0, 2.0), batch(-1.0, -2.0)])
    (warning,) = warned(strategy, loss, [batch(1.0, -1.0), batch(1.0, -2.0)])
    assert type(warning) is tpu.PartialNanWarning
    assert "(NaN) on replica 1, and is one on the others" in str(warning)
    assert warning.place == f"{__file__}:{loss.__code__.co_firstlineno + 1}"


def test_random_numbers_that_are_the_same_everywhere(strategy: Any) -> None:
    with strategy.scope():
        generator = tf.random.Generator.from_seed(3)

    def noise(x: Any) -> Any:
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        own = tf.random.stateless_normal([2], seed=[3, replica])
        total = own + generator.uniform([2]) + tf.random.uniform([2], seed=1)
        for number in range(2):
            total += tf.random.stateless_uniform([2], seed=[3, number])
        return total + x

    actual = warned(strategy, noise, [tf.constant(1.0)])
    assert [item.rule for item in actual] == ["TPU716"]
    assert actual[0].place == f"{__file__}:{noise.__code__.co_firstlineno + 5}"


def test_batches_with_the_shapes_of_tensorflow_1(strategy: Any) -> None:
    # `tf.disable_v2_behavior()` makes the sizes of a shape objects that cannot be hashed.
    tf.compat.v1.disable_v2_tensorshape()
    try:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            parts = [[tf.fill([2, 3], float(number))] for number in range(2)]
            sums = tpu.replicate(tf.reduce_sum, parts)
            assert session.run(sums) == [[0.0], [6.0]]
    finally:
        tf.compat.v1.enable_v2_tensorshape()
