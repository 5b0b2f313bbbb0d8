"""Sessions of pods whose hosts are processes; test_sessions runs this in a network of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tests.runtime.pods.inside import process_id
from tpulint.runtime.execute import waiting
from tpulint.runtime.pods import workers as processes

tf1 = tf.compat.v1
SECOND = "/job:worker/replica:0/task:1/device:CPU:0"


@contextmanager
def graph_on(workers: tuple[str, ...], replicas: int = 4) -> Iterator[str]:
    """Build a graph for a pod of these hosts; yields the target of its sessions."""
    with tpu.emulated_tpu(replicas, workers=workers), tf.Graph().as_default():
        yield tf.distribute.cluster_resolver.TPUClusterResolver("my-pod").master()


def ran(build: Callable[[], Any], workers: tuple[str, ...], runs: int = 1) -> Any:
    """Return what a session gets of what `build` returns, in its last run."""
    with graph_on(workers) as master:
        start = tf1.tpu.initialize_system(job="worker")
        fetched = build()
        with tf1.Session(master) as session:
            session.run([start, tf1.global_variables_initializer(), tf1.tables_initializer()])
            return [session.run(fetched) for _ in range(runs)][-1]


def on_each_replica(computation: Callable[[Any], Any]) -> Any:
    return tf1.tpu.replicate(computation, [[tf.constant(float(x))] for x in range(4)])


def test_each_operation_runs_on_the_host_that_its_device_names(
    workers: tuple[str, ...], numbers: list[int]
) -> None:
    """Also one of a graph that was imported; without a device it runs on the first."""
    with tf.Graph().as_default() as exported, tf.device(SECOND):
        process_id()
    with graph_on(workers) as master:
        first = process_id()
        with tf.device(SECOND):
            second = process_id()
        name = exported.get_operations()[-1].outputs[0].name
        (imported,) = tf.import_graph_def(exported.as_graph_def(), return_elements=[name])
        assert second.device == SECOND
        with tf1.Session(master) as session:
            devices = [device.name for device in session.list_devices()]
            assert session.run([first, second, imported]) == [numbers[0], *[numbers[1]] * 2]
    assert [name for name in devices if "task:1" in name and "CPU" in name] == [SECOND]
    assert "/job:worker/replica:0/task:3/device:TPU:0" in devices


def test_a_session_without_a_target_is_of_this_process(workers: tuple[str, ...]) -> None:
    with graph_on(workers):
        with tf.device(SECOND):
            number = process_id()
        with tf1.Session() as session:
            assert session.run(number) == os.getpid()


def test_a_host_has_a_name_before_it_has_an_address(
    workers: tuple[str, ...], numbers: list[int]
) -> None:
    with graph_on(workers):
        number = process_id()
        with tf1.Session("grpc://localhost:8471") as session:
            assert session.run(number) == numbers[0]


def test_a_server_of_the_program_is_not_the_tpus() -> None:
    server = tf.distribute.Server({"ps": ["localhost:0"]}, job_name="ps", task_index=0)
    with tpu.emulated_tpu(2), tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            number = process_id()
        with tf1.Session(server.target) as session:
            first, *_ = session.list_devices()
            assert first.name.startswith("/job:ps")
            assert session.run(number) == os.getpid()


def test_replicas_and_host_clusters_run_on_their_hosts(
    workers: tuple[str, ...], numbers: list[int]
) -> None:
    def number(x: Any) -> Any:
        return tf1.tpu.outside_compilation(process_id, x) + 0

    assert [int(value) for (value,) in ran(lambda: on_each_replica(number), workers)] == numbers


def test_a_computation_in_a_function_of_the_graph(
    workers: tuple[str, ...], numbers: list[int]
) -> None:
    def number(x: Any) -> Any:
        summed = tf1.tpu.cross_replica_sum(x)
        return summed, tf1.tpu.outside_compilation(process_id, x) + 0

    @tf.function
    def step() -> Any:
        return on_each_replica(number)

    actual = ran(step, workers)
    assert [[float(total), int(at)] for total, at in actual] == [[6.0, at] for at in numbers]


def test_a_session_runs_what_its_graph_has_got_since(
    workers: tuple[str, ...], numbers: list[int]
) -> None:
    """Its nodes and functions, fed, colocated and after one another, as Callables, too."""
    with graph_on(workers) as master, tf1.Session(master) as session:
        with tf.device(SECOND):
            x = tf1.placeholder(tf.float32, [], name="x")
            double = tf.function(lambda y: y * 2.0)(x)
        assert session.run(double, {x: 3.0}) == 6.0
        with tf1.colocate_with(double.op), tf.control_dependencies([double]):
            number = process_id()
        with tf1.colocate_with(tf.constant("of which nobody asks").op):
            number += 0
        more = tf.function(lambda y: y + 1.0)(double)
        assert session.run([more, number], {x: 3.0}) == [7.0, numbers[1]]
        called = session.make_callable([more, double], feed_list=[x])
        assert called(1.0) == [3.0, 2.0]
        options = config_pb2.CallableOptions(feed=[x.name], fetch=[(more + double).name])
        assert session._make_callable_from_options(options)(np.float32(1.0)) == [5.0]
        variable = tf1.get_variable("kept", initializer=1.0, use_resource=True)
        with tf.control_dependencies([tf1.global_variables_initializer()]):
            total = variable.assign_add(more)
        assert session.run(total, {x: 0.0}) == 2.0
        assert session.run(variable.value()) == 2.0
        with pytest.raises(tf.errors.UnimplementedError, match="partial runs"):
            session.partial_run_setup([more], [x])


def training() -> Any:
    """A loop that trains a variable of all replicas, with sums and a cluster in each round."""
    weight = tf1.get_variable("weight", [2, 1], initializer=tf1.zeros_initializer())
    rows = tf.random.stateless_uniform([32, 2], [3, 4])

    def step(replica: Any) -> Any:
        mine = tf.reshape(rows, [4, 8, 2])[tf.cast(replica, tf.int32)]

        def round_(i: Any, _: Any) -> Any:
            error = tf.matmul(mine, weight) - tf.reduce_sum(mine, 1, keepdims=True)
            loss = tf1.tpu.outside_compilation(tf.identity, tf.reduce_mean(error**2))
            optimizer = tf1.tpu.CrossShardOptimizer(tf1.train.GradientDescentOptimizer(0.5))
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return i + 1, tf1.tpu.cross_replica_sum(loss) / 4.0

        return tf.while_loop(lambda i, _: i < 3, round_, [0, tf.constant(0.0)])[1]

    return on_each_replica(step), weight


def test_the_losses_are_those_of_one_host(workers: tuple[str, ...]) -> None:
    """Hang: each host waited for another one to send it an unused handle once more."""
    with tf1.variable_scope("", use_resource=True):
        actual = [ran(training, workers[:hosts], runs=2) for hosts in (0, 1, 2, 4)]
    (losses, weight), *others = actual
    assert 0.0 < losses[0][0] < 0.1
    for other_losses, other_weight in others:
        np.testing.assert_allclose(other_losses, losses, rtol=1e-5)
        np.testing.assert_allclose(other_weight, weight, rtol=1e-5)


def test_what_leads_a_step_is_of_this_process(workers: tuple[str, ...]) -> None:
    with graph_on(workers) as master, tf1.Session(master) as session:
        results = on_each_replica(lambda x: x * 2.0)
        session.run(tf1.tpu.initialize_system(job="worker"))
        assert [float(value) for (value,) in session.run(results)] == [0.0, 2.0, 4.0, 6.0]
        nodes = session._tpulint_session_graph.graph.as_graph_def().node
    places = {node.device for node in nodes if node.name.startswith("tpulint/")}
    assert places == {"/job:localhost/replica:0/task:0/device:CPU:0"}


def test_each_host_reads_a_variable_of_the_first(workers: tuple[str, ...]) -> None:
    """A program that XLA has compiled cannot read it on another host: it reads a copy."""

    def build() -> Any:
        rate = tf1.get_variable("rate", initializer=0.5, use_resource=True)
        return on_each_replica(lambda x: x * rate)

    assert [float(value) for (value,) in ran(build, workers)] == [0.0, 0.5, 1.0, 1.5]


def test_what_is_on_the_first_host_serves_the_clusters_of_all(workers: tuple[str, ...]) -> None:
    def build() -> Any:
        count = tf1.get_variable("count", initializer=0.0, use_resource=True)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0], [100.0]), 7.0)

        def on_host(x: Any) -> Any:
            return table.lookup(tf.cast(x, tf.int32)) + 0.0 * count.assign_add(1.0)

        computed = on_each_replica(lambda x: tf1.tpu.outside_compilation(on_host, x) + 0.0)
        with tf.control_dependencies(tf.nest.flatten(computed)):
            return computed, count.read_value()

    computed, count = ran(build, workers)
    assert [float(value) for (value,) in computed] == [100.0, 7.0, 7.0, 7.0]
    assert count == 4.0


def test_the_next_session_finds_nothing_of_what_one_has_left(workers: tuple[str, ...]) -> None:
    """Neither in an infeed nor in a variable: as with sessions of this process."""
    with graph_on(workers[:1], replicas=1) as master:
        fed = tf1.placeholder(tf.float32, [])
        with tf.device("/job:worker/task:0/device:CPU:0"):
            enqueue = tpu_ops.infeed_enqueue_tuple([fed], [[]], device_ordinal=0)

        def takes() -> Any:
            (x,) = tpu_ops.infeed_dequeue_tuple([tf.float32], [[]])
            return x + 0.0

        (taken,) = tf1.tpu.rewrite(takes)
        variable = tf1.get_variable("kept", initializer=1.0, use_resource=True)
        start = [tf1.tpu.initialize_system(), variable.initializer]
        with tf1.Session(master) as session:
            session.run(start)
            session.run(enqueue, {fed: 1.0})
            session.run(enqueue, {fed: 2.0})
            assert session.run(taken) == 1.0
        with tf1.Session(master) as session:
            session.run(enqueue, {fed: 3.0})
            assert session.run(taken) == 3.0
            with pytest.raises(tf.errors.FailedPreconditionError, match="kept"):
                session.run(variable)


def test_a_divergence_is_told_with_the_hosts_of_the_replicas(workers: tuple[str, ...]) -> None:
    def diverges(x: Any) -> Any:
        return tf.cond(x > 1.0, lambda: tf1.tpu.cross_replica_sum(x), lambda: x)

    waits = r"replica [23] \(/job:worker/replica:0/task:1\): waits"
    with pytest.raises(tpu.DivergentCollectiveError, match=waits):
        ran(lambda: on_each_replica(diverges), workers[:2])


@pytest.mark.parametrize("in_loop", [False, True])
def test_an_operation_that_fails_on_one_host_ends_the_step(
    workers: tuple[str, ...], in_loop: bool
) -> None:
    """Hang: with TensorFlow 2.12 the replicas of the other host waited for ever."""

    def fails(x: Any) -> Any:
        return tf.strings.to_number(tf.where(x > 2.5, "no number", "1.0"))

    def step(x: Any) -> Any:
        return tf1.tpu.cross_replica_sum(tf1.tpu.outside_compilation(fails, x))

    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, _: (i + 1, step(x)), [0, 0.0])[1]

    @tf.function
    def in_function() -> Any:
        return on_each_replica(step)

    with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        ran(in_function if not in_loop else lambda: on_each_replica(loop), workers[:2])


@contextmanager
def queue_on_the_first_host(workers: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield a session of two hosts, and a step that waits there for a queue that nothing fills."""
    with graph_on(workers[:2]) as master:
        with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
            queue = tf1.FIFOQueue(1, [tf.float32], [[]], name="work")
        step = on_each_replica(
            lambda x: tf1.tpu.outside_compilation(lambda y: y + queue.dequeue(), x)
        )
        with tf1.Session(master) as session:
            session.run(tf1.tpu.initialize_system(job="worker"))
            yield session, step


