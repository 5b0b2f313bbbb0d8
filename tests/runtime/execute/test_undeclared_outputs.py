"""A tensor that a computation made and did not return cannot be used outside it."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("on_host", [True, False])
def test_it_is_an_error_of_the_session_and_not_a_missing_kernel(
    replicas: int, is_given: bool, on_host: bool
) -> None:
    leaked: list[Any] = []

    def computation(*x: Any) -> Any:
        y = x[0] * 2.0 if x else tf.random.uniform([])
        tpu.outside_compilation(lambda v: leaked.append(v + 1.0), y) if on_host else leaked.append(
            y
        )
        return y

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        inputs = [[tf.constant(1.0)] if is_given else [] for _ in range(replicas)]
        results = tpu.replicate(computation, inputs)
        later = leaked[0] + 1.0
        session.run(results)
        with pytest.raises(tpu.UnfetchableError, match="Undeclared output") as caught:
            session.run(later)
    assert isinstance(caught.value, tf.errors.InvalidArgumentError)
    assert caught.value.rule == "TPU406"
    assert "test_undeclared_outputs.py" in str(caught.value.place)


def test_other_errors_stay_what_they_are() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        wrong = tf.reshape(tf.compat.v1.placeholder_with_default([1.0, 2.0], [None]), [3])
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(wrong)
    assert not isinstance(caught.value, tpu.UnfetchableError)
