"""Sessions as programs make them: with configurations, hooks, savers and scaffolds of their own."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.util import event_pb2
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu

tf1 = tf.compat.v1
ONE = tf.train.ClusterSpec({"worker": ["localhost:8470"]}).as_cluster_def()


def single_threaded() -> Any:
    config = tf1.ConfigProto()
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    return config


@pytest.mark.parametrize(
    "config",
    [
        tf1.ConfigProto(),
        tf1.ConfigProto(allow_soft_placement=True),
        tf1.ConfigProto(operation_timeout_in_ms=60_000),
        tf1.ConfigProto(isolate_session_state=True),
        tf1.ConfigProto(cluster_def=ONE),
        tf1.ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True),
        tf1.ConfigProto(device_count={"CPU": 2, "GPU": 0}),
        tf1.ConfigProto(
            graph_options=tf1.GraphOptions(optimizer_options=tf1.OptimizerOptions(opt_level=-1))
        ),
        single_threaded(),
    ],
    ids=[
        "nothing said",
        "soft placement",
        "timeout",
        "isolated",
        "cluster of one",
        "threads of its own",
        "devices",
        "not optimized",
        "another executor",
    ],
)
def test_any_configuration(config: Any) -> None:
    def computation(x: Any) -> Any:
        y = tf1.tpu.outside_compilation(add_one, x * variable)
        return tf1.tpu.cross_replica_sum(tf.reshape(y, []))

    def add_one(x: Any) -> Any:
        return tf1.py_func(lambda value: np.float32(value + 1.0), [x], tf.float32)

    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default():
        with tf.device("/job:worker/task:0/device:CPU:0"):
            variable = tf1.get_variable("variable", initializer=1.0, use_resource=True)
        results = tf1.tpu.replicate(computation, [[tf.constant(1.0)], [tf.constant(2.0)]])
        with tf.device("/device:TPU:1"):
            on_core = tf.constant(3.0) + 1.0
        ready = [tf1.tpu.initialize_system(), tf1.global_variables_initializer()]
        done = tf1.tpu.shutdown_system()
        tf1.get_default_graph().finalize()
        with tf1.Session(config=config) as session:
            for op in ready:
                session.run(op)
            assert session.run(results) == [[5.0], [5.0]]
            assert session.run(on_core) == 4.0
            session.run(done)
        assert on_core.device == "/device:TPU:1"
        assert variable.device == "/job:worker/task:0/device:CPU:0"


def test_what_is_placed_on_another_task_is_still_refused() -> None:
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default():
        with tf.device("/job:worker/task:3/device:CPU:0"):
            elsewhere = tf.constant(3.0) + 1.0
        with tf1.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
            session.run(elsewhere)


class Seen(tf1.train.SessionRunHook):  # type: ignore[misc]
    """A hook that asks for one more tensor in each run."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.values: list[float] = []

    def before_run(self, run_context: Any) -> Any:
        return tf1.train.SessionRunArgs(self.tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.values.append(float(run_values.results))


def train(folder: str, config: Any, steps: int) -> tuple[list[float], float]:
    """Train in a MonitoredTrainingSession; return the losses, and the weight at the end."""
    with tf.Graph().as_default():
        step = tf1.train.get_or_create_global_step()
        weight = tf1.get_variable("weight", initializer=4.0, use_resource=True)

        def computation(x: Any) -> Any:
            loss = (weight * x) ** 2
            optimizer = tf1.train.GradientDescentOptimizer(0.125)
            optimizer = tf1.tpu.CrossShardOptimizer(optimizer)
            with tf.control_dependencies([optimizer.minimize(loss, global_step=step)]):
                return tf.identity(loss)

        (loss,), _ = tf1.tpu.replicate(computation, [[tf.constant(1.0)]] * 2)

        def look(step_context: Any) -> Any:
            return step_context.session.run(weight)

        hook = Seen(loss)
        scaffold = tf1.train.Scaffold(
            init_op=tf.group(tf1.tpu.initialize_system(), tf1.global_variables_initializer()),
            saver=tf1.train.Saver(max_to_keep=1),
        )
        with tf1.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            scaffold=scaffold,
            hooks=[hook, tf1.train.StopAtStepHook(last_step=steps)],
            save_checkpoint_steps=1,
            save_summaries_steps=None,
            log_step_count_steps=None,
            config=config,
        ) as session:
            while not session.should_stop():
                session.run(loss)
                last = session.run_step_fn(look)
        return hook.values, float(last)


def test_a_monitored_session_with_hooks_that_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    with tpu.emulated_tpu(num_replicas=2):
        losses, weight = train(str(tmp_path), tf1.ConfigProto(), 2)
        assert losses == [16.0, 9.0]
        assert weight == 2.25
        losses, weight = train(str(tmp_path), tf1.ConfigProto(log_device_placement=False), 3)
        assert losses == [5.0625]
        assert weight == 1.6875


def address_of_nobody() -> str:
    with socket.socket() as nobody:
        nobody.bind(("localhost", 0))
        return f"grpc://localhost:{nobody.getsockname()[1]}"


def test_hang_a_tpu_of_one_host_is_this_machines_whatever_its_address_is() -> None:
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default():
        results = tf1.tpu.batch_parallel(lambda x: x * 2.0, [tf.range(2.0)], num_shards=2)
        with tf1.Session(address_of_nobody()) as session:
            session.run(tf1.tpu.initialize_system())
            assert session.run(results)[0].tolist() == [0.0, 2.0]
            assert "TPU" in {device.device_type for device in session.list_devices()}


def test_hang_a_target_that_is_no_host_of_a_pod_is_an_error() -> None:
    message = (
        r"Nobody answers at localhost:\d+: the pod's hosts are at localhost:8470, localhost:8471"
    )
    with (
        tpu.emulated_tpu(num_replicas=2, hosts=2),
        pytest.raises(tf.errors.FailedPreconditionError, match=message),
    ):
        tf1.Session(address_of_nobody(), graph=tf.Graph())


def test_the_hosts_of_the_emulated_system_are_well() -> None:
    """As hooks ask with an operation that has no kernel here."""
    with tpu.emulated_tpu(num_replicas=2), tf.Graph().as_default(), tf1.Session() as session:
        request = tf1.placeholder(tf.string, [])
        answer = session.run(tpu_ops.worker_heartbeat(request), {request: b""})
    response = event_pb2.WorkerHeartbeatResponse.FromString(answer)
    assert response.health_status == event_pb2.OK
