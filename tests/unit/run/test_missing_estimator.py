"""The error of a program that needs the Estimator names the TensorFlow that has it."""

from __future__ import annotations

import pytest

from tpulint.run.failure import missing_estimator

ERRORS = [
    AttributeError("module 'tensorflow' has no attribute 'estimator'"),
    AttributeError("module 'tensorflow._api.v2.compat.v1' has no attribute 'estimator'"),
    ImportError("cannot import name 'estimator' from 'tensorflow.compat.v1' (somewhere)"),
    ModuleNotFoundError("No module", name="tensorflow.estimator"),
    ModuleNotFoundError("No module", name="tensorflow.compat.v1.estimator"),
    ModuleNotFoundError("No module", name="tensorflow_estimator"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_which_tensorflow_to_install(error: Exception) -> None:
    (line,) = missing_estimator(error, "2.21.0")
    assert line.startswith("TensorFlow 2.21.0 has no Estimator; ")
    assert "tensorflow-cpu==2.15.*" in line
    later = RuntimeError("the program's own")
    later.__cause__ = error
    assert list(missing_estimator(later, "2.16.1")) == [line.replace("2.21.0", "2.16.1")]


@pytest.mark.parametrize("error", ERRORS)
def test_no_message_where_it_is_installed(error: Exception) -> None:
    assert not list(missing_estimator(error, "2.15.1"))


@pytest.mark.parametrize(
    "error",
    [
        None,
        AttributeError("'Trainer' object has no attribute 'estimators'"),
        ModuleNotFoundError("No module", name="sklearn"),
        ValueError("there is no attribute 'estimator'"),
    ],
)
def test_other_errors_are_left_alone(error: Exception | None) -> None:
    assert not list(missing_estimator(error, "2.21.0"))
