"""Dtypes of device code that are refused or slow, and what to write instead.

A mark in a program is the finding that is expected there, with its certainty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, findings, program, reported
from tests.rules.openings import V1
from tpulint.finding import Finding

FAMILY = ["TPU504"]
TPU = """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
"""
REWRITE = "\ntf.tpu.rewrite(computation, [tf.zeros([4])])\n"
OLD = "# file: requirements.txt\ntensorflow=={release}\n# file: train.py\n" + V1

PROGRAMS = {
    "dtypes that are not seen, and those that a TPU has": V1
    + """
import sys

import numpy as np
from settings import DTYPE

def computation(x, dtype=None):
    a = tf.cast(x, DTYPE)
    b = tf.cast(x, DTYPE.real)
    c = tf.cast(x, x.dtype)
    d = tf.zeros([2], sys.argv[1])
    e = tf.zeros([2], dtype)
    f = tf.zeros([2], tf.int16)
    g = np.zeros([2], np.float64)
    h = tf.constant("once", dtype=tf.string)
    return a, b, c, d, e, f, g
"""
    + REWRITE,
    "dtypes that no TPU has, and those that are slow": V1
    + """
def computation(x):
    a = tf.zeros([2], tf.string)  # error: TPU504
    b = tf.zeros([2], "complex128")  # error: TPU504
    c = tf.constant(1.0, dtype=tf.float64)  # possible: TPU504
    d = tf.constant(1.0, dtype=tf.complex128)  # error: TPU504
    e = tf.ragged.range(4, dtype=tf.float64)
    return a, b, c, d, e
"""
    + REWRITE,
    "dtypes under soft placement": TPU
    + """
tf.config.set_soft_device_placement(True)

def replica_step(x):
    return tf.cast(x, tf.complex128)

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))
""",
    "either of two dtypes is given": V1
    + """
import sys

text = tf.constant("a") if len(sys.argv) > 1 else tf.constant(1.0)
wide = tf.zeros([4], tf.uint8) if len(sys.argv) > 1 else tf.zeros([4])

def computation(x):
    kept = tf.constant(2, dtype=tf.uint8) if len(sys.argv) > 1 else x
    return tf.math.cumprod(kept), x  # possible: TPU504

tf.tpu.rewrite(computation, [text])  # possible: TPU504
tf.tpu.rewrite(computation, [tf.constant("a")])  # error: TPU504
""",
    "a kernel lacks the dtype": V1
    + """
def computation(x):
    return tf.math.cumprod(tf.constant([2], dtype=tf.uint8))  # error: TPU504
"""
    + REWRITE,
    "an int64 is sent to the host of TensorFlow 2.4": OLD.replace("{release}", "2.4")
    + """
import sys

def computation(x):
    whole = tf.zeros([2], dtype=tf.int64)
    either = whole if len(sys.argv) > 1 else x
    a = tf.tpu.outside_compilation(tf.math.abs, whole)  # error: TPU504
    b = tf.tpu.outside_compilation(tf.math.abs, either)  # possible: TPU504
    return a, b
"""
    + REWRITE,
    "an int64 is sent to the host of TensorFlow 2.6": OLD.replace("{release}", "2.6")
    + """
def computation(x):
    return tf.tpu.outside_compilation(tf.math.abs, tf.zeros([2], dtype=tf.int64))
"""
    + REWRITE,
    "an int64 is sent to the host of some TensorFlow": V1
    + """
def computation(x):
    return tf.tpu.outside_compilation(tf.math.abs, tf.zeros([2], dtype=tf.int64))
"""
    + REWRITE,
    "an int64 is sent to the host_call of TensorFlow 2.4": OLD.replace("{release}", "2.4")
    + """
def model_fn(features, labels, mode, params):
    step = tf.zeros([1], dtype=tf.int64)
    host_call = (lambda each: each, [step])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=features, host_call=host_call)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=None)
""",
    "policies of mixed precision on a TPU": TPU
    + """
from library import Policy

def replica_step(x):
    return x

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))

mixed = tf.keras.mixed_precision
mixed.set_global_policy("mixed_float16")  # possible: TPU504
mixed.set_global_policy(policy="mixed_float16")  # possible: TPU504
mixed.Policy(name="mixed_float16")  # possible: TPU504
mixed.set_global_policy("mixed_bfloat16")
mixed.LossScaleOptimizer("mixed_float16")
mixed.set_global_policy()
Policy("mixed_float16")
""",
    "policies of mixed precision where the TPU is one of several": TPU
    + """
def step(x, other):
    other.run(lambda y: y, args=(x,))
    return tf.function(lambda: strategy.run(lambda y: y, args=(x,)))()

tf.keras.mixed_precision.set_global_policy("mixed_float16")  # possible: TPU504
""",
    "policies of mixed precision that a flag keeps from a TPU": TPU
    + """
from library import flags

step = tf.function(lambda x: strategy.run(lambda y: y, args=(x,)))
step(tf.zeros([8]))
if flags.fast and not flags.use_tpus:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
elif flags.fast or flags.use_tpus:
    tf.keras.mixed_precision.set_global_policy("mixed_float16")  # possible: TPU504
