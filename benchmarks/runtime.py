"""Measures the runtime side by side with what it is compared with, in one process.

    python -m benchmarks.runtime [--write]

Medians, and ratios of medians; what is compared runs in turns. JAX is compared with where it is
installed. `--write` puts the result into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import inspect
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
from tensorflow.python.ops import script_ops

import tpulint.runtime as tpu
from benchmarks import strategies
from benchmarks.rows import Row, compared, shown

ITERATIONS = 1000
DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- runtime: written by benchmarks/runtime.py -->", "<!-- end of runtime -->"


def medians(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """Return the median time of each function, in seconds; the functions take turns."""
    for function in functions:
        function()
        function()
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, seconds in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
    return [statistics.median(time_taken) for time_taken in times]


def layers(x: Any) -> Any:
    """Do some milliseconds of device work."""
    for _ in range(6):
        x = tf.tanh(tf.matmul(x, x) * 0.01)
    return x


def steps() -> Iterator[Row]:
    """Measure a step of a computation with no cluster."""
    bare = tf.function(layers, jit_compile=True)

    @tf.function
    def one(x: Any) -> Any:
        return tpu.replicate(layers, [[x]])

    @tf.function
    def eight(*arguments: Any) -> Any:
        return tpu.replicate(layers, [[x] for x in arguments])

    values = [tf.random.stateless_normal([256, 256], [1, seed]) for seed in range(8)]
    ours, theirs = medians(
        100, lambda: one(values[0])[0][0].numpy(), lambda: bare(values[0]).numpy()
    )
    yield compared("a step, 1 replica", ours, theirs, "bare jit_compile=True", 1.15)
    ours, theirs = medians(
        30,
        lambda: [out[0].numpy() for out in eight(*values)],
        lambda: [bare(value).numpy() for value in values],
    )
    yield compared("a step, 8 replicas", ours, theirs, "eight bare calls in sequence", 1.15)


def round_trips() -> Iterator[Row]:
    """One host round trip in an iteration of a device loop."""

    def loop(host: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: tf.while_loop(
            lambda i, _: i < ITERATIONS,
            lambda i, v: (i + 1, host(v * 2.0) * 0.5),
            (0, x),
        )[1]

    def through_python(value: Any) -> Any:
        result = tf.numpy_function(lambda v: v + 1.0, [value], tf.float32)
        result.set_shape([])
        return result

    @tf.function
    def ours(x: Any) -> Any:
        computation = loop(lambda v: tpu.outside_compilation(lambda a: a + 1.0, v))
        return tpu.replicate(computation, [[x]])[0][0]

    numpy_function = tf.function(loop(through_python))
    one = tf.constant(1.0)
    contestants = [
        lambda: ours(one).numpy(),
        lambda: without_watch(lambda: numpy_function(one).numpy()),
    ]
    jax_loop = jaxs_round_trips()
    if jax_loop:
        contestants.append(jax_loop)
    mine, numpys, *jaxs = (seconds / ITERATIONS for seconds in medians(15, *contestants))
    yield compared("a round trip in a loop", mine, numpys, "tf.numpy_function", 1.0)
    if jaxs:
        yield compared(
            "a round trip in a loop", mine, jaxs[0], "JAX io_callback(ordered=True)", 0.6
        )


def without_watch(call: Callable[[], Any]) -> Any:
    """Return `call()`, with Python functions called as TensorFlow does: see thread_starvation."""
    watched = script_ops.FuncRegistry.__call__
    script_ops.FuncRegistry.__call__ = inspect.unwrap(watched)
    try:
        return call()
    finally:
        script_ops.FuncRegistry.__call__ = watched


def jaxs_round_trips() -> Callable[[], Any] | None:
    """Return the same loop in JAX, or None where there is no JAX."""
    try:
        import jax
        import jax.experimental
    except ImportError:
        return None
    shape = jax.ShapeDtypeStruct((), "float32")

    def body(_: Any, value: Any) -> Any:
        back = jax.experimental.io_callback(lambda v: v + 1.0, shape, value * 2.0, ordered=True)
        return back * 0.5

    compiled = jax.jit(lambda x: jax.lax.fori_loop(0, ITERATIONS, body, x))
    return lambda: compiled(jax.numpy.float32(1.0)).block_until_ready()


def building() -> Iterator[Row]:
    """Measure building 64 replicas, and building 1, of a model of 30 layers."""

    def model(x: Any) -> Any:
        for _ in range(30):
            x = tf.nn.relu(tf.matmul(x, x) + 1.0) * 0.5
        return x

    def build(replicas: int) -> None:
        with tf.Graph().as_default():
            inputs = [[tf.compat.v1.placeholder(tf.float32, [8, 8])] for _ in range(replicas)]
            tpu.replicate(model, inputs)

    many, single = medians(7, lambda: build(64), lambda: build(1))
    yield compared("building 64 replicas", many, single, "building 1", 3.0)


def deadlocks() -> Iterator[Row]:
    """Measure a step that deadlocks: from its start to the error in the user's hands."""
    variable = tf.Variable(1.0)

    def host(value: Any) -> Any:
        return value + variable  # tpulint: ignore[TPU101] -- the deadlock that is measured

    @tf.function
    def step(x: Any) -> Any:
        def computation(a: Any) -> Any:
            variable.assign_add(a)
            return tpu.outside_compilation(host, a * 2.0) * 2.0

        return tpu.replicate(computation, [[x]])

    seconds = []
    for _ in range(21):
        start = time.perf_counter()
        try:
            step(tf.constant(1.0))
        except tpu.DeadlockError:
            seconds.append(time.perf_counter() - start)
    median = statistics.median(seconds)
    what = "a step that deadlocks, from its start to the error"
    yield Row(what, shown(median), "", "", "", "at most 50 ms", median <= 0.05)


def many_replicas(replicas: int = 1024) -> Iterator[Row]:
    """Measure building, compiling and running many replicas of a small computation."""
    start = time.perf_counter()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = [[tf.constant(float(number))] for number in range(replicas)]
        outputs = tpu.replicate(lambda x: tf.tanh(x * 2.0) + 1.0, inputs)
        session.run(outputs)
    seconds = time.perf_counter() - start
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    what = f"{replicas:,} replicas built, compiled and run"
    yield Row(what, f"{seconds:.1f} s", "", "", "", "under 60 s", seconds < 60)
    peak = f"{gigabytes:.2f} GB"
    yield Row("peak memory of all of this", peak, "", "", "", "under 4 GB", gigabytes < 4)


def report() -> str:
    """All figures as a Markdown table."""
    lines = [
        f"TensorFlow {tf.__version__}, {os.cpu_count()} cores.",
        "",
        "| what | time | compared with | time | ratio | goal | |",
        "|---|---:|---|---:|---:|---|---|",
    ]
    measures = (steps, round_trips, building, deadlocks, many_replicas)
    for measure in (*measures, strategies.training, strategies.many_replicas, strategies.pods):
        for row in measure():
            cells = (row.what, row.ours, row.compared_with, row.theirs, row.ratio, row.goal)
            lines.append(f"| {' | '.join(cells)} | {'met' if row.met else '**missed**'} |")
    return "\n".join(lines) + "\n"


def write(text: str) -> None:
    """Put `text` between the marks of docs/benchmarks.md."""
    before, begin, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    DOCUMENT.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    options = parser.parse_args(arguments)
    text = report()
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
