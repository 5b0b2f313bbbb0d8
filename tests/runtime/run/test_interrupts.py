"""Ctrl-C under `tpulint run`, wherever the program is: real processes, and real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import ABCMeta
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
STARTS = 120
TRACED = 2.5
"""Seconds of processor time that suffice to trace a step."""
LOOKS = 1.8
"""Seconds in which a program would have ended that is not waited for."""

STRATEGY = """\
import signal, time
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)

def slow(x):
    print("on\\n", end="", flush=True)  # in one piece: two replicas print it at once
    time.sleep(60)
    return x

@tf.function
def sound(x):
    return strategy.run(lambda: tf.compat.v1.tpu.outside_compilation(tf.identity, x) + 1.0)

def on_host(x):
    return tf.compat.v1.tpu.outside_compilation(tf.identity, x)

"""
ON_THE_DEVICE = """\
@tf.function
def step(n):
    def loop(n):
        return tf.while_loop(lambda i: i < n, lambda i: (i * 7919 + 1) % 5, [0])
    return strategy.run(loop, args=(n,))

print("on", flush=True)
step(tf.constant(10))
"""
LOOP_OF_CLUSTERS = """\
@tf.function
def step(n):
    def loop(n):
        return tf.while_loop(lambda i: i < n, lambda i: (on_host(i) + 1) % 5, [0])
    return strategy.run(loop, args=(n,))

print("on", flush=True)
try:
    step(tf.constant(10))
"""
WITH_A_CLUSTER = f"""\
{LOOP_OF_CLUSTERS}finally:
    print("cleaned up", sound(1.0).values[0].numpy(), flush=True)
"""
IN_A_SESSION = """\
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

def loop(n):
    def once(i):
        return (tf.tpu.outside_compilation(tf.identity, i) + 1) % 5
    return tf.while_loop(lambda i: i < n, once, [0])

with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    n = tf.placeholder(tf.int32, [])
    step = tf.tpu.replicate(loop, [[n], [n]])
    print("on", flush=True)
    try:
        session.run(step, {n: 10})
    finally:
        print("cleaned up", flush=True)
"""
IN_A_HOST_FUNCTION = """\
@tf.function
def step():
    return strategy.run(
        lambda: tf.compat.v1.tpu.outside_compilation(tf.numpy_function, slow, [1.0], tf.float32)
    )

step()
"""
LIVED_WITH = f"""\
{LOOP_OF_CLUSTERS}except KeyboardInterrupt:
    print("goes on", sound(1.0).values[0].numpy(), flush=True)
"""
ITS_OWN_AFFAIR = """\
stops = []
signal.signal(signal.SIGINT, lambda *_: stops.append(1))

@tf.function
def step(n):
    def loop(n):
        return tf.while_loop(lambda i: i < n, lambda i: on_host(i) + 1, [0])
    return strategy.run(loop, args=(n,))

step(tf.constant(1))
print("on", flush=True)
while not stops:
    step(tf.constant(1000))
print("stops after a step", flush=True)
"""

Started = Callable[[str], "subprocess.Popen[str]"]


def wait_for_the_step(number: int) -> None:
    """Wait until the process has traced its step, and runs it if that is endless, or for 3 s."""
    spent = psutil.Process(number).cpu_times()
    until = time.monotonic() + 3.0
    while time.monotonic() < until:
        time.sleep(0.1)
        now = psutil.Process(number).cpu_times()
        if now.user + now.system - spent.user - spent.system > TRACED:
            return


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Run a program under `tpulint run` until it says "on", and is in its step."""
    processes: list[subprocess.Popen[str]] = []

    def start(program: str) -> subprocess.Popen[str]:
        (tmp_path / "program.py").write_text(program, encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "tpulint", "run", "--replicas", "2", "program.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Processes that a shell starts in the background ignore it, and so do their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        wait_for_the_step(process.pid)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the two outputs of the process, which ends: without the signal, it would not."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=STARTS)


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (STRATEGY + ON_THE_DEVICE, ""),
        (STRATEGY + WITH_A_CLUSTER, "cleaned up 2.0\n"),
        (IN_A_SESSION, "cleaned up\n"),
    ],
    ids=["on the device", "with a cluster", "in a session"],
)
def test_the_first_ends_an_endless_step(started: Started, program: str, printed: str) -> None:
    process = started(program)
    out, words = interrupted(process)
    assert process.returncode == 130, words
    assert out == printed
    assert "KeyboardInterrupt\ntpulint run: program.py on 2 replicas: exit status 130" in words
    assert f"{os.sep}tpulint{os.sep}cli{os.sep}" not in words