""",
    # A false alarm in KerasNLP.
    "policies of mixed precision beside the TPU's strategy": """
import tensorflow as tf
from library import flags

def connected(name):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect(name)
    return tf.distribute.TPUStrategy(resolver)

def main(data):
    if flags.tpu_name:
        strategy = connected(flags.tpu_name)
        policy = tf.keras.mixed_precision.Policy("mixed_bfloat16")
        if flags.fast:
            policy = tf.keras.mixed_precision.Policy("mixed_float16")  # possible: TPU504
    else:
        strategy = tf.distribute.get_strategy()
        policy = tf.keras.mixed_precision.Policy("mixed_float16")
    tf.keras.mixed_precision.set_global_policy(policy)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse")
    model.fit(data)
""",
    "policies of mixed precision on GPUs": """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()

@tf.function
def step(x):
    return strategy.run(lambda y: y, args=(x,))

tf.keras.mixed_precision.set_global_policy("mixed_float16")
""",
    "policies of mixed precision with a strategy that is not seen": """
import tensorflow as tf

@tf.function
def step(strategy, x):
    return strategy.run(lambda y: y, args=(x,))

tf.keras.mixed_precision.set_global_policy("mixed_float16")
""",
    "policies of mixed precision in a program of TensorFlow 1": V1
    + """
def computation(x):
    return x

tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
"""
    + REWRITE,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert reported(text, tmp_path, FAMILY) == expected(text, FAMILY)


# The expression that asks for the dtype, and the text of the fix.
FIXES = {
    "tf.cast(x, tf.float16)": "tf.cast(x, tf.bfloat16)",
    "tf.cast(x, dtype=tf.float16)": "tf.cast(x, dtype=tf.bfloat16)",
    "tf.cast(x, HALF)": None,
    "tf.cast(x, tf.half)": None,
    'tf.cast(x, "float16")': None,
    "tf.cast(x, tf.float64)": None,
    "tf.cast(x, tf.complex128)": None,
    "tf.to_double(x)": None,
    "tf.cast(x, f)": None,
}


@pytest.mark.parametrize("dtype", FIXES)
def test_the_fix_writes_the_named_dtype(dtype: str, tmp_path: Path) -> None:
    opening = V1 + "HALF = tf.float16\nfrom tensorflow import float16 as f\n"
    text = opening + f"def computation(x):\n    return {dtype}\n" + REWRITE
    (actual,) = (
        finding for finding in findings(program(text), tmp_path) if finding.code == "TPU504"
    )
    assert written(actual, dtype) == FIXES[dtype]


def written(finding: Finding, line: str) -> str | None:
    """The line with the finding's fix."""
    if finding.fix is None:
        return None
    (edit,) = finding.fix.edits
    before = len("    return ") + 1
    start, end = edit.start.column - before, edit.end.column - before
    return line[:start] + edit.content + line[end:]


REPEATED = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
FILES = tf.io.gfile.glob("gs://bucket/train/*.tfrecord")
TEXT = tf.io.FixedLenFeature([], tf.string)
LABELED = {"image": TEXT, "class": tf.io.FixedLenFeature([], tf.int64)}
UNLABELED = {"image": TEXT, "id": TEXT}

def read_labeled(example):
    example = tf.io.parse_single_example(example, LABELED)
    image = tf.image.decode_jpeg(example["image"], channels=3)
    return tf.cast(image, tf.float32), example["class"]

def read_unlabeled(example):
    example = tf.io.parse_single_example(example, UNLABELED)
    image = tf.image.decode_jpeg(example["image"], channels=3)
    return tf.cast(image, tf.float32), example["id"]

def load(files, labeled=True, ordered=False):
    options = tf.data.Options()
    if not ordered:
        options.experimental_deterministic = False
    dataset = tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)
    dataset = dataset.with_options(options)
    return dataset.map(read_labeled if labeled else read_unlabeled)

def make(labeled, ordered=False):
    dataset = load(FILES, labeled=labeled, ordered=ordered).repeat().shuffle(2048)
    return dataset.batch(16, drop_remainder=True).prefetch(tf.data.AUTOTUNE)

for image, label in make(True).take(3):
    print(image.numpy().shape)
for image, label in make(True, ordered=True).take(3):
    print(image.numpy().shape)
for image, label in make(False).take(3):
    print(image.numpy().shape)
shown = iter(make(True).unbatch().batch(20))
named = iter(make(False).unbatch().batch(20))
training, testing = make(True), make(False)
print(training, testing, make(True).element_spec, make(False).element_spec)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)])
    model.compile("adam", "mse")
"""


def test_data_that_a_script_looks_at_before_it_feeds_it(tmp_path: Path) -> None:
    """A missed alarm: the function that makes the data was read too often to be read again."""
    text = REPEATED + "model.fit(make(False), epochs=2)  # error: TPU504\nmodel.fit(make(True))\n"
    assert reported(text, tmp_path, ["TPU504"]) == expected(text, ["TPU504"])
