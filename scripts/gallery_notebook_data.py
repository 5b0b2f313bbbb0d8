"""Write the small data that a notebook of the gallery reads, where it looks for it.

    python scripts/gallery_notebook_data.py KIND FOLDER

In `FOLDER`, `buckets` is the storage of `tpulint run` (Drive is in there, and what Kaggle keeps),
`home` is the home directory with the folders of Keras and TensorFlow Datasets, `work` is where the
notebook runs, and `content` has the files of Colab's folder `/content`.
"""

from __future__ import annotations

import gzip
import pickle
import sys
import tarfile
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from scripts.gallery_images import write_digits
from scripts.gallery_records import write_records

KERAS = Path("home", ".keras")
DRIVE = Path("buckets", "drive", "MyDrive")


def main() -> None:
    kind, folder = sys.argv[1:]
    KINDS[kind](Path(folder))


def _chance() -> np.random.RandomState:
    return np.random.RandomState(5)


def _images(number: int, *shape: int) -> np.ndarray[Any, Any]:
    """Return images of a plain brightness each: a class has its own."""
    brightness = np.arange(number) % 10 * 20 + 20
    ones = np.ones([1, *shape], np.uint8)
    return brightness.astype(np.uint8).reshape([-1, *(1 for _ in shape)]) * ones


def _labels(number: int) -> np.ndarray[Any, Any]:
    return (np.arange(number) % 10).astype(np.uint8)


def _jpeg(side: int, number: int) -> bytes:
    import tensorflow as tf

    return bytes(tf.io.encode_jpeg(_images(number + 1, side, side, 3)[number]).numpy())


def _under(folder: Path, *names: str) -> Path:
    """Return the path, whose folder exists then."""
    path = folder.joinpath(*names)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_idx(folder: Path, sizes: dict[str, int]) -> None:
    """Write images and labels as MNIST's own files have them, compressed."""
    for part, number in sizes.items():
        labels = bytes(8) + _labels(number).tobytes()
        images = bytes(16) + _images(number, 28, 28).tobytes()
        _under(folder, f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels, 1))
        _under(folder, f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images, 1))


def write_nothing(folder: Path) -> None:
    """Write no data: the notebook makes its own."""


def write_fashion(folder: Path) -> None:
    """Write Fashion-MNIST in Keras' folder."""
    _write_idx(folder / KERAS / "datasets" / "fashion-mnist", {"train": 960, "t10k": 64})


def write_fashion_in_drive(folder: Path) -> None:
    """Write Fashion-MNIST where a notebook's author keeps it, with all its rows."""
    _write_idx(folder / DRIVE / "Diplomado" / "01 Semana", {"train": 60000, "test": 10000})


def write_plays(folder: Path) -> None:
    """Write a long text where a notebook downloads Shakespeare's works to."""
    words = ("To be, or not to be: that is the question.\n", "We know what we are.\n")
    chance = _chance()
    text = "".join(words[chance.randint(2)] for _ in range(5000))
    _under(folder, "content", "shakespeare.txt").write_text(text, encoding="utf-8")


def write_mnist(folder: Path) -> None:
    """Write MNIST in Keras' folder, with all its rows: notebooks count them."""
    np.savez_compressed(
        _under(folder, str(KERAS), "datasets", "mnist.npz"),
        x_train=_images(60000, 28, 28),
        y_train=_labels(60000),
        x_test=_images(10000, 28, 28),
        y_test=_labels(10000),
    )


def write_digits_for_tfds(folder: Path) -> None:
    """Write MNIST in the folder of TensorFlow Datasets."""
    where = folder / "home" / "tensorflow_datasets"
    where.mkdir(parents=True)
    write_digits(where)


def write_iris(folder: Path) -> None:
    """Write the two tables of irises in Keras' folder."""
    chance = _chance()
    for name, number in (("iris_training.csv", 120), ("iris_test.csv", 30)):
        lines = [f"{number},4,setosa,versicolor,virginica"]
        for row in range(number):
            kind = row % 3
            sizes = chance.uniform(0.1, 1.0, 4) + kind * 2
            lines.append(",".join([*(f"{size:.1f}" for size in sizes), str(kind)]))
        path = _under(folder, str(KERAS), "datasets", name)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_cifar10(folder: Path) -> None:
    """Write CIFAR-10 in Keras' folder, under the names of Keras 2 and 3."""
    archive = BytesIO()
    batch = {b"data": _images(10000, 3 * 32 * 32), b"labels": _labels(10000).tolist()}
    # The module's name before NumPy 2, which all releases know.
    data = pickle.dumps(batch, protocol=3).replace(b"numpy._core", b"numpy.core")
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
        for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(data)
            tar.addfile(member, BytesIO(data))
    for name in (".tar.gz", "-target_archive"):
        path = _under(folder, str(KERAS), "datasets", f"cifar-10-batches-py{name}")
        path.write_bytes(archive.getvalue())


