"""TPU501 of operations that some releases compile, and of those that an argument decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked, messages
from tests.rules.openings import REWRITTEN, V1

OF = "# file: requirements.txt\ntensorflow=={release}\n# file: train.py\n" + V1
DISTINCT = """
def computation(x):
    distinct, _ = tf.unique(x){mark}
    return tf.reduce_sum(distinct)
"""
V2 = "import tensorflow as tf\n"
CONNECTED = (
    V2
    + """
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="my-tpu")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
dataset = tf.data.Dataset.from_tensors((tf.ones([8, 8, 3]), tf.ones([2])))
dataset = dataset.repeat().batch(8, drop_remainder=True)
"""
)
REWRITTEN_V2 = "\ntf.compat.v1.tpu.rewrite(computation, [tf.zeros([4])])\n"


@pytest.mark.parametrize("release", ["1.15", "2.0", "2.3", "2.4"])
def test_a_release_without_the_kernel(release: str, tmp_path: Path) -> None:
    text = OF.format(release=release) + DISTINCT.format(mark="  # possible: TPU501") + REWRITTEN
    assert_marked(text, tmp_path)
    ((message, _),) = messages(text, tmp_path, "TPU501")
    assert message == (
        f"`unique` builds `Unique`, which has no TPU kernel in TensorFlow {release}:"
        " send it to the host with `outside_compilation`"
    )


@pytest.mark.parametrize("release", ["2.6", "2.8", "2.12", "2.21"])
def test_a_release_with_the_kernel(release: str, tmp_path: Path) -> None:
    assert_marked(OF.format(release=release) + DISTINCT.format(mark="") + REWRITTEN, tmp_path)


PROGRAMS = {
    "any release may be installed": V1 + DISTINCT.format(mark="") + REWRITTEN,
    "a newer release may be installed": OF.format(release="2.4").replace("==", ">=")
    + DISTINCT.format(mark="")
    + REWRITTEN,
    "TensorFlow 1, by its names": V2
    + """
def computation(x):
    tf.unique(x)  # possible: TPU501
    return tf.contrib.layers.fully_connected(x, 4)

tf.contrib.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a raw operation": OF.format(release="2.4")
    + """
def computation(x):
    return tf.raw_ops.Where(condition=x)  # possible: TPU501
"""
    + REWRITTEN,
    "ways to resize": V2
    + """
import sys

method = sys.argv[1]
either = "area" if method else "nearest"

def computation(x):
    tf.image.resize(x, [3, 3])
    tf.image.resize(x, [3, 3], "nearest")
    tf.image.resize(x, [3, 3], method=method)
    tf.image.resize(x, [3, 3], tf.image.ResizeMethod.BILINEAR)
    tf.image.resize(x, [3, 3], "bicubic")  # possible: TPU501
    tf.image.resize(x, [3, 3], method=tf.image.ResizeMethod.AREA)  # possible: TPU501
    tf.image.resize(x, [3, 3], method="lanczos3")  # possible: TPU501
    tf.image.resize(x, [3, 3], method=either)  # possible: TPU501
    tf.image.resize_with_pad(x, 3, 3, "area")  # possible: TPU501
    tf.image.resize_with_pad(x, 3, 3)
    tf.compat.v1.image.resize_area(x, [3, 3])  # possible: TPU501
    return x
"""
    + REWRITTEN_V2,
    "samples": V2
    + """
import sys

sampled = sys.argv[1:]

def computation(x):
    tf.nn.sampled_softmax_loss(x, x, x, x, 5, 100)  # error: TPU501
    tf.nn.nce_loss(x, x, x, x, 5, 100, sampled_values=None)  # error: TPU501
    tf.nn.nce_loss(x, x, x, x, 5, 100, sampled_values=sampled)
    tf.nn.nce_loss(x, x, x, x, 5, 100, 1, sampled)
    tf.nn.nce_loss(x, x, x, x, *sampled)
    return x
"""
    + REWRITTEN_V2,
    "labels of a loss: those of TensorFlow 2 may be dense": V2
    + """
def computation(x):
    tf.nn.ctc_loss(x, x, [3], [3])
    tf.compat.v1.nn.ctc_loss(x, x, [3])  # error: TPU501
    tf.keras.backend.ctc_batch_cost(x, x, x, x)  # error: TPU501
    return x
"""
    + REWRITTEN_V2,
    "sparse tensors": V2
    + """
def computation(x):
    sparse = tf.sparse.SparseTensor([[0, 0]], [1.0], [1, 2])
    tf.sparse.sparse_dense_matmul(sparse, x)  # possible: TPU501
    tf.nn.embedding_lookup_sparse(x, sparse, None)  # error: TPU501
    tf.nn.embedding_lookup(x, [0])
    return x
"""
    + REWRITTEN_V2,
    "layers that look words up": V2
    + """
words = tf.keras.layers.StringLookup(vocabulary=["a", "b"])
numbers = tf.keras.layers.Hashing(16)
scale = tf.keras.layers.Rescaling(2.0)

def computation(x):
    words(x)  # error: TPU501
    numbers(x)  # error: TPU501
    return scale(x)

tf.compat.v1.tpu.rewrite(computation, [tf.zeros([4])])
tf.data.Dataset.from_tensors("a").map(words)
words("a")
""",
    "operations that a TPU refused, by reports": V2
    + """
def computation(x, boxes):
    tf.image.crop_and_resize(x, boxes, [0], [8, 8])  # error: TPU501
    tf.image.combined_non_max_suppression(boxes, x, 4, 4)  # error: TPU501
    tf.random.gamma([4], 0.2)  # error: TPU501
    tf.unique_with_counts(x)  # error: TPU501
    tf.image.non_max_suppression_with_scores(boxes, x, 4)  # error: TPU501
    tf.sparse.softmax(x)  # error: TPU501
    tf.random.stateless_gamma([4], [1, 2], 0.2)  # possible: TPU501
    return tf.linalg.det(x)  # possible: TPU501

tf.compat.v1.tpu.rewrite(computation, [tf.zeros([4]), tf.zeros([4, 4])])
""",
    "the host does what the TPU refused": V2
    + """
def counted(x):
    return tf.unique_with_counts(x)

def computation(x):
    return tf.compat.v1.tpu.outside_compilation(counted, x)

tf.compat.v1.tpu.rewrite(computation, [tf.zeros([4])])
tf.data.Dataset.from_tensors([1, 1]).map(counted)
""",
    "what a session feeds, in the computation and before it": "import tensorflow.compat.v1 as tf\n"
    + """
before = tf.placeholder(tf.float32, [4])

def computation(x):
    inside = tf.placeholder(tf.float32, [4])  # error: TPU501
    return x + inside + tf.placeholder_with_default(x, [4])

tf.tpu.rewrite(computation, [before])
""",
    "a model with placeholders where it is built for inference": """
import tensorflow.compat.v1 as tf

from settings import mode

def computation(x):
    state = tf.placeholder(tf.float32, [None]) if mode == "inference" else x
    if mode == "export":
        state = tf.placeholder(tf.float32, [None])
    return x + state

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "a setting that a model refuses on a TPU": """
import tensorflow as tf

