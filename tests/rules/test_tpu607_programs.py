"""Programs with TPU607, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import ESTIMATOR, INPUT_FN, NETWORK, REMOTE

ON_ANOTHER_MACHINE = """
cluster = tf.distribute.cluster_resolver.TPUClusterResolver.connect("grpc://10.240.1.2:8470")
config = tf.estimator.tpu.RunConfig(cluster=cluster)
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=config
)
estimator.train(input_fn, max_steps=1)
"""
TF = "import tensorflow as tf\n"
PROGRAMS = {
    "false alarm: a helper that reads other files on this machine for others": TF
    + REMOTE
    + """
def read(files):
    return tf.data.Dataset.list_files(files, shuffle=False).interleave(tf.data.TFRecordDataset)

def show():
    for row in read(["./rows/a.tfrecord", "./rows/b.tfrecord"]).take(2):
        print(row)

show()
strategy.experimental_distribute_dataset(read(["gs://bucket/a.tfrecord"]).batch(8, True))
""",
    "false alarm: data that are loaded into the memory of this machine": TF
    + REMOTE
    + """
import tensorflow_datasets as tfds

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
whole, info = tfds.load("mnist", batch_size=-1, with_info=True)
model.fit(tf.data.Dataset.from_tensor_slices(whole["train"]).batch(64, drop_remainder=True))
batches = tfds.load("mnist", split="train", batch_size=64)  # possible: TPU607
model.fit(batches.filter(lambda row: row["image"].shape[0] == 64))
""",
    "missed alarms: names with a number, and a model of a model's outputs": TF
    + REMOTE
    + """
import sys

with strategy.scope():
    inputs = tf.keras.Input([4])
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
number, folder = len(sys.argv), sys.argv[1]
data = tf.data.Dataset.range(8).map(lambda n: (tf.ones([4]), tf.ones([1]))).batch(8, True)
best = tf.keras.callbacks.ModelCheckpoint("best_{}".format(number))  # possible: TPU607
saved = tf.keras.callbacks.ModelCheckpoint("best_{}.h5".format(number))
kept = tf.keras.callbacks.ModelCheckpoint("gs://best_runs/{}".format(number))
unseen = tf.keras.callbacks.ModelCheckpoint("{}/best_of_all".format(folder))
model.fit(data, callbacks=[best, saved, kept, unseen])
texts = tf.keras.Input([], dtype=tf.string)
served = tf.keras.Model(texts, model(tf.keras.layers.Lambda(read)(texts)))
served.save("./served")  # error: TPU607
served.save("served.keras")
tf.keras.Model(texts, tf.keras.layers.Lambda(read)(texts)).save("./reader")
""",
    "a missed alarm: a function of Python's in a transformation for `apply`": INPUT_FN
    + """
def decode(record):
    return tf.py_func(library.decode, [record], tf.float32)  # error: TPU607

def input_fn(params):
    data = tf.data.TFRecordDataset("gs://bucket/records").repeat()
    return data.apply(
        tf.data.experimental.map_and_batch(decode, params["batch_size"], drop_remainder=True)
    )
