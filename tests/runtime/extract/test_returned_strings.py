"""Strings returned from a host cluster, whose end TensorFlow moves to the host."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu


def flat(x: Any) -> Any:
    text = tpu.outside_compilation(tf.strings.as_string, x * 2.0)
    return x + 1.0, text, tpu.outside_compilation(lambda t: t + "!", text)


def nested(x: Any) -> Any:
    number, text, loud = flat(x)
    return {"number": number, "texts": (text, tf.identity(loud))}


@pytest.mark.parametrize("computation", [flat, nested])
@pytest.mark.parametrize("replicas", [1, 2])
def test_eagerly_and_in_a_session(computation: Any, replicas: int) -> None:
    def run() -> Any:
        results = tpu.replicate(computation, [[tf.constant(float(i))] for i in range(replicas)])
        return [tf.nest.flatten(replica) for replica in results]

    expected = [[i + 1.0, b"%f" % (i * 2), b"%f!" % (i * 2)] for i in range(replicas)]
    assert [[value.numpy() for value in replica] for replica in run()] == expected
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(run()) == expected


def test_what_the_device_takes_is_still_refused() -> None:
    def computation(x: Any) -> Any:
        text = tpu.outside_compilation(tf.strings.as_string, x)
        return tf.where(x > 0.0, text, text)

    with pytest.raises(tpu.UnsupportedOpError) as caught:
        tpu.rewrite(computation, [tf.constant(1.0)])
    assert caught.value.rule in ("TPU501", "TPU504")
