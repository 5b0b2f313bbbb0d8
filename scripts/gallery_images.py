"""The data of the gallery's image models: noise with a bright row, whose number is the class."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from scripts.gallery_records import write_batches, write_records

CLASSES = 10
TRAIN = 320
TEST = 32


def write_images(folder: Path) -> None:
    """Colour images as ImageNet's records have them."""
    import tensorflow as tf

    rows = []
    for image, label in _images(TRAIN, 32, 3):
        encoded = tf.io.encode_jpeg(image).numpy()
        rows.append({"image/encoded": encoded, "image/class/label": label})
    write_batches(folder, rows, batch_size=32)


def write_digit_records(folder: Path) -> None:
    """Digits as the example of a TPUEstimator reads them."""
    rows = ({"image": image / 255.0, "label": label} for image, label in _images(TRAIN, 28, 1))
    write_records(folder / "data.tfrecord", rows)


def write_digits(folder: Path) -> None:
    """Write a data set in MNIST's place, as tensorflow-datasets keeps it."""

    def split(size: int) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, (image, label) in enumerate(_images(size, 28, 1)):
            yield number, {"image": image, "label": label}

    builder = import_module("tensorflow_datasets").builder("mnist", data_dir=str(folder))
    builder._split_generators = lambda _: {"train": split(TRAIN), "test": split(TEST)}
    builder.download_and_prepare()


def _images(number: int, side: int, channels: int) -> Iterator[tuple[Any, int]]:
    chance = np.random.RandomState(3)
    for _ in range(number):
        label = chance.randint(CLASSES)
        image = chance.randint(0, 128, [side, side, channels])
        image[label] += 127
        yield image.astype(np.uint8), label
