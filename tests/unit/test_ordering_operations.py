"""What both halves know of operations agrees with the table of what a TPU compiles."""

from __future__ import annotations

from scripts import knowledge
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.ordering import (
    AGREEMENT_CALLS,
    AGREEMENTS,
    COLLECTIVE_CALLS,
    COLLECTIVES,
    FEEDS,
    INFEED_TAKES,
    ONLY_OF_TPUS,
)


def test_a_tpu_compiles_them() -> None:
    text = knowledge.OPERATIONS.read_text(encoding="utf-8")
    compiled = text.partition("compiled\n")[2].partition("\n\n")[0].splitlines()
    names = {row.partition("\t")[0] for row in compiled}
    of_device = INFEED_TAKES | {name for name in FEEDS if name.startswith("OutfeedEnqueue")}
    assert (COLLECTIVES | ONLY_OF_TPUS | of_device) <= names


def test_agreements_are_collectives() -> None:
    assert AGREEMENTS < COLLECTIVES
    assert AGREEMENT_CALLS < COLLECTIVE_CALLS < tf_names.COLLECTIVES


def test_both_sides_of_each_feed_are_known() -> None:
    assert len(FEEDS) == 8
