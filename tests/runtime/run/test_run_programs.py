"""Programs under `tpulint run`: the examples, and the report on a fault."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.programs import OPTIMIZER_OUTSIDE
from tests.runtime.run.command import ROOT, STRATEGY, tpulint

# A host cluster runs on in a daemon thread while the program ends with an error.
ENDLESS = (
    STRATEGY
    + """
import threading

started = threading.Event()

def note(x):
    started.set()
    return x

def count(x):
    again = lambda i: tf.ensure_shape(tf.numpy_function(note, [i], tf.float32), [])
    tf.while_loop(lambda i: {goes_on}, lambda i: [again(i)], [x])

@tf.function
def step():
    def add(x):
        tf.compat.v1.tpu.outside_compilation(count, x)
        return x + 1.0
    return strategy.run(add, args=(tf.constant(1.0),))

class Last:
    def __del__(self):
        print("the interpreter is taken apart")

thread = threading.Thread(target=step, daemon=True)
thread.start()
{waits}
last = Last()
raise ValueError("enough")
"""
)
# The analyzer does not run the code, so it cannot see the result of `eval`.
UNSEEN = (
    STRATEGY
    + """
on_host = eval("tf.compat.v1.tpu." + "outside_" + "compilation")
with strategy.scope():
    total = tf.Variable(0.0)

@tf.function
def step():
    def add():
        on_host(lambda: total.assign_add(1.0))
        return total.read_value()
    return strategy.run(add)

try:
    step()
except ValueError as error:
    sys.exit(3)
"""
)
IDLE = """\
import tensorflow as tf
import tpulint.runtime as tpu

@tf.function
def step(x):
    return tpu.outside_compilation(tf.sin, x)  # noqa: TPU203

step(tf.constant(1.0))
step(tf.constant([1.0]))
"""
EAGER = (
    STRATEGY
    + """
def train(x):
    return 2.0 * x

strategy.run(train, args=(tf.constant(1.0),))
"""
)
THREAD = """\
import threading
import tensorflow.compat.v1 as tf

def train():
    with tf.Graph().as_default():
        tf.tpu.replicate(lambda x: x, [tf.constant(1.0)])

thread = threading.Thread(target=train)
thread.start()
thread.join()
"""
HIDDEN = """\
import tensorflow.compat.v1 as tf

def host(a):
    with tf.control_dependencies([a]):
        return a + v.read_value()

with tf.Graph().as_default(), tf.Session() as session:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    step = tf.tpu.rewrite(
        lambda: v.assign_add(tf.tpu.outside_compilation(host, v.read_value() * 2.0)), []
    )
    session.run([tf.tpu.initialize_system(), v.initializer])
    try:
        session.run(step)
    except tf.errors.OpError:
        pass  # a framework keeps it for later, and shows what it has met last
"""
CANCELLED = 'raise tf.errors.CancelledError(None, None, "Session was closed")\n'
STARVED = """\
import tensorflow.compat.v1 as tf
from tensorflow.python.tpu import tpu_feed

queue = tpu_feed.InfeedQueue(1, tuple_types=[tf.float32], tuple_shapes=[[2]], shard_dimensions=[0])
with tf.Graph().as_default(), tf.Session() as session:
    session.run(tf.tpu.replicate(lambda x: x * 2.0, [[]], infeed_queue=queue))
"""


METRICS = (
    STRATEGY
    + """
total = tf.keras.metrics.Mean()

@tf.function
def step(x):
    strategy.run(lambda y: total.update_state(y), args=(x,))

if sys.argv[1:]:
    step(tf.constant(1.0))
"""
)
FAILING = (
    STRATEGY
    + """
waiting = tf.queue.FIFOQueue(1, [tf.float32])

@tf.function
def step():
    def replica_fn():
        def host():
            return tf.reshape(waiting.dequeue(), [])
        return tf.compat.v1.tpu.outside_compilation(host) + 1.0
    return strategy.run(replica_fn)

step()
"""
)
FORGOTTEN = """\
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver(""))

@tf.function
def step():
    return strategy.run(lambda: tf.constant(1.0))