def test_hang_a_queue_on_a_host_that_nothing_fills(
    workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait was noticed, but nothing ended it on its host; each host says what it waits for."""
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 2.0)
    with (
        queue_on_the_first_host(workers) as (session, step),
        pytest.raises(tpu.DeadlockError, match="the queue 'work'") as caught,
    ):
        session.run(step)
    for replica, task in ((0, 0), (3, 1)):
        waits = f"replica {replica} (/job:worker/replica:0/task:{task}): waits in QueueDequeue"
        assert waits in str(caught.value)
    assert caught.value.rule == "TPU106"


def test_false_a_host_that_computes_is_waited_for(
    workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program's process is idle meanwhile, for longer than the limit."""
    asked: list[bytes] = []

    def computes_until_the_tenth(status: bytes) -> float | None:
        asked.append(status)
        return min(len(asked), 10) * 1e3

    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 2.0)
    monkeypatch.setattr(processes, "processor_seconds", computes_until_the_tenth)
    with (
        queue_on_the_first_host(workers) as (session, step),
        pytest.raises(tpu.DeadlockError),
    ):
        session.run(step)
    assert len(asked) > 10, "the error came while a host computed"


def test_the_time_that_a_host_has_computed_grows(workers: tuple[str, ...]) -> None:
    with graph_on(workers) as master:
        statuses = processes.read_statuses()
        with tf.device(SECOND):
            work = tf.reduce_sum(tf.random.uniform([1000, 1000]) @ tf.random.uniform([1000, 1000]))
        with tf1.Session(master) as session:
            before = list(map(processes.processor_seconds, session.run(statuses)))
            assert len(before) == 4
            while processes.processor_seconds(session.run(statuses)[1]) < before[1] + 0.1:
                session.run(work)


