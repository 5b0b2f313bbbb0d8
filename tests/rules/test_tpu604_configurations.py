"""TPU604 where the configuration gives several replicas, or one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import reported
from tests.rules.openings import CONFIGURED

# Nothing sums the gradients of the replicas (TPU604): there are several, or one.
REPLICAS = {
    "library.config()": True,
    "tpu.RunConfig()": True,
    **{
        f"tpu.RunConfig(tpu_config=tpu.TPUConfig({settings}))": several
        for settings, several in {
            "num_shards=8": True,
            "num_shards=1": False,
            "num_shards=1 if len(sys.argv) > 1 else 8": False,
            "num_cores_per_replica=None": True,
            "num_cores_per_replica=1": True,
            "num_cores_per_replica=8": False,
            "num_cores_per_replica=8 if len(sys.argv) > 1 else 4": False,
            "num_cores_per_replica=8 if len(sys.argv) > 1 else None": True,
            "100, 8": True,
            "100, 1": False,
            "100, 8, 8": False,
        }.items()
    },
}


@pytest.mark.parametrize("config", REPLICAS)
def test_it_is_reported_where_there_are_several_replicas(config: str, tmp_path: Path) -> None:
    assert bool(reported(CONFIGURED.format(config), tmp_path, ["TPU604"])) == REPLICAS[config]