from settings import parameters, style

class Detections:
    def __init__(self, style):
        if style != "hard":
            raise ValueError("not on TPUs")
        self.style = style

    def __call__(self, x):
        if self.style == "soft":
            x = tf.numpy_function(abs, [x], tf.float32)  # possible: TPU501
        if self.style != "soft":
            x = tf.numpy_function(abs, [x], tf.float32)  # error: TPU501
        if self.style in ("soft", "global"):
            x = tf.numpy_function(abs, [x], tf.float32)  # possible: TPU501
        if parameters["on_host"]:  # this is no text for a setting
            x = tf.numpy_function(abs, [x], tf.float32)  # error: TPU501
        return x

tf.compat.v1.tpu.rewrite(Detections(style), [tf.zeros([4])])
""",
    "a step that takes its batch of an iterator on the host": CONNECTED
    + """
batches = iter(dataset)
numbers = iter([1.0, 2.0])

@tf.function
def train(of, batch):
    def step(of, batch):
        return next(of), next(iter(dataset)), next(numbers), batch  # error: TPU501

    return strategy.run(step, args=(of, batch))  # possible: TPU714

train(batches, next(batches))
""",
    "a missed alarm: a step that reads a whole dataset": CONNECTED
    + """
import library
records = tf.data.TFRecordDataset("gs://bucket/records").repeat(2).batch(8)

def squares(sizes):
    total = tf.constant(0.0)
    for row in records.map(lambda x: x):  # error: TPU501
        total += tf.reduce_sum(row)
    for size, (row, label) in zip(sizes, [(1.0, 2.0)]):
        total += size * tf.constant(row)
    for row in library.rows():
        total += tf.reduce_sum(row)
    return total + records.reduce(0.0, lambda total, x: total)  # error: TPU501

@tf.function
def train(batch):
    def step(batch):
        single = records.take(1).get_single_element()  # error: TPU501
        for row in batch:
            single += tf.reduce_sum(row)
        return squares([1, 2]), single, tf.reduce_sum(batch)

    return strategy.run(step, args=(batch,))

for batch in records:
    train(tf.reduce_mean(batch))
for row in records.map(lambda x: [tf.reduce_sum(x) for y in records]):
    print(tf.reduce_sum(row))
""",
    "layers that turn images, which they do only while they train": CONNECTED
    + """
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.RandomFlip("horizontal"),
            tf.keras.layers.RandomRotation(0.2),
            tf.keras.layers.RandomZoom(0.2),
            tf.keras.layers.Dense(2),
        ]
    )
    model.compile(optimizer="sgd", loss="mse")
model.fit(dataset)  # error: TPU501
model.evaluate(dataset)
model.predict(dataset)
""",
    "layers that turn images in the pipeline": CONNECTED
    + """
augment = tf.keras.Sequential([tf.keras.layers.RandomRotation(0.2)])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.RandomFlip(), tf.keras.layers.Dense(2)])
    model.compile(optimizer="sgd", loss="mse")
model.fit(dataset.map(lambda x, y: (augment(x, training=True), y)))
""",
    "a table of words": V2
    + """
table = tf.contrib.lookup.index_to_string_table_from_tensor(["a", "b"])

def computation(x):
    return table.lookup(x)  # error: TPU501

tf.contrib.tpu.rewrite(computation, [tf.zeros([4])])
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
