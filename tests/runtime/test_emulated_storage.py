"""`emulated_tpu(storage=...)`: buckets in this process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import tensorflow as tf

from tpulint.runtime import emulated_tpu
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
        tf.io.gfile.rmtree("gs://my-models/new")
        assert not tf.io.gfile.isdir("gs://my-models/new")
        with pytest.raises(tf.errors.NotFoundError):
            tf.io.gfile.GFile("gs://my-models/none").read()
    assert (tmp_path / "my-models/ключ").read_text() == "one two"
    assert storage_environment() == {}


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
