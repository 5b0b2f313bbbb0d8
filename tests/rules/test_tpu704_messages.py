"""The messages of TPU704 name what is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import findings, program
from tests.rules.openings import SYSTEM

CLEARED = "initializing the TPU system clears the TPU: "
SYSTEMS = {
    "with strategy.scope():\n    tf.tpu.experimental.initialize_tpu_system(resolver)": (
        "the variables of the strategy on it are lost",
        "enters the scope of a strategy on the system",
    ),
    "tf.tpu.experimental.initialize_tpu_system(resolver)": (
        "a strategy was already built on it",
        "calls `TPUStrategy`",
    ),
}


@pytest.mark.parametrize("again", SYSTEMS)
def test_the_message_names_what_is_lost(again: str, tmp_path: Path) -> None:
    (finding,) = findings(program(f"{SYSTEM}\n{again}\n"), tmp_path)
    output, before = SYSTEMS[again]
    assert (finding.message, finding.trace[0].message) == (
        f"{CLEARED}{output}; initialize it once, first",
        before,
    )
