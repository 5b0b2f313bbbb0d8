"""Variables of a strategy's scope, and collectives of its replicas."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.errors import warnings_sent_to


def local(strategy: Any, value: Any) -> list[Any]:
    return [result.numpy().tolist() for result in strategy.experimental_local_results(value)]


def of_two_cores_a_replica(*, num_replicas: int, spmd: bool) -> Any:
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    assignment = tf.tpu.experimental.DeviceAssignment.build(
        topology, computation_shape=[1, 1, 1, 2], num_replicas=num_replicas
    )
    return tf.distribute.TPUStrategy(
        resolver,
        experimental_device_assignment=assignment,
        experimental_spmd_xla_partitioning=spmd,
    )


def rank() -> Any:
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def test_a_variable_that_drifts_is_reported_once(strategy: Any) -> None:
    with strategy.scope():
        drifting = tf.Variable(1.0, name="drifting")
        summed = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
        on_read = tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ)
        alike = tf.Variable(1.0)

    def replica_fn() -> Any:
        summed.assign_add(rank())
        on_read.assign_add(rank())
        alike.assign_add(tf.distribute.get_replica_context().all_reduce("SUM", rank()))
        drifting.assign_add(rank())
        return drifting.read_value()

    @tf.function
    def step() -> None:
        strategy.run(replica_fn)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step()
        step()
    (warning,) = [
        caught_warning
        for caught_warning in caught
        if issubclass(caught_warning.category, tpu.UnsynchronizedVariableWarning)
    ]
    assert "'drifting' on cores 0 and 1 differ" in str(warning.message)
    assert warning.message.rule == "TPU710"
    line = replica_fn.__code__.co_firstlineno + 4
    assert (warning.filename, warning.lineno) == (__file__, line)


@pytest.mark.parametrize("inside", ["branch", "loop", "call"])
def test_a_variable_that_drifts_inside_control_flow(strategy: Any, inside: str) -> None:
    with strategy.scope():
        variable = tf.Variable(1.0)

    def replica_fn() -> Any:
        value = rank()
        add = lambda: variable.assign_add(value)  # noqa: E731
        if inside == "branch":
            tf.cond(value >= 0.0, add, lambda: variable)
        elif inside == "loop":
            tf.while_loop(lambda i: i < 2, lambda i: (i + tf.cast(add() < 0.0, tf.int32) + 1,), [0])
        else:
            tf.function(add)()
        return variable.read_value()

    with pytest.warns(tpu.UnsynchronizedVariableWarning, match="cores 0 and 1"):

        @tf.function
        def step() -> None:
            strategy.run(replica_fn)

        step()


def sum_of(value: Any) -> Any:
    return tf.distribute.get_replica_context().all_reduce("SUM", value)


def in_a_loop(function: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x + function()), [0, 0.0])[1]


@pytest.mark.parametrize(
    ("use", "warns"),
    [
        ("sum_of(collected / 2.0)", False),
        ("tf.cond(alike > 0.0, lambda: sum_of(2.0 * collected), lambda: 0.0)", False),
        ("tf.function(lambda: sum_of(tf.square(collected)))()", False),
        ("in_a_loop(lambda: sum_of(collected))", False),
        ("sum_of(collected) + collected", True),
        ("sum_of(collected + 0.0 * other.assign(collected))", True),
        ("sum_of(tf.cond(collected > 0.0, lambda: 1.0, lambda: 2.0))", True),
        ("sum_of(in_a_loop(lambda: other.assign(collected)))", True),
        ("tf.function(lambda: collected + 1.0)()", True),
        ("tf.shape(in_a_loop(lambda: collected))", False),
        ("alike", False),
    ],
)
def test_what_is_only_summed_may_differ(strategy: Any, use: str, warns: bool) -> None:
    """Each core collects the gradients of its own rows; a sum makes one of them."""
    with strategy.scope():
        collected = tf.Variable(0.0, name="collected")
        alike, other = tf.Variable(1.0), tf.Variable(1.0)
    names = {"collected": collected, "alike": alike, "other": other}

    def replica_fn() -> Any:
        collected.assign_add(rank())
        return eval(use, {**globals(), **names})

    @tf.function
    def step() -> Any:
        return strategy.run(replica_fn)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step()
    output = [str(warning.message) for warning in caught if "The copies of" in str(warning.message)]
    assert any("'collected'" in text for text in output) == warns


@pytest.mark.parametrize(
    ("use", "warns"),
    [
        ("sum_of(collected)", "never"),
        ("alike.assign_add(1.0)", "at the end"),
        ("sum_of(2.0 * collected) + collected", "in the step"),
        ("alike.assign_add(collected)", "in the step"),
    ],
)
def test_what_another_step_only_sums_may_differ(use: str, warns: str) -> None:
    """One step accumulates, and another one applies: what that reads decides."""
    output: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings_sent_to(lambda warning: output.append(str(warning))))
        stack.enter_context(tpu.emulated_tpu(num_replicas=2))
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        with strategy.scope():
            collected, alike = tf.Variable(0.0, name="collected"), tf.Variable(1.0)
        names = {"collected": collected, "alike": alike}

        def accumulate() -> None:
            collected.assign_add(rank())

        @tf.function
        def collect() -> None:
            strategy.run(accumulate)

        @tf.function
        def apply() -> Any:
            return strategy.run(lambda: eval(use, {**globals(), **names}))

        collect()
        collect()
        assert not output
        apply()
        collect()
        assert len(output) == (warns == "in the step")
    assert len(output) == (warns != "never")
    assert all("'collected' on cores 0 and 1" in text for text in output)


if tf.keras.__version__ >= "3":

    def test_an_optimizer_that_accumulates_gradients_is_not_reported(strategy: Any) -> None:
        with strategy.scope():
            weight = tf.Variable(1.0)
            optimizer = tf.keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)
            optimizer.build([weight])

        @tf.function
        def step() -> None:
            strategy.run(lambda: optimizer.apply_gradients([(rank(), weight)]))

        with warnings.catch_warnings():
            warnings.simplefilter("error", tpu.UnsynchronizedVariableWarning)
            step()
            step()
        replicas = strategy.num_replicas_in_sync
        gradient = sum(range(replicas))
        assert local(strategy, weight) == pytest.approx([1.0 - 0.1 * gradient] * replicas)


@pytest.mark.parametrize(("left", "warns"), [(0.0, False), (1e-4, True)])
def test_rounding_is_no_drift(strategy: Any, left: float, warns: bool) -> None:
    """Sharpness-aware minimization moves the weights by each core's own gradient, and back."""
    with strategy.scope():
        weight = tf.Variable([0.1, 0.3, 0.7])
    moves = []

    def replica_fn() -> Any:
        move = 0.9 / (rank() + 1.7)
        weight.assign_add([move, move, move])
        moved = tf.identity(weight)
        weight.assign_sub([move, move, move * (1.0 - left)])
        return moved

    @tf.function
    def step() -> Any:
        return strategy.run(replica_fn)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moves += local(strategy, step())
    assert len({tuple(values) for values in moves}) > 1
    assert len({tuple(values) for values in local(strategy, weight)}) > 1, "nothing is rounded"
    assert any("The copies of" in str(warning.message) for warning in caught) == warns


