"""Write the data that a program of the gallery trains on: small, and the same at each call.

python scripts/gallery_data.py KIND FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

VOCABULARY = 64
EXAMPLES = 64
WORDS = 16
MASKED = 4


def main() -> None:
    kind, folder = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    KINDS[kind](Path(folder))


def write_masked_words(folder: Path) -> None:
    """Sentences for BERT's pre-training, and the configuration of a small BERT."""
    _write_bert(folder, type_vocab_size=2)
    _write_records(folder / "data.tfrecord", list(_masked_words()))


def _masked_words() -> Iterator[dict[str, Any]]:
    chance = np.random.RandomState(1)
    for _ in range(EXAMPLES):
        words = chance.randint(5, VOCABULARY, WORDS)
        masked = np.sort(chance.choice(WORDS, MASKED, replace=False))
        yield {
            "input_ids": words,
            "input_mask": np.ones(WORDS, int),
            "segment_ids": np.repeat([0, 1], WORDS // 2),
            "masked_lm_positions": masked,
            "masked_lm_ids": words[masked],
            "masked_lm_weights": np.ones(MASKED, np.float32),
            "next_sentence_labels": chance.randint(0, 2, 1),
        }


def write_tables(folder: Path) -> None:
    """Tables with masked words, a file an example, for TAPAS's pre-training."""
    kinds = {"segment": 2, "column": 4, "row": 4, "prev_label": 2}
    ranks = {"column_ranks": 4, "inv_column_ranks": 4, "numeric_relations": 4}
    sizes = {f"{kind}_ids": size for kind, size in kinds.items()} | ranks
    _write_bert(folder, type_vocab_size=[2, 4, 4, 2, 4, 4, 4])
    chance = np.random.RandomState(2)
    for number, row in enumerate(_masked_words()):
        table = {name: chance.randint(0, size, WORDS) for name, size in sizes.items()}
        _write_records(folder / f"{number:03}.tfrecord", [row | table])


def _write_bert(folder: Path, type_vocab_size: int | list[int]) -> None:
    config = {
        "attention_probs_dropout_prob": 0.0,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "hidden_size": 16,
        "initializer_range": 0.02,
        "intermediate_size": 32,
        "max_position_embeddings": 32,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "type_vocab_size": type_vocab_size,
        "vocab_size": VOCABULARY,
    }
    (folder / "bert.json").write_text(json.dumps(config), encoding="utf-8")


def _write_records(path: Path, rows: list[dict[str, Any]]) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            features = {name: _feature(np.asarray(value)) for name, value in row.items()}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def _feature(value: Any) -> Any:
    import tensorflow as tf

    if value.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=value.ravel()))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value.ravel()))


KINDS: dict[str, Callable[[Path], None]] = {
    "masked words": write_masked_words,
    "tables": write_tables,
}

if __name__ == "__main__":
    main()
