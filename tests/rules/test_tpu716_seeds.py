"""Seeds of stateless draws in a step: those that are the host's, and those that may differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import SYSTEM

PROGRAM = (
    SYSTEM
    + """
import json
import numpy as np

settings = json.load(open("settings.json"))
drawn = np.random.randint(0, 9, size=[2])

class Sampler:
    def __init__(self, config, number):
        self.config, self.number = config, number

    def noise(self, x):
        replica = tf.distribute.get_replica_context()
        return tf.random.stateless_uniform([2], seed={seed})

    @tf.function
    def sample(self, x):
        return strategy.run(self.noise, args=(x,))
"""
)
SEEDS = {
    "[3, 1]": "possible",
    "[settings['seed'], 1]": "possible",
    "[self.config.seed, 1]": "possible",
    "drawn": "possible",
    "x": "",
    "self.number": "",  # it may be a tensor
    "[settings['seed'], unseen()]": "",
    "[settings['seed'], tf.cast(x[0], tf.int32)]": "",
    "[settings['seed'], replica.replica_id_in_sync_group]": "",
    "[self.config.seed + replica.replica_id_in_sync_group, 1]": "",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_that_all_replicas_have(seed: str, tmp_path: Path) -> None:
    actual = certainties(PROGRAM.replace("{seed}", seed), tmp_path, "TPU716")
    assert actual == [it for it in [SEEDS[seed]] if it]