@pytest.mark.parametrize("synchronized", [True, False])
def test_the_averages_of_batch_normalization(strategy: Any, synchronized: bool) -> None:
    """Some releases of Keras let them drift, and a layer that synchronizes does not."""
    with strategy.scope():
        layer = tf.keras.layers.BatchNormalization(synchronized=synchronized)
        layer.build((None, 1))
    combines = str(layer.moving_mean.aggregation).lower() != "none"

    @tf.function
    def step() -> None:
        strategy.run(lambda: layer(tf.reshape(rank(), (1, 1)), training=True))
        strategy.run(lambda: layer(tf.reshape(rank(), (1, 1)), training=False))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step()
    output = [str(warning.message) for warning in caught if "The copies of" in str(warning.message)]
    assert bool(output) == (not combines and not synchronized)
    assert all("made it, pass `synchronized=True` to the layer" in line for line in output)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("aggregation", "after"),
    [
        (tf.VariableAggregation.SUM, [6.0, 6.0]),
        (tf.VariableAggregation.MEAN, [4.5, 4.5]),
        (tf.VariableAggregation.ONLY_FIRST_REPLICA, [4.0, 4.0]),
    ],
)
def test_a_mirrored_variable(
    strategy: Any, aggregation: Any, after: list[float], packed: bool
) -> None:
    strategy._enable_packed_variable_in_eager_mode = packed
    with strategy.scope():
        variable = tf.Variable(3.0, aggregation=aggregation)

    @tf.function
    def step() -> Any:
        return strategy.run(lambda: variable.assign_add(1.0 + rank()))

    assert local(strategy, step()) == after
    assert local(strategy, variable) == after

    @tf.function
    def read() -> Any:
        return variable + 0.0

    assert float(read()) == after[0]
    variable.assign(7.0)
    assert local(strategy, variable) == [7.0, 7.0]