"""
    + ON_ANOTHER_MACHINE,
    "a missed alarm: a folder whose name is one word": TF
    + REMOTE
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.keras.utils.image_dataset_from_directory("flowers"))  # error: TPU607
model.fit(tf.keras.utils.image_dataset_from_directory("gs://bucket/flowers"))
""",
    "missed alarms: paths that this machine has listed, and relative ones": TF
    + REMOTE
    + """
import glob
import os
import sys

def images(names):
    data = tf.data.Dataset.from_tensor_slices(names)  # error: TPU607
    return data.map(lambda name: tf.io.decode_jpeg(tf.io.read_file(name)))

folder = sys.argv[1]
for data in (
    images(sorted(glob.glob(folder + "/*.jpg"))),
    images([os.path.join(folder, name) for name in os.listdir(folder)]),
    tf.data.TFRecordDataset(glob.glob(folder + "/*.tfrecord")),  # error: TPU607
    tf.data.TFRecordDataset("train.tfrecord"),  # error: TPU607
    tf.data.TFRecordDataset(["data/train.tfrecord"]),  # error: TPU607
    tf.data.TFRecordDataset(os.path.join("data", folder)),  # error: TPU607
    tf.data.TFRecordDataset(tf.io.gfile.glob("data/*.tfrecord")),  # error: TPU607
    tf.data.TFRecordDataset(tf.io.gfile.glob(["gs://x/*", "data/x*"])),  # error: TPU607
    tf.data.TFRecordDataset(tf.io.gfile.glob("gs://bucket/*.tfrecord")),
    tf.data.TFRecordDataset(tf.io.gfile.glob(folder + "/*.tfrecord")),
    tf.data.TFRecordDataset("gs://bucket/train.tfrecord"),
    tf.data.TFRecordDataset("/data/train.tfrecord"),
    tf.data.TFRecordDataset("train"),
    tf.data.TFRecordDataset("gs:" + folder),
    tf.data.Dataset.from_tensor_slices(os.listdir(folder)),
):
    strategy.experimental_distribute_dataset(data.repeat().batch(8))
""",
    "missed alarms: files that hold a cache": TF
    + REMOTE
    + """
import sys

for data in (
    tf.data.TFRecordDataset("gs://x").cache("/content/cache"),  # possible: TPU607
    tf.data.TFRecordDataset("gs://x").cache(filename="work/cache"),  # possible: TPU607
    tf.data.TFRecordDataset("gs://x").cache("gs://bucket/cache"),
    tf.data.TFRecordDataset("gs://x").cache(sys.argv[1]),
    tf.data.TFRecordDataset("gs://x").cache(),
):
    strategy.experimental_distribute_dataset(data.repeat().batch(8))
""",
    "missed alarms: local paths that become texts": TF
    + REMOTE
    + """
import sys

folder = "data"
for data in (
    tf.data.TFRecordDataset(tf.io.gfile.glob(str(folder + "/*.tfrecord"))),  # error: TPU607
    tf.data.TFRecordDataset(tf.io.gfile.glob(str("data/" + sys.argv[1]))),  # error: TPU607
    tf.data.TFRecordDataset(tf.io.gfile.glob(str(sys.argv[1] + "/*.tfrecord"))),
    tf.data.TFRecordDataset(str("gs://bucket/" + sys.argv[1])),
):
    strategy.experimental_distribute_dataset(data.repeat().batch(8))
""",
    "missed alarms: local paths that Python puts together, of pandas too": TF
    + REMOTE
    + """
import os
import pandas

frame = pandas.read_csv("train.csv")

def load(path, label=0):
    return tf.image.decode_png(tf.io.read_file(path)), label

def load_elsewhere(path):
    return tf.image.decode_png(tf.io.read_file("gs://bucket" + path))

def batched(paths):
    return tf.data.Dataset.from_tensor_slices(paths).map(load).batch(8, drop_remainder=True)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
listed = [f"/content/train/{name}.png" for name in frame.name]
slices = tf.data.Dataset.from_tensor_slices((listed, frame.label))  # error: TPU607
model.fit(slices.map(load).batch(8, drop_remainder=True))
column = frame.name.apply(lambda name: "/content/train/" + name).values
slices = tf.data.Dataset.from_tensor_slices(column)  # error: TPU607
model.fit(slices.map(load).batch(8, drop_remainder=True))
column = ("../input/train/" + frame.name).tolist()
slices = tf.data.Dataset.from_tensor_slices(column)  # error: TPU607
model.fit(slices.map(load).batch(8, drop_remainder=True))
model.fit(batched(frame.name.map(lambda name: os.path.join("gs://bucket", name)).to_list()))
model.fit(batched(frame.name.map({1: "/content/train/1.png"}).values))
slices = tf.data.Dataset.from_tensor_slices(["/content/train/1.png"])
model.fit(slices.map(load_elsewhere).batch(8, drop_remainder=True))
slices = tf.data.Dataset.from_tensor_slices(["/content/train/1.png"])
model.fit(slices.map(tf.strings.length).batch(8, drop_remainder=True))
""",
    "false alarms: files of Keras by the ends of their names": TF
    + REMOTE
    + """
import glob
import os
import sys

folder, fold = sys.argv[1:]
weights = glob.glob(folder + "/*.h5")
weights.sort()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(loss="mse")
    tf.keras.models.load_model(weights[0])
    tf.keras.models.load_model(os.listdir("models")[0])
    tf.keras.models.load_model(glob.glob("models/bert*")[0])
    tf.saved_model.load(glob.glob("models/bert*")[0])  # error: TPU607
for path in weights:
    model.load_weights(path)
for name in os.listdir(folder):
    model.load_weights(os.path.join(folder, name))
model.load_weights(glob.glob("out/*.ckpt")[0])  # error: TPU607
model.load_weights(os.path.join("out", fold + ".h5"))
model.load_weights(os.path.join("out", fold + ".ckpt"))  # error: TPU607
model.load_weights(os.path.join("out", "fold.h5"))
model.load_weights("out/fold-" + str(fold))  # error: TPU607
model.load_weights("out/%s/fold-%(fold)03d.weights.h5" % fold)
model.save("out/%s.keras" % fold)
model.save("out/%s.h5/model" % fold)  # error: TPU607
model.save(f"out/{fold}.h5")
model.save(f"{folder}/{fold}/model")
model.save(f"out/{fold}/model")  # error: TPU607
model.load_weights("out/" + f"fold-{fold}.h5")
model.load_weights("out/" + "fold-{}.h5".format(fold))
model.load_weights("out/" + "fold-{}".format(fold))  # error: TPU607
""",
    "missed alarms: generators and Sequences in fit": TF
    + REMOTE
    + """
import library

class Batches(tf.keras.utils.Sequence):
    def __getitem__(self, index):
        return library.batch(index)

class Rows(library.Sequence):
    pass

def flow():
    while True:
        yield library.batch(0)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.fit(Batches(), epochs=3)  # error: TPU607
model.fit(flow(), steps_per_epoch=100)  # error: TPU607
model.evaluate(x=Batches())  # error: TPU607
model.fit(library.data(), validation_data=flow())  # error: TPU607
model.fit(Rows())
model.fit([each for each in flow()])
model.fit(library.rows(), library.labels())
""",
    "no other machine is named, and Python runs where the TPU is": NETWORK
    + """
from network import rows

def input_fn(params):
    dataset = tf.data.Dataset.from_generator(rows, tf.float32, [8])
    return dataset.repeat().batch(params["batch_size"], drop_remainder=True)
"""
    + ESTIMATOR
    + """
estimator.train(input_fn, max_steps=1)
""",
    "a table of an input_fn is made on the host of the TPU": NETWORK
    + """
def input_fn(params):
    table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer("gs://bucket/words", tf.string, 0, tf.int64, 1), -1
    )
    dataset = tf.data.TextLineDataset("gs://bucket/x").map(lambda line: table.lookup(line))
    return dataset.repeat().batch(params["batch_size"], drop_remainder=True)

cluster = tf.distribute.cluster_resolver.TPUClusterResolver.connect("grpc://10.240.1.2:8470")
config = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="gs://bucket/model")
estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=config
)
estimator.train(input_fn, max_steps=1)
""",
    "files that the program reads itself, before the pipeline": "import tensorflow as tf\n"
    + REMOTE
    + """
names = [line.strip() for line in open("/content/names.txt")]
dataset = tf.data.Dataset.from_tensor_slices(names).map(tf.strings.length)
dataset = dataset.repeat().batch(64, drop_remainder=True)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(dataset, steps_per_epoch=10)
""",
    "a path that is put together, in a list, for validation": "import tensorflow as tf\n"
    + REMOTE
    + """
ROOT = "/content/drive/%s/"

def dataset(part):
    files = [ROOT % part + "a.tfrecord", ROOT % part + "b.tfrecord"]
    records = tf.data.TFRecordDataset(files)  # error: TPU607
    return records.repeat().batch(64, drop_remainder=True)

def main(part, train):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    model.fit(train, steps_per_epoch=10, validation_data=dataset(part))
""",
    "Python in the body of an input_fn, outside its dataset": """
import tensorflow as tf

from network import load, model_fn


def input_fn(params):
    images = tf.py_func(load, [params["batch_size"]], tf.float32)  # error: TPU607
    images.set_shape([params["batch_size"], 8])
    return images


cluster = tf.contrib.cluster_resolver.TPUClusterResolver("demo-tpu")
config = tf.contrib.tpu.RunConfig(cluster=cluster)
estimator = tf.contrib.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=64, config=config
)
estimator.train(input_fn=input_fn, max_steps=1)
""",
    "files and Python of pipelines that feed no TPU": INPUT_FN
    + """
def parse(line):
    return tf.py_func(library.parse, [line], tf.float32)

shown = tf.data.TextLineDataset("/content/shown.txt").map(parse)

def input_fn(params):
    rows = tf.data.TFRecordDataset("gs://bucket/x")
    return rows.repeat().batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
    "files and Python of the pipeline of another machine": INPUT_FN
    + """
