"""A path of the program's own machine is known by how it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported
from tpulint.frontends.tensorflow.knowledge.tables import FOLDERS, is_local_path, load_toml

ROWS = load_toml(FOLDERS)["local"]
PROGRAM = """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="grpc://10.240.1.2:8470")
strategy = tf.distribute.TPUStrategy(resolver)
lines = tf.data.TextLineDataset("{path}"){mark}
batches = strategy.experimental_distribute_dataset(lines.batch(8, drop_remainder=True))
"""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["starts"])
def test_a_remote_tpu_cannot_read_there(row: dict[str, str], tmp_path: Path) -> None:
    assert row["why"]
    text = PROGRAM.format(path=row["starts"] + "names.txt", mark="  # error: TPU607")
    assert reported(text, tmp_path, ["TPU607"]) == expected(text, ["TPU607"])


@pytest.mark.parametrize(
    ("path", "is_relative"),
    [
        ("train.tfrecord", True),
        ("data/train", True),
        ("data/", True),
        ("train-*.tfrecord", True),
        ("train", False),
        ("mnist/3.0.1", True),
        ("", False),
        ("gs://bucket/x.tfrecord", False),
        ("hdfs://host/x", False),
        ("/data/x.tfrecord", False),
    ],
)
def test_a_path_without_scheme_and_root_is_relative(path: str, is_relative: bool) -> None:
    assert is_local_path(path) is is_relative


@pytest.mark.parametrize("path", ["gs://bucket/names.txt", "/cns/names.txt", "/data/names.txt"])
def test_it_may_read_elsewhere(path: str, tmp_path: Path) -> None:
    assert not is_local_path(path)
    assert reported(PROGRAM.format(path=path, mark=""), tmp_path, ["TPU607"]) == []
