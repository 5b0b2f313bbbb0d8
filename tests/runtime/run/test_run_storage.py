"""Programs that live in buckets, under `tpulint run`, without network and credentials."""

from __future__ import annotations

import json
from pathlib import Path

from tests.runtime.run.command import STRATEGY, tpulint

LOOP = (
    STRATEGY
    + """\
with strategy.scope():
    number = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
checkpoint = tf.train.Checkpoint(number=number)
manager = tf.train.CheckpointManager(checkpoint, "gs://my-models/run", max_to_keep=2)
manager.restore_or_initialize()
print("starts at", int(number.numpy()))
with tf.io.TFRecordWriter("gs://my-data/train.tfrecord") as writer:
    for i in range(8):
        writer.write(str(i).encode())


@tf.function
def step(records):
    strategy.run(lambda x: number.assign_add(tf.cast(x[0] >= 0, tf.int64)), args=(records,))


files = tf.io.gfile.glob("gs://my-data/*.tfrecord")
numbers = tf.data.TFRecordDataset(files).map(lambda text: tf.strings.to_number(text))
for records in numbers.batch(2, drop_remainder=True):
    step(records)
    manager.save()
with tf.io.gfile.GFile("gs://my-models/notes.txt", "a") as notes:
    notes.write("a line\\n")
print(files, tf.io.gfile.GFile("gs://my-models/notes.txt").read().count("line"), "lines")
if len(sys.argv) > 1:
    tf.data.TFRecordDataset(sys.argv[1]).reduce(0, lambda count, _: count + 1)
"""
)


def test_a_second_run_goes_on_from_the_checkpoint_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    first = tpulint(tmp_path, "run", "--replicas", "2", "loop.py")
    assert first.returncode == 0, first.stderr
    assert first.stdout == "starts at 0\n['gs://my-data/train.tfrecord'] 1 lines\n"
    lines = first.stderr.splitlines()
    data = "gs://my-data: read 1 object, 136 bytes; wrote 1 object, 136 bytes; 0 of 4 steps waited"
    assert f"{data} for it" in lines  # the first batch came before the first step
    models = next(line for line in lines if line.startswith("gs://my-models: read "))
    assert "; 3 of 4 steps waited for it, " in models  # for a checkpoint, after each but the last
    folder = tmp_path / ".tpulint_storage"
    assert sorted(path.name for path in folder.iterdir() if path.name[0] != ".") == [
        "my-data",
        "my-models",
    ]
    missing = "gs://my-data/none.tfrecord"
    second = tpulint(tmp_path, "run", "--replicas", "2", "loop.py", missing)
    assert second.stdout == "starts at 4\n['gs://my-data/train.tfrecord'] 2 lines\n"
    assert second.returncode == 1
    assert "NotFoundError" in second.stderr
    place = ".tpulint_storage/my-data/none.tfrecord"
    said = f"{missing} is not in .tpulint_storage: copy a sample to {place}, or use --cloud-reads"
    assert said in second.stderr


NOTEBOOK = [
    "from google.colab import auth\nauth.authenticate_user()\n",
    "import os\nassert 'COLAB_TPU_ADDR' in os.environ\n"
    "address = 'grpc://' + os.environ['COLAB_TPU_ADDR']\n",
    "import tensorflow as tf\n"
    "resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=address)\n"
    "tf.config.experimental_connect_to_cluster(resolver)\n"
    "tf.tpu.experimental.initialize_tpu_system(resolver)\n"
    "strategy = tf.distribute.TPUStrategy(resolver)\n",
    "from kaggle_datasets import KaggleDatasets\n"
    "path = KaggleDatasets().get_gcs_path('numbers')\n"
    "tf.io.write_file(path + '/a.txt', '7')\n"
    "number = tf.strings.to_number(tf.io.read_file(path + '/a.txt'))\n"
    "@tf.function\n"
    "def step(x):\n"
    "    return strategy.run(lambda y: 2.0 * y, args=(x,))\n"
    "doubled = step(number)\n"
    "print(float(strategy.experimental_local_results(doubled)[1]))\n",
]


def test_a_notebook_of_colab_and_kaggle_runs(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "source": source, "outputs": [], "metadata": {}}
        for source in NOTEBOOK
    ]
    notebook = {"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    (tmp_path / "colab.ipynb").write_text(json.dumps(notebook))
    done = tpulint(tmp_path, "run", "--replicas", "2", "--storage", "buckets", "colab.ipynb")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "14.0\n"
    assert (tmp_path / "buckets/kaggle-numbers/a.txt").read_text() == "7"
    assert (
        "Stand-ins for what is missing here were used: google.colab.auth.authenticate_user, "
        "kaggle_datasets.KaggleDatasets.get_gcs_path\n"
    ) in done.stderr
