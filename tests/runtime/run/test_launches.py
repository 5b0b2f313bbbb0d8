"""What the report counts on the host's side: launches, the input of a step, reads of results."""

from __future__ import annotations

import runpy
from pathlib import Path
from textwrap import dedent

import pytest

from tpulint.runtime.run_statistics import Watch, running

PROGRAM = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    total = tf.Variable(tf.zeros([4]))


def add(x):
    total.assign_add(x)
    return tf.reduce_sum(total)


@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(add, args=(x,)), axis=None)


@tf.function
def steps(x, number):
    loss = 0.0
    for _ in tf.range(number):
        loss = step(x)
    return loss


x = tf.ones([4])
"""


def watched(code: str, folder: Path) -> Watch:
    path = folder / "program.py"
    path.write_text(PROGRAM + dedent(code), encoding="utf-8")
    with running(2, None) as watch:
        runpy.run_path(str(path), run_name="__main__")
    return watch


def counts(watch: Watch) -> list[tuple[int, int]]:
    """Return the steps and launches of each computation."""
    return [(len(run.steps), len(run.launches)) for run in watch.computations.values()]


def reads(watch: Watch) -> list[tuple[int, int]]:
    return [(read.number, read.bytes) for read in watch.reads.values()]


def test_a_step_in_a_python_loop_is_a_launch(tmp_path: Path) -> None:
    watch = watched("for _ in range(5):\n    loss = step(x)", tmp_path)
    assert counts(watch) == [(5, 5)]
    assert reads(watch) == []
    (computation,) = watch.computations.values()
    assert computation.input_bytes == 5 * 2 * 4 * 4  # two replicas take four floats


def test_steps_in_a_compiled_loop_are_one_launch(tmp_path: Path) -> None:
    assert counts(watched("steps(x, tf.constant(5))\nsteps(x, tf.constant(3))", tmp_path)) == [
        (8, 2)
    ]


@pytest.mark.parametrize(
    ("read", "size"),
    [
        ("float(loss)", 4),
        ("print(loss)", 4),
        ("f'{loss:.3f}'", 4),
        ("loss.numpy()", 4),
        ("total.numpy()", 16),
        ("bool(loss > 3)", 1),
    ],
)
def test_reads_of_results_are_counted_by_line(read: str, size: int, tmp_path: Path) -> None:
    watch = watched(f"for _ in range(3):\n    loss = step(x)\n    {read}", tmp_path)
    assert reads(watch) == [(3, 3 * size)]
    (place,) = watch.reads
    assert place == f"{tmp_path / 'program.py'}:{PROGRAM.count(chr(10)) + 3}"


def test_reads_of_what_the_host_has_are_none(tmp_path: Path) -> None:
    watch = watched(
        """
        loss = step(x)
        float(tf.constant(1.0) + 1.0)
        tf.shape(loss).numpy()
        loss.shape
        """,
        tmp_path,
    )
    assert reads(watch) == []


def test_a_run_of_a_session_is_a_launch(tmp_path: Path) -> None:
    watch = watched(
        """
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.tpu.initialize_system())
            doubled = tf.compat.v1.tpu.rewrite(lambda y: y * 2, [tf.ones([2])])
            for _ in range(3):
                session.run(doubled)
            again = session.make_callable(doubled)
            again()
        """,
        tmp_path,
    )
    assert counts(watch) == [(4, 4)]