def test_hosts_are_asked_one_after_another(workers: tuple[str, ...]) -> None:
    """Abort: calls on several hosts that began at once overwrote each other in TensorFlow's C++."""
    with graph_on(workers):
        first, *others = (status.op for status in processes.read_statuses())
    for before, after in zip([first, *others], others, strict=False):
        assert any(before in tensor.op.control_inputs for tensor in after.inputs)


def run_until_killed(session: Any, step: Any, victim: Any) -> None:
    """Run `step` in `session`, while `victim` is killed: only an error ends it."""
    threading.Timer(1.0, victim.kill).start()
    while True:
        session.run(step)


def meeting_for_long(x: Any) -> Any:
    meet = tf1.tpu.cross_replica_sum
    return tf.while_loop(lambda i, _: i < 2**30, lambda i, y: (i + 1, meet(y * 0.25)), [0, x])[1]


@pytest.mark.parametrize("monitored", [False, True])
def test_a_host_that_is_lost_ends_the_step(monitored: bool) -> None:
    """A MonitoredSession would try again after an UnavailableError, for ever."""
    kind = tf.errors.FailedPreconditionError if monitored else tf.errors.UnavailableError
    workers = tpu.start_workers(2)
    with graph_on(workers) as master, pytest.raises(kind, match=f"{workers[1]}"):
        step = on_each_replica(meeting_for_long)
        start = tf1.tpu.initialize_system(job="worker")
        tf1.train.get_or_create_global_step()
        opened = (
            tf1.train.MonitoredTrainingSession(
                master, scaffold=tf1.train.Scaffold(local_init_op=start)
            )
            if monitored
            else tf1.Session(master)
        )
        with opened as session:
            session.run(start)
            run_until_killed(session, step, processes._processes[-1])