def test_the_first_waits_for_a_host_function_and_the_second_does_not(started: Started) -> None:
    process = started(STRATEGY + IN_A_HOST_FUNCTION)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=LOOKS)
    _, words = interrupted(process)
    assert process.returncode == 130
    assert "program.py:10; Ctrl-C again ends the program now\n" in words
    assert "tpulint run: program.py on 2 replicas: exit status 130" in words


def test_a_program_that_lives_with_it_can_run_steps(started: Started) -> None:
    process = started(STRATEGY + LIVED_WITH)
    out, words = interrupted(process)
    assert (process.returncode, out) == (0, "goes on 2.0\n"), words


@pytest.mark.any_release
def test_a_program_that_handles_it_is_left_alone(started: Started) -> None:
    process = started(STRATEGY + ITS_OWN_AFFAIR)
    out, words = interrupted(process)
    assert (process.returncode, out) == (0, "stops after a step\n"), words


def run_listening(text: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a text of Python in which Ctrl-C has its default action at first."""
    return subprocess.run(
        [sys.executable, "-c", text, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=STARTS,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


DEAF = """\
import hashlib, os, signal, sys, threading, time
from tpulint.run.interrupt import Interrupts

def words():
    print("tpulint.run.report" in sys.modules, flush=True)

Interrupts(words).listen()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
hashlib.pbkdf2_hmac("sha256", b"", b"", 500_000_000)  # Python hears nothing in here
"""


@pytest.mark.any_release
def test_the_last_words_are_ready_when_they_are_due(tmp_path: Path) -> None:
    """To import what writes them takes longer than they may on a busy machine."""
    ended = run_listening(DEAF, folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (130, "True\n"), ended.stderr


LOSES_IT = """\
import signal, sys, time
from tpulint.run.interrupt import Interrupts

Interrupts(lambda: None).listen()
text = "import signal\\ndef check():\\n    signal.raise_signal(signal.SIGINT)\\n"
names = {}
exec(compile(text, sys.argv[1], "exec"), names)
try:
    try:
        names["check"]()
    except KeyboardInterrupt:
        print("lost")  # C++ ignores it
    time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.any_release
@pytest.mark.parametrize(
    "file", [ABCMeta.__subclasscheck__.__code__.co_filename, "/tensorflow/python/util/nest_util.py"]
)
def test_it_is_raised_behind_a_call_that_would_lose_it(file: str, tmp_path: Path) -> None:
    """`Flatten` asks for classes, and ignores what Python raises there."""
    ended = run_listening(LOSES_IT, file, folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "heard\n"), ended.stderr


MAPPED = """\
import signal, sys, time
from tpulint.run.interrupt import Interrupts

Interrupts(lambda: None).listen()
names = {}
exec(compile("def mapped(function):\\n    function()\\n", sys.argv[1], "exec"), names)

def loop():
    signal.raise_signal(signal.SIGINT)
    number = 0
    while number < 300_000_000:  # it calls nothing, and ends after some seconds
        number += 1
    print("has not heard")

try:
    names["mapped"](loop)
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.any_release
def test_it_is_raised_in_a_function_that_is_mapped_over_a_structure(tmp_path: Path) -> None:
    ended = run_listening(MAPPED, "/tensorflow/python/util/nest_util.py", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "heard\n"), ended.stderr


LIVES_WITH_ALL = """\
import signal, time
from tpulint.run.interrupt import Interrupts

Interrupts(lambda: None).listen()
for number in range(4):
    try:
        signal.raise_signal(signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass
        print("goes on", number)
"""


@pytest.mark.any_release
def test_a_program_may_react_to_several_in_a_row(tmp_path: Path) -> None:
    """Only one that comes while the main thread has not reacted to another ends the process."""
    ended = run_listening(LIVES_WITH_ALL, folder=tmp_path)
    printed = "".join(f"goes on {number}\n" for number in range(4))
    assert (ended.returncode, ended.stdout) == (0, printed), ended.stderr
