"""TPU603 where the configuration feeds each core, or one core for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import CONFIGURED

# A scalar goes through the outfeed (TPU603): each core has one, or one core for all.
FEEDING = {
    "tpu.RunConfig()": "definite",
    "tpu.RunConfig(tpu_config=tpu.TPUConfig())": "definite",
    "tpu.RunConfig(tpu_config=None)": "definite",
    "tpu.RunConfig(tpu_config=library.tpu_config())": "possible",
    "library.config()": "possible",
    **{
        f"tpu.RunConfig(tpu_config=tpu.TPUConfig(per_host_input_for_training={mode}))": certainty
        for mode, certainty in {
            "True": "definite",
            "Input.PER_HOST_V2": "definite",
            "Input.PER_HOST_V1 if len(sys.argv) > 1 else Input.PER_HOST_V2": "definite",
            "Input.PER_HOST_V2 if len(sys.argv) > 1 else library.FEEDING": "possible",
            "library.feeding()": "possible",
            "Input.BROADCAST": None,
            "Input.PER_HOST_V2 if len(sys.argv) > 1 else Input.BROADCAST": None,
        }.items()
    },
}


@pytest.mark.parametrize("config", FEEDING)
def test_a_scalar_is_reported_where_each_core_is_fed(config: str, tmp_path: Path) -> None:
    actual = certainties(CONFIGURED.format(config), tmp_path, "TPU603")
    assert actual == ([FEEDING[config]] if FEEDING[config] else [])
