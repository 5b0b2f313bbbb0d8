"""Pods whose hosts are processes; test_processes runs this in a network of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import cancellation, context
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tests.runtime.pods.network import (
    has_interface_to_nowhere,
    interface_to_nowhere,
    set_up,
    take_down,
)
from tests.runtime.strategies import pod
from tpulint.runtime.execute import waiting
from tpulint.runtime.pods import connections
from tpulint.runtime.pods import workers as processes
from tpulint.runtime.pods.connections import own_address_for


def process_id(_: Any = None) -> Any:
    """Return the number of the process that runs the operations."""
    return tf.strings.to_number(
        tf.strings.split(tf.io.read_file("/proc/self/stat"), " ")[0], tf.int32
    )


def trained(strategy: Any, steps: int = 4) -> list[float]:
    """Return the losses of a small model, the same whatever the number of hosts."""
    with strategy.scope():
        weight = tf.Variable([[0.5], [-0.25]])
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.5)
    rows = tf.random.stateless_uniform([32, 2], [3, 4])
    data = tf.data.Dataset.from_tensor_slices(rows.numpy()).batch(8, drop_remainder=True)

    @tf.function
    def step(batch: Any) -> Any:
        def replica_fn(x: Any) -> Any:
            with tf.GradientTape() as tape:
                error = x @ weight - tf.reduce_sum(x, 1, keepdims=True)
                loss = tf.reduce_sum(error**2) / 8.0
            gradients = tape.gradient(loss, [weight])
            optimizer.apply_gradients(zip(gradients, [weight]))
            return loss

        return strategy.reduce("SUM", strategy.run(replica_fn, args=(batch,)), axis=None)

    batches = iter(strategy.experimental_distribute_dataset(data))
    return [float(step(next(batches))) for _ in range(steps)]


def test_replicas_and_host_clusters_run_on_their_hosts(
    workers: tuple[str, ...], numbers: list[int]
) -> None:
    with pod(workers=workers) as strategy:

        @tf.function
        def step() -> Any:
            return strategy.run(
                lambda: tf.compat.v1.tpu.outside_compilation(process_id, tf.constant(0)) + 0
            )

        assert [int(value) for value in step().values] == numbers


def test_the_losses_are_those_of_one_host(workers: tuple[str, ...]) -> None:
    losses = []
    for hosts in (0, 1, 2, 4):
        with pod(workers=workers[:hosts]) as strategy:
            losses.append(trained(strategy))
    assert losses[0][0] > losses[0][-1]
    np.testing.assert_allclose(losses[1:], [losses[0]] * 3, rtol=1e-5)


def test_values_of_a_pod_can_be_read_after_it(workers: tuple[str, ...]) -> None:
    with pod(workers=workers[:2]) as strategy:
        result = strategy.run(tf.function(lambda: tf.constant([1.0, 2.0]) * 2.0))
    assert [value.numpy().tolist() for value in result.values] == [[2.0, 4.0]] * 4


def test_python_in_the_pipeline_that_a_host_makes_is_the_rules_error(
    workers: tuple[str, ...],
) -> None:
    def examples(_: Any) -> Any:
        rows = tf.data.Dataset.range(8)
        return rows.map(lambda x: tf.py_function(lambda y: y, [x], tf.int64))

    with (
        pod(workers=workers[:2]) as strategy,
        pytest.raises(tpu.HostOnlyInputError, match="/job:worker/replica:0/task"),
    ):
        iter(strategy.distribute_datasets_from_function(examples))


def test_killed_a_step_with_branches(workers: tuple[str, ...]) -> None:
    """With TensorFlow 2.15 the hosts refused the functions of a released program (ResNet)."""
    with pod(workers=workers[:2]) as strategy:
        with strategy.scope():
            total = tf.Variable(0.0)

        @tf.function
        def steps(count: Any) -> None:
            def replica_fn() -> None:
                more = tf.distribute.get_replica_context().all_reduce("SUM", 1.0 + 0.0 * total)
                rate = tf.case([(total < 8.0, lambda: 0.5), (total < 16.0, lambda: 0.25)])
                total.assign_add(tf.cond(total < 8.0, lambda: more, lambda: more * rate))

            for _ in tf.range(count):
                strategy.run(replica_fn)

        for _ in range(2):
            steps(tf.constant(3))
        assert [float(value) for value in total.values] == [12.0] * 4


def endless(strategy: Any) -> Any:
    """Return a step in which the replicas meet without end, or once if it is given False."""

    @tf.function
    def step(goes_on: Any) -> Any:
        def replica_fn(goes_on: Any) -> Any:
            x = tf.constant(0.5)
            for _ in tf.range(tf.where(goes_on, 2**30, 1)):
                x = tf.distribute.get_replica_context().all_reduce("MEAN", x * 1.0)
            return x

        return strategy.run(replica_fn, args=(goes_on,))

    return step


@contextmanager
def here() -> Iterator[Sequence[str]]:
    yield tpu.start_workers(2)


@contextmanager
def two_machines() -> Iterator[Sequence[str]]:
    """Yield the addresses of new hosts; the second one's machine is gone when lo:2 is down."""
    with interface_to_nowhere("nowhere"):
        set_up("nowhere", "10.9.7.1", "255.255.255.0")
        set_up("lo:2", "10.9.7.99", "255.255.255.255")
        ports = [address.rpartition(":")[2] for address in tpu.start_workers(2)]
        yield [f"10.9.7.1:{ports[0]}", f"10.9.7.99:{ports[1]}"]