step()
"""
ESTIMATOR = """\
import tensorflow as tf
tf.compat.v1.estimator.tpu.TPUEstimator
"""


def test_keras_fits(tmp_path: Path) -> None:
    arguments = ["--examples", "256", "--batch-size-per-core", "16", "--epochs", "2"]
    done = tpulint(ROOT, "run", "--replicas", "2", "examples/keras_fit.py", *arguments)
    assert done.returncode == 0, done.stderr
    (losses,) = re.findall(r"losses \[([\d.]+), ([\d.]+)\]", done.stdout)
    assert float(losses[1]) < float(losses[0])
    # Two epochs of eight batches in `fit`, eight in `evaluate`: each on both replicas.
    assert re.search(r"keras_fit\.py:\d+, 16 steps, 1 compilation\n +device +32 ", done.stderr), (
        done.stderr
    )
    assert re.search(r"keras_fit\.py:\d+, 8 steps, 1 compilation\n +device +16 ", done.stderr), (
        done.stderr
    )


@pytest.mark.any_release
def test_a_package_is_run_and_what_crosses_is_counted() -> None:
    arguments = ["-m", "examples.sound_vocabulary.score", "--cores", "2"]
    done = tpulint(ROOT, "run", "--topology", "1x1x2", *arguments)
    assert done.returncode == 0, done.stderr
    assert "on topology 1x1x2: exit status 0" in done.stderr
    # 128 scores of 4 bytes go to the first cluster; nothing comes back.
    assert re.search(r"host cluster 0 (?:\(\w+\) )? *2 +0 +512 +0 .*score\.py:\d+", done.stderr), (
        done.stderr
    )


@pytest.mark.any_release
def test_a_fault_is_reported_with_the_message_of_the_check() -> None:
    arguments = ["-m", "examples.nested_vocabulary.score", "--cores", "2"]
    done = tpulint(ROOT, "run", "--replicas", "2", *arguments)
    checked = tpulint(ROOT, "check", "--no-cache", "--output-format", "full", "examples")
    (output,) = [block for block in checked.stdout.split("\n\nTPU") if block.startswith("201")]
    assert done.returncode == 1
    # It arises in the wrapper, which the call that is at fault has gone through.
    assert "NestedClusterError at examples/nested_vocabulary/vocabulary.py:9 " in done.stderr
    assert f"`tpulint check` says\n\nTPU{output.rstrip()}\n" in done.stderr
    assert done.stderr.endswith("`tpulint check` of the 3 files that ran: 1 finding, shown above\n")


@pytest.mark.parametrize(
    ("program", "status", "words"),
    [
        # The program ends by a status of its own, because of a fault that it caught.
        (UNSEEN, 3, r"DeviceVariableError at program\.py:\d+ \[TPU102 .*\]: .* is silent there"),
        # A warning changes no status, is reported once, and tells what has been suppressed.
        (IDLE, 0, r"OutsideCompilationNoOpWarning at program\.py:6 .* says\n\nTPU203 "),
        # An error of TensorFlow's own, at a line of which the analyzer is sure.
        (EAGER, 1, r"NotImplementedError \[TPU701 .*\]: `tpulint check` says\n\nTPU701 "),
        # A thread that ends by a fault does not end the program.
        (THREAD, 0, r"InputsNotPerReplicaError at program\.py:6 .* says\n\nTPU401 "),
        # TensorFlow raises another error after it, and the program ends with that one.
        (
            HIDDEN + CANCELLED,
            1,
            r"CancelledError: [\s\S]*\nDeadlockError at .* \[TPU101 [\s\S]*first",
        ),
        # The program handles it, once of two replicas and of two steps at one line.
        (HIDDEN, 0, r"DeadlockError at program\.py:\d+ \[TPU101 [\s\S]*\nA step failed, and the "),
    ],
    ids=["unseen and caught", "a warning", "TensorFlow's own", "in a thread", "hidden", "handled"],
)
@pytest.mark.any_release
def test_the_report_of_a_fault(tmp_path: Path, program: str, status: int, words: str) -> None:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "program.py")
    assert done.returncode == status, done.stderr
    assert len(re.findall(words, done.stderr)) == 1, done.stderr


@pytest.mark.any_release
def test_a_machine_that_cannot_be_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STRATEGY, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--topology", "2x", "program.py")
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("tpulint: ")]
    assert lines == done.stderr.splitlines()[-1:]
    assert "tpulint: run: a topology is " in lines[0]
    assert "Traceback" not in done.stderr


def test_a_step_that_waits_forever_ends_at_the_deadline(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STARVED, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "1", "--deadline", "3", "program.py")
    assert done.returncode == 1
    assert "waits in InfeedDequeueTuple" in done.stderr
    assert "DeadlockError: The step has taken more than 3 s" in done.stderr
    assert "program.py:6\n" in done.stderr
    assert "[TPU614 unmatched-feed]" in done.stderr


@pytest.mark.any_release
def test_the_report_lists_the_clusters_that_had_not_ended(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FAILING, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "--deadline", "5", "program.py")
    assert done.returncode == 1
    # `waits in` once in the error's text, for the queue that is waited for.
    assert re.search(r"waits in QueueDequeueV2 for something in the queue .*py:18", done.stderr)
    ended = "Still running when the last step of their computation finished:\n"
    assert f"{ended}  host cluster 0 (host) of replica 0, 1, made at program.py:18\n" in done.stderr
    assert (
        "tpulint/runtime" not in done.stderr.partition("Traceback")[2].partition("tpulint run")[0]
    )


@pytest.mark.any_release
def test_the_findings_in_the_files_that_ran(tmp_path: Path) -> None:
    """Also of a program that ends well."""
    (tmp_path / "program.py").write_text("import helper\n" + METRICS, encoding="utf-8")
    (tmp_path / "helper.py").write_text("", encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "program.py")
    assert done.returncode == 0, done.stderr
    output = "`tpulint check` of the 2 files that ran: 1 finding\n  program.py:13:9: TPU702 "
    assert output in done.stderr
    assert done.stderr.count("TPU702") == 1


@pytest.mark.any_release
def test_the_findings_are_those_for_the_tensorflow_that_ran(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(OPTIMIZER_OUTSIDE, encoding="utf-8")
    assert "1 finding\n  program.py:6:" in tpulint(tmp_path, "run", "program.py").stderr
    older = OPTIMIZER_OUTSIDE + 'tf.__version__ = "2.12.1"  # before Keras 3 it is sound\n'
    program.write_text(older, encoding="utf-8")
    assert "of the file that ran: nothing\n" in tpulint(tmp_path, "run", "program.py").stderr


@pytest.mark.any_release
def test_a_system_that_nobody_initialized_is_refused(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FORGOTTEN, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "program.py")
    assert done.returncode == 1
    assert "UninitializedSystemError: The TPU system has not been initialized.\n" in done.stderr
    assert "initialize_tpu_system(resolver)" in done.stderr


def test_the_error_of_an_estimator_program_names_the_tensorflow_it_needs(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ESTIMATOR, encoding="utf-8")
    done = tpulint(tmp_path, "run", "program.py")
    if done.returncode == 0:  # this TensorFlow has them
        return
    assert done.stderr.count("has no Estimator") == 1
    assert "pip install 'tensorflow-cpu==2.15.*'" in done.stderr


TWO_FUNCTIONS = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)

class Log:
    def remember(self, x):
        return x + 1.0

log = Log()

@tf.function
def train(n):
    def step():
        y = tf.compat.v1.tpu.outside_compilation(log.remember, tf.constant(1.0) * n)
        return tf.compat.v1.tpu.outside_compilation(lambda z: z * 2.0, y)
    return strategy.run(step)

for n in range(3):
    train(n)
"""