def parse(line):
    return tf.py_func(library.parse, [line], tf.float32)  # error: TPU607

def input_fn(params):
    rows = tf.data.TextLineDataset(["gs://bucket/x", "/content/x.txt"])  # error: TPU607
    return rows.map(parse).repeat().batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
    "what has the names of readers, tables and generators": INPUT_FN
    + """
words = library.Words("/content/words.txt")
images = library.Images()
augmented = tf.keras.preprocessing.image.ImageDataGenerator()
augmented.fit(library.samples())

def parse(line):
    return words.lookup(line), images.flow(line), augmented.standardize(line)

def input_fn(params):
    tf.data.TextLineDataset()
    rows = tf.data.TextLineDataset(*library.names())
    tf.io.gfile.exists("/content/x.txt")
    return rows.map(parse).repeat().batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
    "tables and generators of a strategy on another machine": """
import tensorflow as tf

import library
"""
    + REMOTE
    + """
table = tf.lookup.StaticHashTable(library.pairs(), -1)
words = library.Words("/content/words.txt")
counter = tf.Variable(0)
augmented = tf.keras.preprocessing.image.ImageDataGenerator()

def parse(line):
    for _ in library.rounds():
        line = table.lookup(line)  # error: TPU607
    return words.lookup(line) + counter.assign_add(1)

