"""Write the examples of a program's data as TensorFlow's records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np


def write_records(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a record for each of `rows`."""
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            features = {name: _feature(value) for name, value in row.items()}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def _feature(value: Any) -> Any:
    import tensorflow as tf

    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    numbers = np.asarray(value)
    if numbers.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=numbers.ravel()))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=numbers.ravel()))
