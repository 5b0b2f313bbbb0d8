"""Programs with TPU504, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, expected, reported
from tests.rules.openings import ESTIMATOR, NETWORK, SYSTEM

STEP = (
    SYSTEM
    + """

def replica_step(batch):
    image, name = batch
    return {returned}


@tf.function
def predict(batch):
    return strategy.run(replica_step, args=(batch,)){mark}


dataset = {dataset}
for batch in strategy.experimental_distribute_dataset(dataset.batch(8, drop_remainder=True)):
    predict(batch)
"""
)
STRINGS = "tf.data.Dataset.from_tensor_slices((tf.ones([8, 4]), tf.constant(['a', 'b'] * 4)))"
MARK = "  # error: TPU504"
DATASETS = {
    "strings that the step returns": STEP.format(
        returned="tf.reduce_mean(image), name", mark=MARK, dataset=STRINGS
    ),
    "strings that an operation takes": STEP.format(
        returned="tf.reshape(name, [-1])", mark=MARK, dataset=f"{STRINGS}.shuffle(8).repeat()"
    ),
    "lists of strings": STEP.format(
        returned="batch",
        mark=MARK,
        dataset="tf.data.Dataset.from_tensor_slices(([1, 2], ['a', 'b']))",
    ),
    "strings that a function of the pipeline makes": STEP.format(
        returned="name",
        mark=MARK,
        dataset="tf.data.Dataset.range(8).map(lambda n: (n, tf.constant('a')))",
    ),
    "strings of one of two datasets": STEP.format(
        returned="name",
        mark=MARK,
        dataset="tf.data.Dataset.zip((tf.data.Dataset.range(8), tf.data.Dataset"
        ".from_tensor_slices(['a', 'b'])))",
    ),
    "strings that the step leaves alone: TensorFlow drops them": STEP.format(
        returned="tf.reduce_mean(image)", mark="", dataset=STRINGS
    ),
    "strings that the pipeline has made numbers of": STEP.format(
        returned="name",
        mark="",
        dataset=f"{STRINGS}.map(lambda x, name: (x, tf.strings.to_hash_bucket_fast(name, 64)))",
    ),
    "of a list tf.data makes one tensor": STEP.format(
        returned="name", mark="", dataset="tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])"
    ).replace("image, name = batch", "name = batch"),
}
PROGRAMS = DATASETS | {
    "a missed alarm: strings that a step makes and returns": SYSTEM
    + """
def named(x):
    return {"loss": x * 2.0, "name": "train"}  # error: TPU504

def logged(x):
    return x, ("done", [tf.constant("a")])  # error: TPU504 # error: TPU504

def alone(x):
    return "done"  # error: TPU504

def looked_up(x):
    names = tf.constant(["cat", "dog"])
    return tf.gather(names, tf.argmax(x, -1))  # error: TPU504

def counted(x):
    return tf.size(tf.constant(["cat", "dog"])) + tf.size(x)

def nothing(x):
    "returns nothing"
    return None

def either(x, flag):
    if flag:
        return x, "first"  # possible: TPU504
    return x, 1.0

def shaped(x):
    label = tf.constant("dense")
    return tf.reshape(x, [-1], name="flat"), {"dense": tf.add(x, x, name=str(label))}, None, True

@tf.function
def train(x, flag):
    strategy.run(named, args=(x,))
    strategy.run(logged, args=(x,))
    strategy.run(alone, args=(x,))
    strategy.run(nothing, args=(x,))
    strategy.run(looked_up, args=(x,))
    strategy.run(counted, args=(x,))
    strategy.run(lambda x: either(x, flag), args=(x,))
    named(x)
    return strategy.run(shaped, args=(x,))
""",
    "strings that go to the host by themselves, or that no TPU returns": SYSTEM
    + """
tf.config.set_soft_device_placement(True)

@tf.function
def train(x):
    tf.distribute.MirroredStrategy().run(lambda x: (x, "done"), args=(x,))
    return strategy.run(lambda x: (x, "done"), args=(x,))
""",
    "a missed alarm: arrays of NumPy themselves": NETWORK
    + """
import library
import numpy as np

def of_random_rows(params):
    arrays = (np.random.rand(100, 5), np.zeros([100], np.int32))
    data = tf.data.Dataset.from_tensor_slices(arrays)  # error: TPU504
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

def of_doubles(params):
    rows = library.rows().astype(np.float64)
    data = tf.data.Dataset.from_tensor_slices({"rows": rows})  # error: TPU504
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

def of_python_floats(params):
    data = tf.data.Dataset.from_tensor_slices(library.rows().astype(float))  # error: TPU504
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

def of_floats(params):
    rows = library.rows().astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, np.zeros([100], np.float32)))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

def cast_later(params):
    data = tf.data.Dataset.from_tensor_slices(library.rows().astype(np.float64))
    data = data.map(lambda rows: tf.cast(rows, tf.float32))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)
"""
    + ESTIMATOR
    + """
