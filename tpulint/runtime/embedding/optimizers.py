"""Updates of rows of a table, by the optimizers of the embedding hardware.

The formulas are those of TensorFlow's optimization_parameters.proto, and of the kernels and papers
that it names. Biases of Adam are not corrected there: a program does it in its learning rate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rows = dict[str, Any]
"""The parameters of some rows, and their slots, by the slots' names."""

SLOTS: dict[str, tuple[str, ...]] = {
    "stochastic_gradient_descent": (),
    "adagrad": ("accumulators",),
    "adam": ("momenta", "velocities"),
    "ftrl": ("accumulators", "linears"),
}
"""The slots of each optimizer that is offered."""


def updated(parameters: Any, rate: float, rows: Rows, gradient: Any) -> Rows:
    """Return `rows` after a step with `gradient`, as the OptimizationParameters say."""
    gradient = _clipped(gradient, parameters.gradient_clipping_limits)
    decay = parameters.weight_decay_factor
    if parameters.multiply_weight_decay_factor_by_learning_rate:
        decay *= rate
    rows = {**rows, "parameters": rows["parameters"] * np.float32(1.0 - decay)}
    kind = parameters.WhichOneof("parameters")
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _UPDATES[kind](getattr(parameters, kind), np.float32(rate), rows, gradient)
    return {**found, "parameters": _clipped(found["parameters"], parameters.clipping_limits)}


def _clipped(values: Any, limits: Any) -> Any:
    lower = limits.lower.value if limits.HasField("lower") else -np.inf
    upper = limits.upper.value if limits.HasField("upper") else np.inf
    return np.clip(values, np.float32(lower), np.float32(upper))


def _sgd(_: Any, rate: Any, rows: Rows, gradient: Any) -> Rows:
    return {"parameters": rows["parameters"] - rate * gradient}


def _adagrad(_: Any, rate: Any, rows: Rows, gradient: Any) -> Rows:
    accumulators = rows["accumulators"] + gradient**2
    step = np.where(gradient == 0, np.float32(0), gradient / np.sqrt(accumulators))
    return {"parameters": rows["parameters"] - rate * step, "accumulators": accumulators}


def _adam(its: Any, rate: Any, rows: Rows, gradient: Any) -> Rows:
    first, second = np.float32(its.beta1), np.float32(its.beta2)
    epsilon = np.float32(its.epsilon)
    momenta = first * rows["momenta"] + (1 - first) * gradient
    velocities = second * rows["velocities"] + (1 - second) * gradient**2
    root = np.sqrt(velocities) + epsilon
    if its.use_sum_inside_sqrt:
        root = np.sqrt(velocities + epsilon**2)
    return {
        "parameters": rows["parameters"] - rate * momenta / root,
        "momenta": momenta,
        "velocities": velocities,
    }


def _ftrl(its: Any, rate: Any, rows: Rows, gradient: Any) -> Rows:
    """Follow the regularized leader; `linears` may be kept multiplied by the learning rate."""
    power = np.float32(-its.lr_power)
    old, accumulators = rows["accumulators"], rows["accumulators"] + gradient**2
    l1, l2 = np.float32(its.l1), np.float32(2 * its.l2)
    change = (accumulators**power - old**power) * rows["parameters"]
    if its.multiply_linear_by_lr:
        linears = rows["linears"] + rate * gradient - change
        quadratic = accumulators**power + l2 * rate + np.float32(its.beta)
        l1 = l1 * rate
    else:
        linears = rows["linears"] + gradient - change / rate
        quadratic = (accumulators**power + np.float32(its.beta)) / rate + l2
    shrunk = (np.sign(linears) * l1 - linears) / quadratic
    return {
        "parameters": np.where(np.abs(linears) > l1, shrunk, np.float32(0)),
        "accumulators": accumulators,
        "linears": linears,
    }


_UPDATES: dict[str, Callable[[Any, Any, Rows, Any], Rows]] = {
    "stochastic_gradient_descent": _sgd,
    "adagrad": _adagrad,
    "adam": _adam,
    "ftrl": _ftrl,
}
