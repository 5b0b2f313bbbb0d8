"""Programs that run elsewhere: in tasks of asyncio, in threads, in an installed package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime.run.command import STRATEGY, tpulint

ASYNCIO = """\
import asyncio
import threading
import time

async def main():
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    def never(x):
        time.sleep(120)
        return x

    def host(x):
        return tf.ensure_shape(tf.numpy_function(never, [x], tf.float32), [])

    @tf.function
    def waits(x):
        return strategy.run(lambda x: tf.compat.v1.tpu.outside_compilation(host, x), args=(x,))

    @tf.function
    def runs(x):
        return strategy.run(lambda x: x + 1.0, args=(x,))

    def work():
        try:
            waits(tf.constant(1.0))
        except tf.errors.DeadlineExceededError as error:
            print(type(error).__name__)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(float(runs(tf.constant(1.0))))

asyncio.run(main())
"""
INSTALLED = (
    STRATEGY
    + """
@tf.function
def train(x):
    return strategy.run(lambda x: x * 2.0, args=(x,))

@tf.function
def evaluate(x):
    return strategy.run(lambda x: x * 3.0, args=(x,))

train(tf.constant(1.0))
evaluate(tf.constant(1.0))
strategy.run(lambda x: x, args=(1.0,))
"""
)


@pytest.mark.any_release
def test_a_program_under_asyncio_has_its_report_and_its_threads_the_deadline(
    tmp_path: Path,
) -> None:
    """TensorFlow is imported in a task, whose context ends with it."""
    (tmp_path / "program.py").write_text(ASYNCIO, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--replicas", "1", "--deadline", "5", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["DeadlockError", "2.0"]
    assert "Exception ignored" not in done.stderr
    assert re.search(r"^program\.py:26, 1 step, .*\n +device +1 ", done.stderr, re.MULTILINE), (
        done.stderr
    )


@pytest.mark.any_release
def test_an_installed_module_has_a_lane_for_each_of_its_lines(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "h5prog"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "train.py").write_text(INSTALLED, encoding="utf-8")
    done = tpulint(
        tmp_path, "run", "--replicas", "2", "-m", "h5prog.train", installed=package.parent
    )
    assert done.returncode == 1, done.stderr
    steps = re.findall(r"^(\S+), 1 step, 1 compilation\n +device +2 ", done.stderr, re.MULTILINE)
    assert steps == [f"site-packages/h5prog/train.py:{row}" for row in (14, 18)]
    assert "NotImplementedError [TPU701 run-outside-function]: `tpulint check` says" in done.stderr
    assert "site-packages/h5prog/train.py:22:1\n" in done.stderr
    assert "of the 2 files that ran: 1 finding, shown above" in done.stderr
