"""Programs that live in buckets, under `tpulint run`, without network and credentials."""

from __future__ import annotations

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
    assert "gs://my-data: read 1 object, 136 bytes; wrote 1 object, 136 bytes" in lines
    assert any(line.startswith("gs://my-models: read ") for line in lines)
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
