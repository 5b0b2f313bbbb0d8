"""`tpulint worker`, and `tpulint run` on hosts that are processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.pods.alone import allow_its_time, run_alone

pytestmark = [pytest.mark.any_release, allow_its_time]

PROGRAM = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-pod")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
print(resolver.cluster_spec().as_dict()["worker"])

@tf.function
def step():
    return strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", 1.0))

print(strategy.extended.num_hosts, "hosts,", float(step().values[-1]))
"""

ENDLESS = """\
@tf.function
def endless():
    def replica_fn():
        x = tf.constant(0.5)
        for _ in tf.range(2**30):
            x = tf.distribute.get_replica_context().all_reduce("MEAN", x * 1.0)
        return x

    return strategy.run(replica_fn)

print("begins", flush=True)
endless()
"""

SESSION = """\
import sys
import tensorflow.compat.v1 as tf

def meet(x):
    rounds = int(sys.argv[2])
    return tf.while_loop(
        lambda i, _: i < rounds, lambda i, y: (i + 1, tf.tpu.cross_replica_sum(y) / 4.0), [0, x]
    )[1]

with tf.Graph().as_default(), tf.Session(sys.argv[1]) as session:
    start = tf.tpu.initialize_system()
    results = tf.tpu.replicate(meet, [[tf.constant(float(i))] for i in range(4)])
    session.run(start)
    print("begins", flush=True)
    print(float(session.run(results)[0][0]))
"""

INTERRUPTS = """
try:
    endless.stdout.readline()
    time.sleep(3.0)
    endless.send_signal(signal.SIGINT)
    print(endless.wait(120), flush=True)
finally:
    for process in (endless, *workers):
        process.kill()
"""

SESSIONS = """\
import signal, subprocess, sys, time

workers = []

run = [sys.executable, "-m", "tpulint", "run", "--hosts", "2", "--processes", "--replicas", "4"]
for target in ("grpc://localhost:8470", ""):
    print(subprocess.call([*run, "session.py", target, "3"]), flush=True)
endless = subprocess.Popen(
    [*run, "session.py", "grpc://localhost:8471", str(2**30)], stdout=subprocess.PIPE, text=True
)
"""

COMMANDS = """\
import signal, subprocess, sys, time

tpulint = [sys.executable, "-m", "tpulint"]
workers = [
    subprocess.Popen([*tpulint, "worker", "--port", port], stdout=subprocess.PIPE, text=True)
    for port in ("9001", "9002")
]
for worker in workers:
    print(worker.stdout.readline(), end="", flush=True)
for how in (["--workers", "localhost:9001,127.0.0.1:9002"], ["--hosts", "2", "--processes"]):
    print(subprocess.call([*tpulint, "run", *how, "--replicas", "4", "program.py"]), flush=True)
print(subprocess.call([*tpulint, "worker", "--port", "9001"]), flush=True)
how = ["--workers", "localhost:9001,localhost:9002", "--replicas", "4"]
endless = subprocess.Popen([*tpulint, "run", *how, "endless.py"], stdout=subprocess.PIPE, text=True)
"""


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "endless.py").write_text(PROGRAM.partition("print(")[0] + ENDLESS, encoding="utf-8")
    (tmp_path / "commands.py").write_text(COMMANDS + INTERRUPTS, encoding="utf-8")
    done = run_alone("commands.py", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[:2] == [f"tpulint: a host of a pod is at port {port}" for port in (9001, 9002)]
    assert lines[2:5] == ["['localhost:9001', '127.0.0.1:9002']", "2 hosts, 4.0", "0"], done.stderr
    assert lines[5].startswith("['localhost:")
    assert lines[6:] == ["2 hosts, 4.0", "0", "2", "130"], done.stderr
    assert "on 4 replicas, 2 hosts: exit status 0" in done.stderr
    assert "tpulint: worker: no server can listen at port 9001" in done.stderr


def test_sessions(tmp_path: Path) -> None:
    """A session without a target is of this machine, where no host of the pod is."""
    (tmp_path / "session.py").write_text(SESSION, encoding="utf-8")
    (tmp_path / "sessions.py").write_text(SESSIONS + INTERRUPTS, encoding="utf-8")
    done = run_alone("sessions.py", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert lines == ["begins", "1.5", "0", "begins", "1", "130"], done.stderr
    assert done.stderr.count("a session without a target is of this one") == 1
