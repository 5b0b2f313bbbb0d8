"""The arguments and results of `strategy.run`."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


def local(strategy: Any, value: Any) -> list[Any]:
    return [result.numpy().tolist() for result in strategy.experimental_local_results(value)]


def replica_id() -> Any:
    return tf.distribute.get_replica_context().replica_id_in_sync_group


def test_nested_structures_and_none(strategy: Any) -> None:
    @tf.function
    def step(batch: Any) -> Any:
        def replica_fn(batch: Any, *, scale: Any, missing: Any = None) -> Any:
            assert missing is None
            return {"x": batch["x"] * scale, "pair": (batch["y"][0], None), "empty": []}

        return strategy.run(replica_fn, args=(batch,), kwargs={"scale": 2.0, "missing": None})

    result = step({"x": tf.constant([1.0, 2.0]), "y": [tf.constant(3)]})
    assert local(strategy, result["x"]) == [[2.0, 4.0]] * 2
    assert local(strategy, result["pair"][0]) == [3, 3]
    assert result["pair"][1] is None
    assert result["empty"] == []


def test_a_step_without_results(strategy: Any) -> None:
    with strategy.scope():
        count = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

    @tf.function
    def step() -> Any:
        def replica_fn() -> None:
            count.assign_add(1)

        return strategy.run(replica_fn)

    assert step() is None
    assert int(count.read_value()) == 1


def test_sparse_and_ragged_tensors(strategy: Any) -> None:
    @tf.function
    def step(sparse: Any, ragged: Any) -> Any:
        def replica_fn(sparse: Any, ragged: Any) -> Any:
            constant = tf.constant([2, 2], tf.int64)  # its own dense shape is data
            return tf.scatter_nd(sparse.indices, sparse.values, constant), ragged + 1.0

        return strategy.run(replica_fn, args=(sparse, ragged))

    dense, plus_one = step(
        tf.sparse.from_dense([[1.0, 0.0], [2.0, 3.0]]), tf.ragged.constant([[1.0], [2.0, 3.0]])
    )
    assert local(strategy, dense) == [[[1.0, 0.0], [2.0, 3.0]]] * 2
    (first, second) = strategy.experimental_local_results(plus_one)
    assert first.to_list() == second.to_list() == [[2.0], [3.0, 4.0]]


def test_a_value_for_each_replica(strategy: Any) -> None:
    distributed = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(10.0 * context.replica_id_in_sync_group)
    )

    @tf.function
    def step(value: Any) -> Any:
        return strategy.run(lambda x: x + tf.cast(replica_id(), tf.float32), args=(value,))

    assert local(strategy, step(distributed)) == [0.0, 11.0]


@pytest.mark.parametrize("from_function", [False, True])
def test_distributed_datasets(strategy: Any, from_function: bool) -> None:
    def dataset(context: Any = None) -> Any:
        size = context.get_per_replica_batch_size(4) if context else 4
        return tf.data.Dataset.range(8, output_type=tf.float32).batch(size, drop_remainder=True)

    if from_function:
        batches = strategy.distribute_datasets_from_function(dataset)
    else:
        batches = strategy.experimental_distribute_dataset(dataset())

    @tf.function
    def epoch(iterator: Any) -> Any:
        total = tf.constant(0.0)
        for _ in tf.range(2):
            sums = strategy.run(tf.reduce_sum, args=(next(iterator),))
            total += strategy.reduce("SUM", sums, axis=None)
        return total

    assert float(epoch(iter(batches))) == sum(range(8))


def test_a_last_batch_that_is_smaller(strategy: Any) -> None:
    dataset = tf.data.Dataset.range(5, output_type=tf.float32).batch(4)
    batches = strategy.experimental_distribute_dataset(dataset)

    @tf.function
    def step(batch: Any) -> Any:
        def replica_fn(x: Any) -> Any:
            return tf.reduce_sum(x), tf.shape(x)[0]

        return strategy.run(replica_fn, args=(batch,))

    seen = [[local(strategy, part) for part in step(batch)] for batch in batches]
    assert seen == [[[1.0, 5.0], [2, 2]], [[4.0, 0.0], [1, 0]]]


@pytest.mark.parametrize(
    "options",
    [
        tf.distribute.RunOptions(),
        tf.distribute.RunOptions(experimental_bucketizing_dynamic_shape=True),
        tf.distribute.RunOptions(
            experimental_xla_options=tf.tpu.XLAOptions(enable_xla_dynamic_padder=False)
        ),
    ],
)
def test_run_options(strategy: Any, options: Any) -> None:
    dataset = tf.data.Dataset.range(6, output_type=tf.float32).batch(4)
    batches = strategy.experimental_distribute_dataset(dataset)

    @tf.function
    def step(value: Any) -> Any:
        return strategy.run(tf.reduce_sum, args=(value,), options=options)

    assert [local(strategy, step(batch)) for batch in batches] == [[1.0, 5.0], [4.0, 5.0]]


def test_the_eager_call_is_refused_as_tensorflow_does(strategy: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"does not support pure eager\s+execution"):
        strategy.run(lambda x: x + 1.0, args=(tf.constant(1.0),))
    run = strategy.run(tf.function(lambda x: x + 1.0), args=(tf.constant(1.0),))
    assert local(strategy, run) == [2.0, 2.0]


def test_a_function_that_runs_eagerly_is_refused(strategy: Any) -> None:
    tf.config.run_functions_eagerly(True)
    try:
        with pytest.raises(tpu.EagerExecutionError, match="pure eager execution") as caught:
            strategy.run(tf.function(lambda x: x + 1.0), args=(tf.constant(1.0),))
        doubled = tpu.replicate(lambda x: x * 2.0, [[tf.constant(1.0)], [tf.constant(2.0)]])
    finally:
        tf.config.run_functions_eagerly(False)
    assert (caught.value.rule, type(caught.value).__mro__.count(AttributeError)) == ("TPU706", 1)
    assert [float(result[0]) for result in doubled] == [2.0, 4.0]


def test_variables_as_arguments(strategy: Any) -> None:
    with strategy.scope():
        weight = tf.Variable(3.0)

    @tf.function
    def step(x: Any) -> Any:
        return strategy.run(lambda v, x: v.assign_add(x), args=(weight, x))

    assert local(strategy, step(tf.constant(2.0))) == [5.0, 5.0]
    assert local(strategy, weight) == [5.0, 5.0]


def test_results_say_on_which_core_they_are(strategy: Any) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return strategy.run(lambda y: y * 2.0, args=(x,))

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x), x

    results, other = outer(tf.constant(1.0))
    name = "/job:localhost/replica:0/task:0/device:"
    assert [value.device for value in results.values] == [f"{name}TPU:0", f"{name}TPU:1"]
    assert [value.backing_device for value in results.values] == [f"{name}TPU:0", f"{name}TPU:1"]
    assert other.device == f"{name}CPU:0"


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("elements", [4, 3])
def test_what_comes_out_of_an_optional_is_on_its_core(
    strategy: Any, elements: int, in_function: bool
) -> None:
    def first(iterator: Any) -> Any:
        return iterator.get_next_as_optional().get_value()

    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(elements).batch(2))
    actual = (tf.function(first) if in_function else first)(iter(batches))
    cores = [result.device[-5:] for result in strategy.experimental_local_results(actual)]
    assert cores == ["TPU:0", "TPU:1"]


def test_the_devices_of_a_replica(strategy: Any) -> None:
    seen = []

    @tf.function
    def step() -> Any:
        def replica_fn() -> Any:
            seen.append(tf.distribute.get_replica_context().devices)
            return tf.constant(1.0)

        return strategy.run(replica_fn)

    step()
    assert seen == [("/device:TPU_REPLICATED_CORE:0",)] or seen == [(tpu.core(0),)]


def test_jit_compile_around_a_step_has_no_effect(strategy: Any) -> None:
    output: list[float] = []

    def tell(x: Any) -> None:
        tf.py_function(lambda value: output.append(float(value)), [x], [])

    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(y: Any) -> Any:
            tf.compat.v1.tpu.outside_compilation(tell, y)
            return y + 1.0

        return strategy.run(replica_fn, args=(x,))

    @tf.function(jit_compile=True)
    def outer(x: Any) -> Any:
        return step(x + 1.0)

    assert local(strategy, step(tf.constant(0.0))) == [1.0, 1.0]
    assert local(strategy, outer(tf.constant(1.0))) == [3.0, 3.0]
    assert output == [0.0, 0.0, 2.0, 2.0]


@pytest.mark.parametrize("drop_remainder", [True, False])
def test_what_an_iterator_gives_says_on_which_core_it_is(
    strategy: Any, drop_remainder: bool
) -> None:
    data = tf.data.Dataset.range(10).batch(4, drop_remainder=drop_remainder)

    @tf.function
    def inner(iterator: Any) -> Any:
        return next(iterator)

    @tf.function
    def outer(iterator: Any) -> Any:
        return inner(iterator), next(iterator)

    iterator = iter(strategy.experimental_distribute_dataset(data))
    name = "/job:localhost/replica:0/task:0/device:"
    for batch in outer(iterator):
        assert [value.backing_device for value in batch.values] == [f"{name}TPU:0", f"{name}TPU:1"]


def test_what_an_optional_of_an_iterator_gives_says_on_which_core_it_is(strategy: Any) -> None:
    @tf.function
    def step(iterator: Any) -> Any:
        return iterator.get_next_as_optional().get_value()

    data = tf.data.Dataset.range(8).batch(4, drop_remainder=True)
    iterator = iter(strategy.experimental_distribute_dataset(data))
    name = "/job:localhost/replica:0/task:0/device:"
    devices = [value.backing_device for value in step(iterator).values]
    assert devices == [f"{name}TPU:0", f"{name}TPU:1"]


def test_no_warning_for_padding_that_the_strategy_asks_for(strategy: Any) -> None:
    options = tf.distribute.RunOptions(experimental_bucketizing_dynamic_shape=True)

    @tf.function
    def step(x: Any) -> Any:
        return strategy.run(lambda y: y * 2.0, args=(x,), options=options)

    with warnings.catch_warnings():
        warnings.simplefilter("error", tpu.PaddingWarning)
        assert local(strategy, step(tf.constant([1.0]))) == [[2.0], [2.0]]
