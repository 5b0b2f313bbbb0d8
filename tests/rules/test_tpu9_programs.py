"""Programs that the rules about performance once reported, or may not report, by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.rules.analysis import program
from tpulint.testing import Block, assert_marked, findings

STRATEGY = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""
STEPS = f"""{STRATEGY}
with strategy.scope():
    weight = tf.Variable(1.0)
    optimizer = tf.keras.optimizers.SGD()


def replica_fn():
    optimizer.apply_gradients([(weight * 0.1, weight)])
    return weight * 2.0


def evaluate_fn():
    return weight * 2.0
"""
FIT = f"""{STRATEGY}
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""


def of_rule(code: str, text: str) -> Block:
    """Return a program as it would be in the page of a rule about performance."""
    return replace(program(text), page=code.lower())


ESTIMATOR = """
import tensorflow.compat.v1 as tf

from network import input_fn, layers


def model_fn(features, labels, mode, params):
    logits = layers(features)
    loss = tf.reduce_mean(logits)
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer())
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss))


config = tf.estimator.tpu.RunConfig()
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, train_batch_size=1024, predict_batch_size=1024, config=config
)
"""


def test_an_estimator_that_only_predicts_may_use_float32(tmp_path: Path) -> None:
    predicting = f"{ESTIMATOR}print(list(estimator.predict(input_fn)))\n"
    assert findings(of_rule("TPU906", predicting), tmp_path) == []
    training = of_rule("TPU906", f"{ESTIMATOR}estimator.train(input_fn, max_steps=50000)\n")
    assert [finding.code for finding in findings(training, tmp_path)] == ["TPU906"]


def test_both_loops_in_the_function_are_one_launch(tmp_path: Path) -> None:
    nested = f"""{STEPS}

@tf.function
def train(epochs, steps):
    for _ in tf.range(epochs):
        for _ in tf.range(steps):
            strategy.run(replica_fn)


for _ in range(100):
    train(tf.constant(10), tf.constant(100))
"""
    assert_marked(of_rule("TPU901", nested), tmp_path)
    by_function = nested.replace(
        "            strategy.run(replica_fn)", "            one()"
    ).replace(
        "@tf.function\ndef train",
        "@tf.function\ndef one():\n    strategy.run(replica_fn)\n\n\n@tf.function\ndef train",
    )
    assert_marked(of_rule("TPU901", by_function), tmp_path)


@pytest.mark.parametrize("code", ["TPU901", "TPU902"])
def test_evaluation_reads_the_result_of_each_batch(code: str, tmp_path: Path) -> None:
    evaluation = f"""{STEPS}

@tf.function
def evaluate():
    return strategy.reduce("SUM", strategy.run(evaluate_fn), axis=None)


total = 0.0
for _ in range(1000):
    total += float(evaluate())
"""
    assert_marked(of_rule(code, evaluation), tmp_path)
    trains = evaluation.replace("strategy.run(evaluate_fn)", "strategy.run(replica_fn)")
    assert [finding.code for finding in findings(of_rule(code, trains), tmp_path)] == [code]


@pytest.mark.parametrize(
    ("release", "setting"),
    [
        ("1.15", None),
        ("2.0", None),
        ("2.3", "experimental_steps_per_execution"),
        ("2.4", "steps_per_execution"),
        ("2.15", "steps_per_execution"),
    ],
)
def test_the_target_decides_what_compile_can_be_told(
    release: str, setting: str | None, tmp_path: Path
) -> None:
    (tmp_path / "requirements.txt").write_text(f"tensorflow=={release}\n")
    text = f"""{FIT}
    model.compile("sgd", "mse")
model.fit(tf.data.TFRecordDataset("gs://bucket/train").batch(1024, True), steps_per_epoch=100)
"""
    actual = [
        finding
        for finding in findings(of_rule("TPU901", text), tmp_path)
        if finding.code == "TPU901"
    ]
    assert [item.message.rpartition("pass ")[2] for item in actual] == (
        [] if setting is None else [f"`{setting}=100`"]
    )


@pytest.mark.parametrize(
    ("read", "number"), [("np.mean(loss)", 1), ("np.asarray(loss)", 1), ("np.shape(loss)", 0)]
)
def test_numpy_reads_the_memory_of_a_result(read: str, number: int, tmp_path: Path) -> None:
    text = f"""import numpy as np
{STEPS}

@tf.function
def train():
    return strategy.reduce("SUM", strategy.run(replica_fn), axis=None)


losses = []
for _ in range(1000):
    loss = train()
    losses.append({read})
print(np.mean(losses))
"""
    actual = [finding.code for finding in findings(of_rule("TPU902", text), tmp_path)]
    assert actual.count("TPU902") == number


CONTRIB = FIT.replace("tf.config.experimental_connect_to_cluster(resolver)\n", "").replace(
    "tf.distribute.TPUStrategy", "tf.contrib.distribute.TPUStrategy"
)


def test_the_keras_of_contrib_has_neither_the_setting_nor_a_policy(tmp_path: Path) -> None:
    text = f"""{CONTRIB}
    model.compile("sgd", "mse")
model.fit(tf.data.TFRecordDataset("gs://bucket/train").batch(1024, True), steps_per_epoch=100)
"""
    (finding,) = findings(of_rule("TPU901", text), tmp_path)
    assert finding.message.endswith("pass `steps_per_run=100` to `TPUStrategy`")


