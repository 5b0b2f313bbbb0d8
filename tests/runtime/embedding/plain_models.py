"""Embedding tables as plain variables, updated by TensorFlow's own kernels: the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

_embedding = tf.tpu.experimental.embedding
RATE = 0.3


def optimizer_of(kind: str, *, accumulates: bool = True) -> Any:
    """Return the embedding optimizer of that name."""
    optimizers: dict[str, Any] = {
        "SGD": lambda **more: _embedding.SGD(RATE, **more),
        "SGD, a rate that is called": lambda **more: _embedding.SGD(
            lambda: tf.constant(RATE), **more
        ),
        "Adagrad": lambda **more: _embedding.Adagrad(RATE, initial_accumulator_value=0.2, **more),
        "Adam": lambda **more: _embedding.Adam(
            RATE, beta_1=0.8, beta_2=0.9, sum_inside_sqrt=False, **more
        ),
        "Adam, not lazy": lambda **more: _embedding.Adam(
            RATE, beta_1=0.8, beta_2=0.9, sum_inside_sqrt=False, lazy_adam=False, **more
        ),
        "FTRL": lambda **more: _embedding.FTRL(
            RATE, l1_regularization_strength=0.05, l2_regularization_strength=0.1, **more
        ),
        "FTRL, linear by the rate": lambda **more: _embedding.FTRL(
            RATE,
            l1_regularization_strength=0.05,
            l2_regularization_strength=0.1,
            multiply_linear_by_learning_rate=True,
            **more,
        ),
    }
    return optimizers[kind](use_gradient_accumulation=accumulates)


KINDS = (
    "SGD",
    "SGD, a rate that is called",
    "Adagrad",
    "Adam",
    "Adam, not lazy",
    "FTRL",
    "FTRL, linear by the rate",
)


class PlainTable:
    """One table as a variable, with the slots of the optimizer of that name."""

    def __init__(self, kind: str, initial: Any) -> None:
        self._kind = kind
        self.variable = tf.Variable(initial)
        start = {"Adagrad": 0.2, "FTRL": 0.1}.get(kind.partition(",")[0], 0.0)
        self._slots = [tf.Variable(np.full_like(initial, start)), tf.Variable(initial * 0.0)]

    def step(self, gradient: tf.IndexedSlices) -> None:
        """Update the variable, its touched rows only, unless the optimizer is not lazy."""
        rows, place = tf.unique(gradient.indices)
        if self._kind == "Adam, not lazy":
            rows, place = tf.range(self.variable.shape[0]), tf.cast(gradient.indices, tf.int32)
        summed = tf.math.unsorted_segment_sum(gradient.values, place, tf.size(rows))
        every = (self.variable, *self._slots)
        parts = [tf.Variable(tf.gather(variable, rows)) for variable in every]
        self._apply([variable.handle for variable in parts], summed)
        for variable, part in zip(every, parts, strict=True):
            variable.assign(tf.tensor_scatter_nd_update(variable, rows[:, None], part))

    def _apply(self, handles: list[Any], gradient: Any) -> None:
        ops, (variable, first, second) = tf.raw_ops, handles
        name = self._kind.partition(",")[0]
        if name == "SGD":
            ops.ResourceApplyGradientDescent(var=variable, alpha=RATE, delta=gradient)
        elif name == "Adagrad":
            ops.ResourceApplyAdagrad(var=variable, accum=first, lr=RATE, grad=gradient)
        elif name == "Adam":
            # With powers of zero there is no correction of the bias.
            powers = {"beta1_power": 0.0, "beta2_power": 0.0, "beta1": 0.8, "beta2": 0.9}
            ops.ResourceApplyAdam(
                var=variable, m=first, v=second, lr=RATE, epsilon=1e-7, grad=gradient, **powers
            )
        else:
            ops.ResourceApplyFtrl(
                var=variable,
                accum=first,
                linear=second,
                grad=gradient,
                lr=RATE,
                l1=0.05,
                l2=0.1,
                lr_power=-0.5,
                multiply_linear_by_lr=self._kind != "FTRL",
            )