@pytest.mark.parametrize(
    ("aggregation", "read"),
    [
        (tf.VariableAggregation.SUM, 3.0),
        (tf.VariableAggregation.MEAN, 1.5),
        (tf.VariableAggregation.ONLY_FIRST_REPLICA, 1.0),
    ],
)
def test_a_variable_that_is_in_sync_when_read(strategy: Any, aggregation: Any, read: float) -> None:
    with strategy.scope():
        variable = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=aggregation,
            trainable=False,
        )

    @tf.function
    def step() -> None:
        strategy.run(lambda: variable.assign_add(1.0 + rank()))

    step()
    assert local(strategy, variable) == [1.0, 2.0]
    assert float(variable.read_value()) == read


@pytest.mark.parametrize("synchronization", ["ON_READ", "ON_WRITE"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_no_variable_of_a_strategy_is_read_by_the_host(replicas: int, synchronization: str) -> None:
    """Each copy is in the memory of its core, however the copies are kept in sync."""
    with tpu.emulated_tpu(num_replicas=replicas):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        with strategy.scope():
            variable = tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization[synchronization],
                aggregation=tf.VariableAggregation.SUM,
                trainable=False,
            )

        @tf.function
        def step() -> Any:
            return strategy.run(lambda: tpu.outside_compilation(variable.read_value) + 1.0)

        with pytest.raises(tpu.DeviceVariableError, match="TPU102"):
            step()


def test_reduce(strategy: Any) -> None:
    @tf.function
    def step() -> Any:
        inputs = strategy.run(lambda: tf.stack([rank(), 2.0]))
        return [
            strategy.reduce("SUM", inputs, axis=None),
            strategy.reduce("MEAN", inputs, axis=None),
            strategy.reduce("SUM", inputs, axis=0),
            strategy.reduce("MEAN", inputs, axis=0),
        ]

    assert [value.numpy().tolist() for value in step()] == [[1.0, 4.0], [0.5, 2.0], 5.0, 1.25]


def test_all_reduce_and_all_gather(strategy: Any) -> None:
    @tf.function
    def step() -> Any:
        def replica_fn() -> Any:
            context = tf.distribute.get_replica_context()
            mine = tf.stack([rank() + 1.0])
            whole = tf.cast(mine, tf.int64)
            return (
                context.all_reduce("SUM", mine),
                context.all_reduce(tf.distribute.ReduceOp.MEAN, {"a": mine})["a"],
                context.all_gather(mine, axis=0),
                context.all_gather(whole, axis=0),
            )

        return strategy.run(replica_fn)

    assert [local(strategy, value) for value in step()] == [
        [[3.0]] * 2,
        [[1.5]] * 2,
        [[1.0, 2.0]] * 2,
        [[1, 2]] * 2,
    ]


def test_the_gradient_of_all_reduce(strategy: Any) -> None:
    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.distribute.get_replica_context().all_reduce("SUM", x * (1.0 + rank()))
            return tape.gradient(y, x)

        return strategy.run(replica_fn, args=(x,))

    assert local(strategy, step(tf.constant(5.0))) == [2.0, 4.0]


def test_a_sum_over_replicas_in_functions_and_loops(strategy: Any) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.distribute.get_replica_context().all_reduce("SUM", x)

    @tf.function
    def step(x: Any) -> Any:
        def replica_fn(x: Any) -> Any:
            for _ in tf.range(3):
                x = inner(x + rank())
            return x

        return strategy.run(replica_fn, args=(x,))

    assert local(strategy, step(tf.constant(1.0))) == [15.0, 15.0]


def test_gather(strategy: Any) -> None:
    @tf.function
    def step() -> Any:
        return strategy.run(lambda: tf.stack([[rank()]]))

    assert strategy.gather(step(), axis=1).numpy().tolist() == [[0.0, 1.0]]


def test_merge_call_runs_once(strategy: Any) -> None:
    calls: list[int] = []

    def merge(strategy: Any, value: Any) -> Any:
        assert tf.distribute.in_cross_replica_context()
        calls.append(1)
        return strategy.extended.reduce_to("SUM", value, value)

    @tf.function
    def step() -> Any:
        def replica_fn() -> Any:
            return tf.distribute.get_replica_context().merge_call(merge, args=(rank() + 1.0,))

        return strategy.run(replica_fn)

    assert local(strategy, step()) == [3.0, 3.0]
    assert calls == [1]


@pytest.mark.parametrize("core", [0, 1])
def test_a_strategy_on_one_core_of_two(core: int) -> None:
    with tpu.emulated_tpu(num_replicas=2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        topology = tf.tpu.experimental.initialize_tpu_system(resolver)
        assignment = tf.tpu.experimental.DeviceAssignment(topology, [[[0, 0, 0, core]]])
        strategy = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)
        with strategy.scope():
            variable = tf.Variable(1.0)

        @tf.function
        def step() -> Any:
            return strategy.run(lambda: variable.assign_add(1.0))

        result = step()
        assert strategy.num_replicas_in_sync == 1
        assert float(result) == float(variable.values[0]) == 2.0
        name = f"/job:localhost/replica:0/task:0/device:TPU:{core}"
        assert strategy.extended.worker_devices == (name,)
        assert variable.values[0].device == result.device == name


@pytest.mark.parametrize("spmd", [False, True])
def test_two_cores_a_replica(spmd: bool) -> None:
    with tpu.emulated_tpu(num_replicas=2, cores_per_replica=2):
        strategy = of_two_cores_a_replica(num_replicas=2, spmd=spmd)
        with strategy.scope():
            variable = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)

        @tf.function
        def step(x: Any) -> Any:
            def replica_fn(x: Any) -> Any:
                if spmd:
                    x = strategy.experimental_split_to_logical_devices(x, [2])
                variable.assign_add(x)
                return variable * rank()

            return strategy.run(replica_fn, args=(x,))

        result = step(tf.constant([1.0, 1.0]))
        assert local(strategy, result) == [[0.0, 0.0], [3.0, 4.0]]
        for copy in variable.values:
            cores = copy.variables if spmd else [copy]
            assert [core.numpy().tolist() for core in cores] == [[3.0, 4.0]] * len(cores)


def test_a_host_function_for_each_shard() -> None:
    with tpu.emulated_tpu(num_replicas=1, cores_per_replica=2):
        strategy = of_two_cores_a_replica(num_replicas=1, spmd=True)

        @tf.function
        def step(x: Any) -> Any:
            def replica_fn(x: Any) -> Any:
                x = strategy.experimental_split_to_logical_devices(x, [2, 1])
                return tpu.experimental_map_outside_compilation(tf.reverse, x, [0])

            return strategy.run(replica_fn, args=(x,))

        x = tf.constant([[1.0], [2.0], [3.0], [4.0]])
        assert local(strategy, step(x)) == [[[2.0], [1.0], [4.0], [3.0]]]
