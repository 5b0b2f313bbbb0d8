"""TPUEstimator on pods whose hosts are processes; test_sessions runs this, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.emulate import test_hosts_estimator as estimators

tf1 = tf.compat.v1


if hasattr(tf1, "estimator"):

    @pytest.mark.parametrize("kind", [estimators.PER_HOST, estimators.OWN])
    def test_an_estimator_trains_and_evaluates_on_the_hosts(
        tmp_path: Path, workers: tuple[str, ...], kind: Any
    ) -> None:
        weights = []
        for hosts in (0, 1, 2, 4):
            inputs = estimators.Inputs()
            with tpu.emulated_tpu(4, workers=workers[:hosts]):
                estimator = estimators.estimator(tmp_path / str(hosts), kind)
                estimator.train(inputs, max_steps=4)
                assert len(inputs.calls) == max(hosts, 1)
                if kind == estimators.OWN:
                    assert 0.0 < estimator.evaluate(inputs, steps=2)["mean"] < 1.0
                weights.append(estimator.get_variable_value("weight").item())
        assert weights[0] > 0
        assert weights == pytest.approx([weights[0]] * 4, rel=1e-5)

    def test_python_in_the_input_function_of_each_host_is_the_rules_error(
        tmp_path: Path, workers: tuple[str, ...]
    ) -> None:
        with tpu.emulated_tpu(4, workers=workers[:2]), pytest.raises(tpu.HostOnlyInputError):
            estimators.estimator(tmp_path, estimators.OWN).train(
                estimators.InputsInPython(), max_steps=2
            )