def _flowers(side: int, number: int) -> Iterator[dict[str, Any]]:
    for row in range(number):
        one_hot = np.eye(5, dtype=np.float32)[row % 5]
        yield {"image": _jpeg(side, row % 5), "class": row % 5, "one_hot_class": one_hot}


def _write_flowers(folder: Path, name: str, side: int, sizes: list[int]) -> None:
    """Write pictures of flowers; a file's name ends with the number of its rows."""
    for index, number in enumerate(sizes):
        file = f"flowers{index:02}-{number}.tfrec"
        path = _under(folder, "buckets", "flowers-public", name, file)
        write_records(path, _flowers(side, number))


def write_flowers_192(folder: Path) -> None:
    """Write flowers for a notebook that validates with the first of six files."""
    _write_flowers(folder, "tfrecords-jpeg-192x192-2", 192, [160, 16, 16, 16, 16, 16])


def write_flowers_224(folder: Path) -> None:
    """Write flowers for a notebook that validates with a fifth of the files."""
    _write_flowers(folder, "tfrecords-jpeg-224x224", 224, [2, 2, 2, 2, 2])


def write_flowers_331(folder: Path) -> None:
    """Write flowers for a notebook that shows 160 of the last of six files."""
    _write_flowers(folder, "tfrecords-jpeg-331x331", 331, [8, 8, 8, 8, 8, 160])


def write_flowers_and_xception(folder: Path) -> None:
    """Write flowers, and weights of Xception."""
    _write_flowers(folder, "tfrecords-jpeg-331x331", 331, [8, 8, 8, 8, 8, 18])
    _write_weights(folder, "Xception", "xception_weights_tf_dim_ordering_tf_kernels_notop.h5")


def write_petals_and_vgg16(folder: Path) -> None:
    """Write the petals of Kaggle's course, and weights of VGG16."""
    _write_weights(folder, "VGG16", "vgg16_weights_tf_dim_ordering_tf_kernels_notop.h5")
    place = ("buckets", "kaggle-tpu-getting-started", "tfrecords-jpeg-331x331")
    for part, number in (("train", 32), ("val", 20), ("test", 4)):
        rows: list[dict[str, Any]] = [
            {"image": _jpeg(331, row % 10), "id": f"{row:09}".encode(), "class": row % 104}
            for row in range(number)
        ]
        write_records(_under(folder, *place, part, f"00-331x331-{number}.tfrec"), rows)


def write_paintings(folder: Path) -> None:
    """Write paintings and photos, as Kaggle's contest on Monet has them."""
    for kind in ("monet", "photo"):
        rows = (
            {"image_name": f"{row}".encode(), "image": _jpeg(256, row), "target": kind.encode()}
            for row in range(5)
        )
        path = _under(folder, "buckets", "kaggle-data", f"{kind}_tfrec", f"{kind}00-5.tfrec")
        write_records(path, rows)


def write_x_rays(folder: Path) -> None:
    """Write X-rays, and their paths, which name the class."""
    import tensorflow as tf

    place = ("buckets", "download.tensorflow.org", "data", "ChestXRay2017")
    for part, number in (("train", 4232), ("test", 50)):
        with (
            tf.io.TFRecordWriter(str(_under(folder, *place, part, "images.tfrec"))) as images,
            tf.io.TFRecordWriter(str(_under(folder, *place, part, "paths.tfrec"))) as paths,
        ):
            for row in range(number):
                kind = "NORMAL" if row % 4 == 0 else "PNEUMONIA"
                images.write(_jpeg(16, row % 4))
                paths.write(f"/data/{part}/{kind}/{row}.jpeg".encode())


def _write_weights(folder: Path, model: str, name: str) -> None:
    """Write random weights where Keras keeps those that were trained on ImageNet."""
    applications = import_module("tensorflow").keras.applications
    whole = getattr(applications, model)(weights=None, include_top=False)
    path = _under(folder, str(KERAS), "models", name)
    whole.save_weights(path)


KINDS: dict[str, Callable[[Path], None]] = {
    "": write_nothing,
    "CIFAR-10": write_cifar10,
    "Fashion-MNIST": write_fashion,
    "Fashion-MNIST in Drive": write_fashion_in_drive,
    "MNIST": write_mnist,
    "MNIST of TensorFlow Datasets": write_digits_for_tfds,
    "X-rays": write_x_rays,
    "flowers of 192 pixels": write_flowers_192,
    "flowers of 224 pixels": write_flowers_224,
    "flowers of 331 pixels": write_flowers_331,
    "flowers, weights of Xception": write_flowers_and_xception,
    "irises": write_iris,
    "paintings and photos": write_paintings,
    "petals, weights of VGG16": write_petals_and_vgg16,
    "plays": write_plays,
}


if __name__ == "__main__":
    main()
