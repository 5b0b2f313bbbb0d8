"""`emulated_tpu(storage=...)`: buckets in this process."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest
import tensorflow as tf

from tpulint.runtime import emulated_tpu
from tpulint.runtime.run_statistics import StorageWaits
from tpulint.storage import session
from tpulint.storage.session import storage_environment


def test_buckets_are_in_the_directory(tmp_path: Path) -> None:
    with emulated_tpu(2, storage=str(tmp_path)):
        tf.io.gfile.makedirs("gs://my-models/new/run")
        with tf.io.gfile.GFile("gs://my-models/new/run/notes.txt", "w") as file:
            file.write("one")
        with tf.io.gfile.GFile("gs://my-models/new/run/notes.txt", "a") as file:
            file.write(" two")
        tf.io.gfile.rename("gs://my-models/new/run/notes.txt", "gs://my-models/ключ")
        assert tf.io.gfile.listdir("gs://my-models/") == ["ключ", "new/"]
        assert tf.io.gfile.exists("gs://my-models/new/run")
        tf.io.write_file("gs://my-models/new/run/part", "content")
        tf.io.gfile.rename("gs://my-models/new", "gs://my-models/old")
        assert not tf.io.gfile.isdir("gs://my-models/new")
        assert tf.io.read_file("gs://my-models/old/run/part") == b"content"
        tf.io.gfile.rmtree("gs://my-models/old")
        assert not tf.io.gfile.isdir("gs://my-models/old")
        with pytest.raises(tf.errors.NotFoundError):
            tf.io.gfile.GFile("gs://my-models/none").read()
    assert (tmp_path / "my-models/ключ").read_text() == "one two"
    assert storage_environment() == {}


def test_summaries_are_in_a_bucket(tmp_path: Path) -> None:
    with emulated_tpu(2, storage=str(tmp_path)):
        writer = tf.summary.create_file_writer("gs://my-logs/run")
        with writer.as_default():
            tf.summary.scalar("loss", 0.5, step=7)
        writer.close()
        (name,) = tf.io.gfile.glob("gs://my-logs/run/events.*")
        _, event = tf.compat.v1.train.summary_iterator(name)
    assert (event.step, event.summary.value[0].tag) == (7, "loss")
    assert (tmp_path / "my-logs/run" / os.path.basename(name)).is_file()


def test_prepared_data_of_tensorflow_datasets_are_found_in_their_bucket(tmp_path: Path) -> None:
    """`tfds.load(try_gcs=True)` makes these calls: it looks for the data, then reads or copies."""
    version = "buckets/tfds-data/datasets/mnist/3.0.1"
    files = {"dataset_info.json": '{"name": "mnist"}', "features.json": "{}"}
    (tmp_path / version).mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / version / name).write_text(text)
    records = "mnist-train.tfrecord-00000-of-00001"
    with tf.io.TFRecordWriter(str(tmp_path / version / records)) as writer:
        writer.write(b"example")
    datasets = "gs://tfds-data/datasets"
    copies = tmp_path / "copies"
    copies.mkdir()
    with emulated_tpu(2, storage=str(tmp_path / "buckets")):
        assert tf.io.gfile.exists(f"{datasets}/mnist")
        assert not tf.io.gfile.exists(f"{datasets}/cifar10")
        assert not tf.io.gfile.exists("gs://tfds-data/dataset_info/mnist/3.0.1")
        assert [name.rstrip("/") for name in tf.io.gfile.listdir(f"{datasets}/mnist")] == ["3.0.1"]
        folder = f"{datasets}/mnist/3.0.1"
        assert sorted(tf.io.gfile.listdir(folder)) == sorted([*files, records])
        assert tf.io.gfile.GFile(f"{folder}/dataset_info.json").read() == files["dataset_info.json"]
        dataset = tf.data.Dataset.from_tensors(f"{folder}/{records}").interleave(
            tf.data.TFRecordDataset
        )
        assert list(dataset.as_numpy_iterator()) == [b"example"]
        for name in tf.io.gfile.listdir(folder):
            tf.io.gfile.copy(f"{folder}/{name}", str(copies / name))
    assert (copies / records).read_bytes() == (tmp_path / version / records).read_bytes()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process on Linux only")
def test_a_full_disk_is_an_error_at_once_and_loses_nothing(tmp_path: Path) -> None:
    with emulated_tpu(2, storage=str(tmp_path)):
        tf.io.write_file("gs://my-models/run/notes", "before")
        server = session._serving[-1]._server.pid
        resource.prlimit(server, resource.RLIMIT_FSIZE, (1000, 1000))
        for name in ("notes", "new"):
            with pytest.raises(tf.errors.FailedPreconditionError, match="File too large"):
                tf.io.write_file(f"gs://my-models/run/{name}", "x" * 10_000)
        assert tf.io.gfile.listdir("gs://my-models/run") == ["notes"]
        assert tf.io.read_file("gs://my-models/run/notes") == b"before"
    assert (tmp_path / "my-models/run/notes").read_text() == "before"


def test_threads_read_and_write_at_once(tmp_path: Path) -> None:
    def work(number: int) -> None:
        with tf.io.gfile.GFile(f"gs://my-data/{number}", "wb") as file:
            file.write(bytes([number]) * 1_000_000)

    with emulated_tpu(2, storage=str(tmp_path)):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        files = tf.data.Dataset.list_files("gs://my-data/*")
        sizes = files.map(lambda name: tf.strings.length(tf.io.read_file(name)), 8)
        assert [int(size) for size in sizes] == [1_000_000] * 8
    assert sorted(os.listdir(tmp_path / "my-data")) == [str(number) for number in range(8)]


class Clock:
    """How long requests to a bucket have been open, which a test sets."""

    def __init__(self) -> None:
        self.open = 0.0

    def __call__(self) -> list[float]:
        return [self.open]


def test_a_step_waits_between_steps_and_for_its_infeed() -> None:
    clock = Clock()
    waits = StorageWaits(clock)

    def step(before: float, of_infeed: float = 0.0, during: float = 0.0) -> None:
        clock.open += before
        waits.begin()
        for _ in range(2):  # replicas, which wait together
            waits.start("infeed")
        clock.open += of_infeed
        for _ in range(2):
            waits.end("infeed")
        clock.open += during
        waits.end("device")

    step(5.0)  # the program's start
    assert (waits.steps, waits.seconds) == ([0], [0.0])
    step(0.25)
    step(0.0, during=0.5)  # while the device works
    step(0.0005)
    assert (waits.steps, waits.seconds) == ([1], [0.25])
    step(0.25, of_infeed=0.5)  # one step
    assert (waits.steps, waits.seconds) == ([2], [1.0])
    waits.begin()
    waits.start("infeed")
    clock.open += 1.0  # the step fails, and the next one is late
    step(0.0, of_infeed=0.25)
    assert (waits.steps, waits.seconds) == ([3], [2.25])