def test_the_report_names_host_functions_and_counts_compilations(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_FUNCTIONS, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "train.py")
    assert done.returncode == 0, done.stderr
    assert "train.py:19, 3 steps, 3 compilations\n" in done.stderr
    took = r"  3 compilations, whose first steps took \d+\.\d s: `n` was 0, 1, 2\n"
    assert re.search(took, done.stderr)
    # So few of them may be meant.
    assert "TPU509" not in done.stderr
    assert re.search(r"host cluster 0 \(remember\) +6 ", done.stderr)
    assert re.search(r"host cluster 1 \(lambda\) +6 ", done.stderr)
    assert "An emulator cannot judge" in done.stderr
    assert done.stderr.startswith(("INFO:tensorflow", "tpulint run: ")), "no messages of C++"


@pytest.mark.parametrize("runs_on", [True, False])
def test_a_thread_that_runs_on_finds_the_interpreter_whole(runs_on: bool, tmp_path: Path) -> None:
    """CPython ends a thread that asks for an interpreter that ends, which aborts the process."""
    goes_on = "tf.constant(True)" if runs_on else "i < 0.0"
    waits = "started.wait()" if runs_on else "thread.join()"
    text = ENDLESS.replace("{goes_on}", goes_on).replace("{waits}", waits)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "2", "program.py")
    assert done.returncode == 1, done.stderr
    assert "ValueError: enough" in done.stderr
    assert ("Still running" in done.stderr) is runs_on
    assert ("the interpreter is taken apart" in done.stdout) is not runs_on