@pytest.mark.parametrize(
    ("hosts", "lose", "closes"),
    [
        pytest.param(here, lambda victim: victim.kill(), False, id="killed"),
        pytest.param(
            two_machines,
            lambda _: take_down("lo:2"),
            True,
            id="gone",
            marks=pytest.mark.skipif(not has_interface_to_nowhere(), reason="needs /dev/net/tun"),
        ),
        pytest.param(here, lambda victim: victim.send_signal(signal.SIGSTOP), True, id="frozen"),
    ],
)
def test_a_host_that_is_lost_ends_the_step(
    hosts: Any, lose: Any, closes: bool, monkeypatch: Any
) -> None:
    """Hang: gRPC waited 20 seconds for a machine that was gone, and for ever for a frozen one."""
    monkeypatch.setattr(connections, "REPLY_TIMEOUT_SECONDS", 5.0)
    closed: list[connections.Peers] = []

    def close(peers: connections.Peers) -> None:
        closed.append(peers)
        close_connections(peers)

    close_connections = connections.close_connections
    monkeypatch.setattr(connections, "close_connections", close)

    def lose_the_second(victim: subprocess.Popen[str]) -> None:
        time.sleep(1.0)
        lose(victim)

    with hosts() as workers, pod(workers=workers) as strategy:
        victim = processes._processes[-1]
        step = endless(strategy)
        assert [float(value) for value in step(tf.constant(False)).values] == [0.5] * 4
        threading.Thread(target=lose_the_second, args=(victim,)).start()
        with pytest.raises(tf.errors.UnavailableError, match="/job:worker/replica:0/task:1"):
            step(tf.constant(True))
        # TensorFlow hears of a process that has ended; the other waits end because we close them.
        assert closed or not closes
        with pytest.raises(tf.errors.UnavailableError):
            step(tf.constant(False))
        victim.kill()


def test_a_lost_host_is_waited_for_no_more_and_the_others_can_be_used() -> None:
    with here() as workers:
        with pod(workers=workers):
            processes._processes[-1].kill()
            processes._processes[-1].wait()
            with pytest.raises(tf.errors.UnavailableError, match="does not answer"):
                context.async_wait()
        with pod(workers=workers[:1]) as strategy:
            assert [float(value) for value in endless(strategy)(tf.constant(False)).values] == [
                0.5
            ] * 4
            context.async_wait()


def test_a_step_that_is_cancelled_ends_on_all_hosts(workers: tuple[str, ...]) -> None:
    with pod(workers=workers[:2]) as strategy:
        step = endless(strategy)
        manager = cancellation.CancellationManager()
        function = manager.get_cancelable_function(step.get_concrete_function(tf.constant(True)))
        errors: list[BaseException] = []

        def run() -> None:
            try:
                function(tf.constant(True))
            except tf.errors.OpError as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(1.0)
        manager.start_cancel()
        thread.join(90)
        assert not thread.is_alive()
        assert isinstance(errors[0], tf.errors.CancelledError)
        assert float(step(tf.constant(False)).values[3]) == 0.5


def test_hang_the_host_takes_from_an_outfeed_that_nothing_fills(
    workers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eagerly, where the program itself asks the hosts whether they compute."""
    monkeypatch.setattr(waiting, "MAX_IDLE_SECONDS", 2.0)
    with (
        pod(2, 2, workers=workers[:2]),
        tf.device("/job:worker/replica:0/task:1/device:CPU:0"),
        pytest.raises(tpu.DeadlockError, match="outfeed"),
    ):
        tpu_ops.outfeed_dequeue(tf.float32, [], device_ordinal=0)


def test_a_host_that_is_not_there_is_an_error_at_once(workers: tuple[str, ...]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("localhost", 0))
        address = f"localhost:{nobody.getsockname()[1]}"
        message = f"No host of the pod answers at {address}"
        with (
            pytest.raises(tf.errors.UnavailableError, match=message),
            pod(workers=[workers[0], address]),
        ):
            pass


def test_hosts_on_another_machine_reach_this_one(workers: tuple[str, ...]) -> None:
    """The other machine is this one, by an address that the system calls another one's."""
    set_up("lo:1", "10.9.8.7", "255.255.255.0")
    there = [worker.replace("localhost", "10.9.8.99") for worker in workers[:2]]
    assert own_address_for(tuple(there), 5) == "10.9.8.7:5"
    with pod(workers=there) as strategy:
        assert [float(value) for value in endless(strategy)(tf.constant(False)).values] == [0.5] * 4
        assert "10.9.8.7:" in str(context.get_server_def())


def test_the_hosts_end_with_the_process_that_started_them() -> None:
    program = (
        "import os, tpulint.runtime as tpu; tpu.start_workers(1);"
        "from tpulint.runtime.pods import workers; print(workers._processes[0].pid, flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False)
    number, until = int(killed.stdout), time.monotonic() + 90
    while is_running(number) and time.monotonic() < until:
        time.sleep(0.1)
    assert not is_running(number)


def is_running(number: int) -> bool:
    """Return whether the process of that number is there, and no zombie."""
    try:
        return " Z " not in Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
