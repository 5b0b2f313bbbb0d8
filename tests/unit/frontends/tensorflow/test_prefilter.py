"""The words by which a file's bytes show that it can matter."""

from __future__ import annotations

import pytest

from tpulint.frontends.tensorflow.prefilter import names_a_tpu, passes


@pytest.mark.parametrize(
    "data", [b"tpu", b"on_tpu = 1", b"TPUEstimator", b"Tpu", b"output, tpu.core"]
)
def test_what_names_a_tpu(data: bytes) -> None:
    assert names_a_tpu(data)


@pytest.mark.parametrize("data", [b"", b"output = 1", b"Output(outputs)", b"throughput"])
def test_an_output_is_no_tpu(data: bytes) -> None:
    assert not names_a_tpu(data)
    assert not passes(data + b"\noutput.shard(x)\n")


@pytest.mark.parametrize(
    ("names", "starts"),
    [
        ("TPUEstimator as Estimator", True),
        ("RunConfig, TPUEstimatorSpec as Spec", True),
        ("TPUStrategy as Strategy  # for Cloud TPUs", True),
        ("RunConfig  # TPUEstimator as it was", False),
    ],
)
def test_a_class_that_is_imported_by_another_name_starts_a_search(names: str, starts: bool) -> None:
    assert passes(f"from tensorflow.contrib.tpu import {names}\n".encode()) is starts


@pytest.mark.parametrize("receiver", ["strategy", "tf.distribute.get_strategy()", "s.extended"])
def test_a_run_of_a_strategy_starts_a_search(receiver: str) -> None:
    data = f"import tensorflow as tf\n{receiver}.run(step)\n".encode()
    assert passes(data) is ("strategy" in receiver)


@pytest.mark.parametrize(
    ("scope", "starts"),
    [
        ("strategy.scope()", True),
        ("get_strategy().scope()", True),
        ("get_device_strategy(config.device).scope()", True),
        ("name_scope(config.device).scope()", False),
    ],
)
def test_a_model_that_trains_in_the_scope_of_a_strategy_starts_a_search(
    scope: str, starts: bool
) -> None:
    data = f"from utils import get_device_strategy\nwith {scope}:\n    model.fit(data)\n"
    assert passes(data.encode()) is starts