for input_fn in of_random_rows, of_doubles, of_python_floats, of_floats, cast_later:
    estimator.train(input_fn, max_steps=100)
""",
    "missed alarms: NumPy's own dtype, and one that a transformation gives": NETWORK
    + """
import numpy as np

def of_arrays(params):
    rows, halves = np.random.rand(100, 5), np.zeros((100, 5), np.float32)
    data = tf.data.Dataset.from_tensor_slices((tf.constant(rows), halves))  # error: TPU504
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

def with_sizes(params):
    data = tf.data.Dataset.from_tensor_slices((tf.constant(np.ones([9, 5])), tf.zeros([9])))
    def set_shapes(rows, labels):
        rows.set_shape([5])
        return rows, labels
    data = data.map(set_shapes)  # error: TPU504
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

def cast(params):
    data = tf.data.Dataset.from_tensor_slices((tf.constant(np.ones([9, 5])), tf.zeros([9])))
    data = data.map(lambda rows, labels: (tf.cast(rows, tf.float32), labels))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)

KEYS = {"ids": tf.FixedLenFeature([8], tf.int64), "rates": tf.FixedLenFeature([8], tf.float32)}

def decode(record, dtype):
    example = tf.parse_single_example(record, KEYS)
    for name in list(example.keys()):
        tensor = example[name]
        if tensor.dtype == tf.int64:
            tensor = tf.cast(tensor, dtype)
        example[name] = tensor
    return example

def of_doubles(params):
    data = tf.data.TFRecordDataset("gs://bucket/records").repeat()
    return data.apply(  # possible: TPU504
        tf.data.experimental.map_and_batch(
            lambda record: decode(record, tf.float64), params["batch_size"], drop_remainder=True
        )
    )

def of_numbers(params):
    data = tf.data.TFRecordDataset("gs://bucket/records").repeat()
    return data.apply(
        tf.data.experimental.map_and_batch(
            lambda record: decode(record, tf.int32), params["batch_size"], drop_remainder=True
        )
    )
"""
    + ESTIMATOR
    + """
for input_fn in (of_arrays, with_sizes, cast, of_doubles, of_numbers):
    estimator.train(input_fn, max_steps=1)
""",
    "strings that a step of the pipeline hands on": NETWORK
    + """
NAMED = {"rows": tf.FixedLenFeature([4], tf.float32), "name": tf.FixedLenFeature([], tf.string)}
SHAPES = {"rows": [4], "name": []}

def parse(record):
    return tf.parse_single_example(record, NAMED)

def padded(params):
    data = tf.data.TFRecordDataset("gs://bucket/records").map(parse)  # error: TPU504
    data = data.filter(lambda example: tf.reduce_all(example["rows"] > 0.0)).prefetch(2)
    data = data.apply(tf.data.experimental.shuffle_and_repeat(100))
    return data.padded_batch(params["batch_size"], SHAPES, drop_remainder=True)

def without_names(params):
    data = tf.data.TFRecordDataset("gs://bucket/records").map(parse).repeat()
    data = data.map(lambda example: {"rows": example["rows"]})
    return data.padded_batch(params["batch_size"], {"rows": [4]}, drop_remainder=True)

def of_paths(params):
    def load(path):
        return {"image": tf.image.decode_png(tf.read_file(path)), "path": path}
    data = tf.data.Dataset.list_files("gs://bucket/*.png").map(load).repeat()  # error: TPU504
    return data.batch(params["batch_size"], drop_remainder=True)

def of_images(params):
    def load(path):
        return {"image": tf.image.decode_png(tf.read_file(path)), "size": tf.strings.length(path)}
    data = tf.data.Dataset.list_files("gs://bucket/*.png").map(load).repeat()
    return data.batch(params["batch_size"], drop_remainder=True)

def of_lines(params):
    data = tf.data.Dataset.list_files("gs://bucket/*.png").interleave(
        lambda path: tf.data.TFRecordDataset(path).map(lambda line: tf.decode_raw(line, tf.uint8))
    )
    return data.repeat().batch(params["batch_size"], drop_remainder=True)
"""
    + ESTIMATOR
    + """
for input_fn in (padded, without_names, of_paths, of_images, of_lines):
    estimator.train(input_fn, max_steps=1)
""",
    "a false positive: under a flag, a decoded image replaces its bytes": NETWORK
    + """
import sys

def input_fn(params):
    data = tf.data.TFRecordDataset("gs://bucket/records").repeat()
    def decode(record):
        example = tf.parse_single_example(record, {"image": tf.FixedLenFeature([], tf.string)})
        example["image"] = tf.reshape(tf.image.decode_jpeg(example["image"]), [224, 224, 3])
        return example
    return data.map(decode).batch(params["batch_size"], drop_remainder=True)
"""
    + ESTIMATOR
    + """
if "--train" in sys.argv:
    estimator.train(input_fn, max_steps=1)
