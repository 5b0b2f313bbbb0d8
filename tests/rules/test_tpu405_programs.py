"""Programs with TPU405, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import V1

PROGRAMS = {
    "names of other things": V1
    + """
def build(dataset, x):
    dataset.shard(2, 0)
    tf.tpu.rewrite(lambda value: tf.identity(value, name="x"), [x], name=None)
    return dataset.batch(8, name="batch")
""",
    "names in every form of call": V1
    + """
from tensorflow.contrib.tpu.python.tpu.tpu import batch_parallel, split_compile_and_shard

def build(x, name):
    batch_parallel(lambda value: value, [x], num_shards=2, name=name)  # error: TPU405
    split_compile_and_shard(name="a", computation=lambda value: value, inputs=[x])  # error: TPU405
    return tf.tpu.rewrite(lambda value: value, [x], name=f"{name}_tpu")  # error: TPU405
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
