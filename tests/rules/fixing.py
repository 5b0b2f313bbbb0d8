"""Apply the fixes of a program's findings, as `tpulint check --fix --unsafe-fixes` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.diagnostics.fix import Fixed, fix_all
from tpulint.finding import Certainty, Finding
from tpulint.source import Source
from tpulint.testing import Block, write

BEGIN = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
ESTIMATOR = """
import {tensorflow}


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    optimizer = {optimizer}
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    host_call = (lambda value: value, [{sent}])
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=train_op, host_call=host_call
    )


def input_fn(params):
    rows = tf.data.Dataset.range(100)
    return rows.{batch}


estimator = tf.estimator.tpu.TPUEstimator(
    model_fn,
    config=tf.estimator.tpu.RunConfig(tpu_config=tf.estimator.tpu.TPUConfig(10, 8)),
    use_tpu=True,
    train_batch_size=64,
)
estimator.train(input_fn, max_steps=10)
"""
SOUND = {
    "tensorflow": "tensorflow.compat.v1 as tf",
    "optimizer": "tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())",
    "sent": "tf.reshape(loss, [1])",
    "batch": 'batch(params["batch_size"], drop_remainder=True)',
}


def fixed(block: Block, folder: Path, codes: Sequence[str] = tuple(CODES)) -> Fixed:
    """Return what the fixes of these codes make of the block's files."""
    write(block, folder)
    config = Config(root=str(folder), certainty=Certainty.POSSIBLE, jobs=1)
    task = driver.discover(driver.Request(config, frozenset(codes), (str(folder),)))

    def check(files: Mapping[str, bytes]) -> tuple[Sequence[Finding], Mapping[str, Source]]:
        result = driver.check(task, files)
        return result.findings, result.context.sources

    return fix_all(check, unsafe=True)


def after(text: str, code: str, folder: Path) -> str:
    """Return a program of one file as the fixes of one code leave it."""
    from tests.rules.analysis import program

    done = fixed(program(text), folder, [code])
    assert not done.messages
    data = next(iter(done.files.values()), None)
    return dedent(text).strip("\n") + "\n" if data is None else data.decode()


def estimator(**parts: str) -> str:
    """Return a program that trains a TPUEstimator, with some of its parts changed."""
    return ESTIMATOR.format(**{**SOUND, **parts})


def assert_fixed(before: str, fixed: str, code: str, folder: Path) -> None:
    """Fail unless the fixes of one code make `fixed` of a program of a TPUStrategy."""
    text = BEGIN + dedent(before)
    assert after(text, code, folder) == BEGIN + dedent(fixed)