""",
    "strings that the compiler holds for an assertion": """
        import tensorflow.compat.v1 as tf
        def computation(x):
            with tf.control_dependencies([tf.debugging.assert_positive(x, message="x")]):
                return tf.identity(x)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "an alias of a dtype": """
        import numpy as np
        import tensorflow.compat.v1 as tf
        def computation(x):
            wide = tf.to_double(x)  # possible: TPU504
            return tf.cast(x, np.complex128), wide  # error: TPU504
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
    "names of files that a dataset makes, and are given to the replicas": """
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())
        tf.tpu.experimental.initialize_tpu_system()
        def named(number):
            return tf.zeros([8]), tf.strings.as_string(number)
        def counted(number):
            text = tf.strings.join([tf.strings.as_string(number), "?"])
            return tf.zeros([8]), tf.strings.length(text)
        @tf.function
        def predict(batch):
            def on_replica(image, key):
                return image * 2.0, key
            return strategy.run(on_replica, args=batch)  # error: TPU504
        @tf.function
        def count(batch):
            def on_replica(image, key):
                return image * 2.0, key
            return strategy.run(on_replica, args=batch)
        rows = tf.data.Dataset.range(64)
        for batch in strategy.experimental_distribute_dataset(rows.map(named).batch(8, True)):
            predict(batch)
        for batch in strategy.experimental_distribute_dataset(rows.map(counted).batch(8, True)):
            count(batch)
    """,
    "seconds since 1970, and a sum": """
        import tensorflow.compat.v1 as tf
        def age(written):
            return tf.timestamp() - tf.cast(written, tf.float64)  # error: TPU501
        def total(x):
            return tf.reduce_sum(tf.cast(x, tf.float64))  # possible: TPU504
        def computation(x):
            return tf.cast(age(x), tf.float32) + tf.cast(total(x), tf.float32)
        result = tf.tpu.rewrite(computation, [tf.ones([2])])
    """,
}


FITTED = (
    SYSTEM
    + """
import pandas as pd

class Scorer(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.score = tf.keras.layers.Dense(4)

    def train_step(self, batch):
        features, labels = batch
        return {"score": self.score(features)}

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
    model.compile("sgd", "sparse_categorical_crossentropy")
    scorer = Scorer()
    scorer.compile()

rows = pd.read_csv("rows.csv")
images = tf.ones([8, 4])


def cached(dataset, is_small):
    if is_small:
        dataset = dataset.cache()
    return dataset.batch(8, drop_remainder=True)


"""
)
FITS = {
    "labels that are texts": 'model.fit(images, tf.constant(["a", "b"]))  # error: TPU504',
    "features that are texts": (
        'model.predict(tf.constant([f"{line} ." for line in open("f")]))  # error: TPU504'
    ),
    "texts of unseen rows": (
        'model.fit(images, tf.constant([str(line) for line in open("f")]))  # error: TPU504'
    ),
    "labels of the validation": (
        'model.fit(images, tf.zeros([8]), validation_data=(images, tf.constant(["a"])))'
        "  # error: TPU504"
    ),
    "a column that becomes texts": (
        'model.fit(images, rows["label"].astype(str).values)  # error: TPU504'
    ),
    "a column that becomes texts, in a dataset": (
        "data = tf.data.Dataset.from_tensor_slices((rows.text.astype(str).values, rows.label))\n"
        "model.fit(data.batch(8))  # error: TPU504"
    ),
    "texts that only a layer takes": (
        "data = tf.data.Dataset.from_tensor_slices((['a', 'b'], [1, 2]))\n"
        "scorer.fit(data.batch(8))  # error: TPU504"
    ),
    "a dataset with a step more": (
        "data = tf.data.Dataset.from_tensor_slices((images, ['a', 'b'] * 4))\n"
        'model.fit(cached(data, rows["small"]))  # error: TPU504'
    ),
    "labels that are numbers": "model.fit(images, tf.constant([1, 2]))",
    "a list of inputs": "model.fit([images, images], tf.zeros([8]))",
    "labels that are numbers again": (
        'names = rows["label"].astype(str)\n'
        "model.fit(images, names.map({'a': 0, 'b': 1}).values)\n"
        "model.fit(images, names.astype('category').cat.codes.values)\n"
        "model.fit(images, encoder.fit_transform(names.values))"
    ),
    "texts that the step leaves alone": (
        "data = tf.data.Dataset.from_tensor_slices((images, ['a', 'b'] * 4))\n"
        "scorer.fit(data.batch(8))"
    ),
    "the batch size of `predict`": "model.predict(images, 8)",
}


@pytest.mark.parametrize("text", FITS.values(), ids=FITS)
def test_texts_that_fit_gives_to_the_replicas(text: str, tmp_path: Path) -> None:
    """Missed alarms: arrays, layers that take texts, and datasets that branches make."""
    program_text = FITTED + text
    assert reported(program_text, tmp_path, ["TPU504"]) == expected(program_text, ["TPU504"])


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