@pytest.mark.parametrize(
    ("data", "number"),
    [
        ("tf.keras.datasets.cifar10.load_data()[0]", 0),
        ('tfds.load("mnist:3.*.*", split="train")', 0),
        ('tfds.load(name="imagenet2012", split="train")', 1),
    ],
)
def test_a_small_example_may_use_float32(data: str, number: int, tmp_path: Path) -> None:
    text = f"""import tensorflow_datasets as tfds
{FIT}
    model.compile("sgd", "mse", steps_per_execution=100)
data = {data}
model.fit(tf.data.Dataset.from_tensor_slices(data).batch(1024, True), steps_per_epoch=100)
"""
    actual = [finding.code for finding in findings(of_rule("TPU906", text), tmp_path)]
    assert actual.count("TPU906") == number


@pytest.mark.parametrize(("workers", "number"), [("", 1), (", workers=8", 0)])
def test_a_generator_that_has_workers_is_no_single_thread(
    workers: str, number: int, tmp_path: Path
) -> None:
    text = f"""{FIT}
    model.compile("sgd", "mse", steps_per_execution=100)


def batches():
    while True:
        yield tf.zeros([1024, 8]), tf.zeros([1024, 1])


model.fit(batches(), steps_per_epoch=100{workers})
"""
    actual = [finding.code for finding in findings(of_rule("TPU903", text), tmp_path)]
    assert actual.count("TPU903") == number


@pytest.mark.parametrize("code", ["TPU901", "TPU905"])
def test_the_default_of_a_flag_is_not_what_a_run_uses(code: str, tmp_path: Path) -> None:
    text = (
        f"""from absl import flags
{ESTIMATOR}""".replace(
            "RunConfig()",
            """RunConfig(
    tpu_config=tf.estimator.tpu.TPUConfig(
        iterations_per_loop=flags.FLAGS.iterations_per_loop, num_shards=8
    )
)""",
        )
        .replace("train_batch_size=1024", "train_batch_size=flags.FLAGS.train_batch_size")
        .replace(
            "\n\ndef model_fn",
            """
flags.DEFINE_integer("train_batch_size", 32, "examples of a step")
flags.DEFINE_integer("iterations_per_loop", 1, "steps of a launch")


def model_fn""",
        )
    )
    training = of_rule(code, f"{text}estimator.train(input_fn, max_steps=50000)\n")
    assert code not in [finding.code for finding in findings(training, tmp_path)]


PARSED = f"""{FIT}
    model.compile("sgd", "mse")


def parse(record):
    return tf.io.parse_single_example(record, {{"x": tf.io.FixedLenFeature([8], tf.float32)}})


data = tf.data.TFRecordDataset("gs://bucket/train").map(parse).batch(1024, drop_remainder=True)
model.fit(data, steps_per_epoch=100)
"""


@pytest.mark.parametrize("release", ["1.15", "2.4", "2.6", "2.21"])
def test_the_target_decides_whether_a_map_is_run_in_parallel(release: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"tensorflow=={release}\n")
    actual = [finding.code for finding in findings(of_rule("TPU903", PARSED), tmp_path)]
    assert actual.count("TPU903") == (1 if release in ("1.15", "2.4") else 0)


def test_settings_that_are_not_seen_may_ask_for_threads(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4\n")
    unseen = f"import settings\n{PARSED.replace('map(parse)', 'map(parse, **settings.MAP)')}"
    assert all(
        finding.code != "TPU903" for finding in findings(of_rule("TPU903", unseen), tmp_path)
    )


def test_a_transformation_that_is_not_seen_may_shuffle(tmp_path: Path) -> None:
    text = f"""from settings import transformation
{FIT}
    model.compile("sgd", "mse")
data = tf.data.TFRecordDataset("gs://bucket/train").apply(transformation)
model.fit(data.batch(1024, drop_remainder=True).shuffle(100), steps_per_epoch=100)
"""
    assert_marked(of_rule("TPU903", text), tmp_path)


def test_a_product_with_another_number_is_no_batch_of_a_core(tmp_path: Path) -> None:
    text = f"""{FIT}
    model.compile("sgd", "mse")
data = tf.data.TFRecordDataset("gs://bucket/train")
model.fit(data.batch(4 * strategy.extended.size, drop_remainder=True), steps_per_epoch=100)
"""
    assert_marked(of_rule("TPU905", text), tmp_path)


def test_joined_datasets_are_followed_each(tmp_path: Path) -> None:
    text = f"""{FIT}
    model.compile("sgd", "mse")
data = tf.data.TFRecordDataset(tf.io.gfile.glob("gs://bucket/train-*"))
labels = tf.data.Dataset.range(10**6).batch(64, drop_remainder=True)
pairs = tf.data.Dataset.zip((data.batch(1, drop_remainder=True), labels))
model.fit(pairs, steps_per_epoch=100)
"""
    marks = [finding.message for finding in findings(of_rule("TPU903", text), tmp_path)]
    assert any("`TFRecordDataset` reads the files one after the other" in mark for mark in marks)
    marks = [finding.message for finding in findings(of_rule("TPU905", text), tmp_path)]
    assert any("8 cores share a batch of 1, and 7 of them get nothing" in mark for mark in marks)


def test_only_the_configuration_of_the_estimator_that_trains_is_reported(tmp_path: Path) -> None:
    assert_marked(
        of_rule(
            "TPU901",
            """
import tensorflow.compat.v1 as tf

from network import input_fn, model_fn

config = tf.estimator.tpu.RunConfig(
    tpu_config=tf.estimator.tpu.TPUConfig(iterations_per_loop=1)  # error: TPU901
)
on_host = tf.estimator.tpu.RunConfig(
    tpu_config=tf.estimator.tpu.TPUConfig(iterations_per_loop=1)
)
estimator = tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=1024, config=config)
tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=8, use_tpu=False, config=on_host)
estimator.train(input_fn, max_steps=50000)
""",
        ),
        tmp_path,
    )
