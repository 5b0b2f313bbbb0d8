"""Programs with TPU612, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

TRAINED = (
    V1
    + """
def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=tf.reduce_mean(features))

def rows(name):
    return tf.data.FixedLengthRecordDataset("gs://bucket/" + name, 784)

def constant():
    return tf.data.Dataset.from_tensors(0)

def input_fn(params):
    rows_of_all = {dataset}{mark}
    return rows_of_all.shuffle(100).batch(params["batch_size"], drop_remainder=True)

estimator = tf.estimator.tpu.TPUEstimator(
    model_fn, use_tpu=True, train_batch_size=8, config=tf.estimator.tpu.RunConfig()
)
estimator.train(input_fn, max_steps=1000)
"""
)
ZIPPED = {
    "two files": ("tf.data.Dataset.zip((rows('images'), rows('labels')))", "possible"),
    "a file beside constants": (
        "tf.data.Dataset.zip({'x': rows('images'), 'y': constant().repeat()})",
        "possible",
    ),
    "numbers beside constants": (
        "tf.data.Dataset.zip((tf.data.Dataset.range(100), constant().repeat()))",
        "error",
    ),
    "constants": ("tf.data.Dataset.zip((constant().repeat(), constant().repeat()))", ""),
    "files that repeat": (
        "tf.data.Dataset.zip((rows('images').repeat(), rows('labels').repeat()))",
        "",
    ),
    "all repeat": ("tf.data.Dataset.zip((rows('images'), rows('labels'))).repeat()", ""),
}


@pytest.mark.parametrize(("dataset", "mark"), ZIPPED.values(), ids=ZIPPED)
def test_datasets_that_are_zipped(dataset: str, mark: str, tmp_path: Path) -> None:
    comment = f"  # {mark}: TPU612" if mark else ""
    assert_marked(TRAINED.replace("{dataset}", dataset).replace("{mark}", comment), tmp_path)


ARRAYS = {
    "np.random.rand(32, 4).astype('float32')": "error",
    "np.random.randint(0, 2, 32).astype(np.int32)": "error",
    "np.random.normal(size=(32, 4)).astype('f')": "error",
    "np.zeros((32, 4), 'int8').astype('float32')": "error",
    "np.random.uniform(0.0, 1.0, (9000, 4)).astype('float32')": "",
    "library.rows().astype('float32')": "possible",
}


# A missed alarm: what `astype` gives has the rows of the array that it is called on.
@pytest.mark.parametrize("array", ARRAYS)
def test_arrays_in_another_dtype(array: str, tmp_path: Path) -> None:
    comment = f"  # {ARRAYS[array]}: TPU612" if ARRAYS[array] else ""
    dataset = f"tf.data.Dataset.from_tensor_slices({array})"
    text = TRAINED.replace("{dataset}", dataset).replace("{mark}", comment)
    assert_marked(f"import library\nimport numpy as np\n{text}", tmp_path)


TAKEN = {
    "by the function of tf.data": "tf.data.make_one_shot_iterator({}).get_next()",
    "by a method": "{}.make_one_shot_iterator().get_next()",
}


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN)
def test_what_an_iterator_gives(taken: str, repeats: bool, tmp_path: Path) -> None:
    source = "tf.data.Dataset.zip((rows('a'), rows('b')))"
    text = TRAINED.replace("{dataset}", f"{source}.repeat()" if repeats else source)
    batched = 'rows_of_all.shuffle(100).batch(params["batch_size"], drop_remainder=True)'
    mark = "" if repeats else "  # possible: TPU612"
    text = text.replace(batched, taken.format(batched)).replace("{mark}", mark)
    assert_marked(text, tmp_path)