rows = tf.data.TextLineDataset("gs://bucket/x").map(parse)
strategy.experimental_distribute_dataset(rows.batch(8, drop_remainder=True))
augmented.standardize(library.samples())
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(augmented.flow(library.samples()), epochs=2)  # error: TPU607
""",
    "folders of checkpoints": INPUT_FN
    + """
cluster = tf.distribute.cluster_resolver.TPUClusterResolver.connect("grpc://10.240.1.2:8470")
there = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="gs://bucket/model")
here = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="/content/model")  # error: TPU607
unused = tf.estimator.tpu.RunConfig(cluster=cluster, model_dir="/content/unused")
local = tf.estimator.tpu.RunConfig(model_dir="/content/model")
tf.estimator.tpu.TPUEstimator(model_fn, config=there, train_batch_size=8)
tf.estimator.tpu.TPUEstimator(model_fn, config=here, train_batch_size=8)
tf.estimator.tpu.TPUEstimator(model_fn, "gs://b/model", config=unused, train_batch_size=8)
tf.estimator.tpu.TPUEstimator(  # error: TPU607
    model_fn, "/content/other", config=there, train_batch_size=8
)
tf.estimator.tpu.TPUEstimator(model_fn, config=local, train_batch_size=8)
tf.estimator.tpu.TPUEstimator(model_fn, "/content/other", config=there, use_tpu=False)
""",
    "functions of a pipeline that may be called": INPUT_FN
    + """
def parse(line):
    return tf.py_func(library.parse, [line], tf.float32)  # possible: TPU607

def plain(line):
    return line

def input_fn(params):
    rows = tf.data.TextLineDataset("gs://bucket/x")
    rows = rows.map(parse if more else plain).repeat()  # possible: TPU504
    return rows.batch(8, drop_remainder=True)
"""
    + ON_ANOTHER_MACHINE,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
