"""The embedding engine of the emulated TPU: tables in the host's memory, and batches of each core.

A batch that is enqueued for a core waits until the core asks for its activations. When all cores
have sent their gradients, those of one row are added up, and the tables are updated once.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import numpy as np

from tpulint.runtime.emulate.system import TPUMemory
from tpulint.runtime.execute.waiting import WaitLimit
from tpulint.runtime.schedule.locks import Wait

_POLL_SECONDS = 0.1
"""Seconds between two looks whether a wait takes too long."""
_numbers = itertools.count()


class EngineDeadlock(Exception):
    """A core waits for the engine, or the engine for a core, and it will never come."""


@dataclass(frozen=True, eq=False)
class _Batch:
    lookups: tuple[tuple[int, Lookup], ...]
    """The number of the table and the lookup of each feature."""
    training: bool


class Engine:
    """A thread-safe engine, set up by a TPUEmbeddingConfiguration."""

    def __init__(self, config: Any, memory: TPUMemory) -> None:
        self.number = next(_numbers)
        self.memory = memory
        """It is cleared when the TPU system is initialized again."""
        self._numbers_of_batches = itertools.count()
        self._config = config
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._tables: dict[str, dict[str, Any]] = {}
        self._batches: dict[int, _Batch] = {}
        self._unanswered: dict[int, _Batch] = {}
        self._answers: dict[int, tuple[_Batch, Sequence[Any], Sequence[float]]] = {}

    def load(self, table: str, variables: dict[str, Any]) -> None:
        """Take the values of a table's parameters and slots."""
        with self._lock:
            self._tables[table] = {name: np.array(value) for name, value in variables.items()}

    def retrieve(self, table: str) -> dict[str, Any]:
        """Return the values of a table's parameters and slots."""
        with self._lock:
            return {name: np.array(value) for name, value in self._tables[table].items()}

    def enqueue(
        self, combiners: Sequence[str], features: Sequence[tuple[Any, Any, Any]], *, training: bool
    ) -> int:
        """Take a batch: indices or row splits, ids, weights, by feature. Return its number.

        Raises:
            ValueError: an id is outside its table, or a feature does not have the set up shape.
        """
        lookups = []
        for feature, (indices, ids, weights) in zip(
            self._config.feature_descriptor, features, strict=True
        ):
            table = self._config.table_descriptor[feature.table_id]
            outside = ids[(ids < 0) | (ids >= table.vocabulary_size)]
            if outside.size:
                raise ValueError(
                    f"id {outside[0]} is outside the embedding table '{table.name}' of "
                    f"{table.vocabulary_size} rows"
                )
            combiner = combiners[feature.table_id]
            of_feature = lookup(tuple(feature.input_shape), combiner, indices, ids, weights)
            lookups.append((feature.table_id, of_feature))
        with self._lock:
            number = next(self._numbers_of_batches)
            self._batches[number] = _Batch(tuple(lookups), training)
        return number

    def expect(self, core: int) -> None:
        """Wait until `core` can have its next batch.

        The table has to be updated for the batch before, with the gradients of all cores.

        Raises:
            EngineDeadlock: the gradients before have not been sent, or not by all cores.
        """
        reason = (
            f"core {core} dequeues its next training batch, and other cores have not sent the "
            "gradients of the last one"
        )
        limit, waits, thread = WaitLimit(), [Wait("host", "other cores", reason)], get_ident()
        with self._lock:
            while not self._changed.wait_for(lambda: core not in self._answers, _POLL_SECONDS):
                if limit.is_over(waits, [thread]):
                    raise EngineDeadlock(reason)
            if core in self._unanswered:
                raise EngineDeadlock(
                    f"core {core} has not sent the gradients of its last training batch, for "
                    "which the embedding engine waits: call apply_gradients in each training step, "
                    "or enqueue with training=False"
                )

    def activations(self, core: int, number: int) -> list[Any]:
        """Return the activations of the batch of that number, for `core`, feature by feature."""
        tables = self._config.table_descriptor
        with self._lock:
            batch = self._batches.pop(number)
            if batch.training:
                self._unanswered[core] = batch
            return [
                of_feature.of(self._tables[tables[table_id].name]["parameters"])
                for table_id, of_feature in batch.lookups
            ]

    def gradients(self, core: int, gradients: Sequence[Any], rates: Sequence[float]) -> None:
        """Take the gradients of the last batch of `core`; with those of all cores, update.

        Raises:
            EngineDeadlock: the last batch is none of training, or its gradients have been sent.
        """
        with self._lock:
            if core not in self._unanswered:
                raise EngineDeadlock(
                    f"core {core} sends embedding gradients, and has dequeued no training batch"
                )
            self._answers[core] = self._unanswered.pop(core), gradients, rates
            # All cores read a table before any of their gradients changes it.
            if len(self._answers) == self._config.num_tensor_cores:
                # In a fixed order, for sums of floats depend on it.
                self._update([self._answers[core] for core in sorted(self._answers)])
                self._answers.clear()
                self._changed.notify_all()

    def forget_failed_step(self) -> None:
        """Forget the gradients that a step has sent before it failed, and those that it owes."""
        with self._lock:
            self._unanswered.clear()
            self._answers.clear()
            self._changed.notify_all()

    def _update(self, answers: Sequence[tuple[_Batch, Sequence[Any], Sequence[float]]]) -> None:
        parts: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
        for batch, gradients, _ in answers:
            for (table_id, of_feature), gradient in zip(batch.lookups, gradients, strict=True):
                parts[table_id].append((of_feature.rows, of_feature.back(gradient)))
        for table_id, pieces in parts.items():
            rows = np.concatenate([rows for rows, _ in pieces])
            summands = np.concatenate([values for _, values in pieces])
            table = self._config.table_descriptor[table_id]
            self._update_table(table, rows, summands, answers[0][2])

    def _update_table(self, table: Any, rows: Any, gradients: Any, rates: Sequence[float]) -> None:
        parameters = table.optimization_parameters
        rate = parameters.learning_rate.constant
        if parameters.learning_rate.HasField("dynamic"):
            rate = float(rates[parameters.learning_rate.dynamic.tag])
        if parameters.gradient_accumulation_status == _NOT_ACCUMULATED:
            for row, gradient in zip(rows, gradients):
                self._step(table, rate, np.array([row]), gradient[None])
            return
        # Accumulated gradients of one row make one update.
        unique, place = np.unique(rows, return_inverse=True)
        # Its momenta change all rows, those without a gradient, too.
        if parameters.adam.use_non_lazy_adam:
            unique, place = np.arange(table.vocabulary_size), rows
        summed = np.zeros((len(unique), table.dimension), np.float32)
        np.add.at(summed, place.reshape(-1), gradients)
        self._step(table, rate, unique, summed)

    def _step(self, table: Any, rate: float, rows: Any, gradients: Any) -> None:
        """Update `rows` of a table by their `gradients`, as its OptimizationParameters say."""
        parameters, values = table.optimization_parameters, self._tables[table.name]
        kind = parameters.WhichOneof("parameters")
        slots, update = _OPTIMIZERS[kind]
        before = {name: values[name][rows] for name in ("parameters", *slots)}
        gradients = _clipped(gradients, parameters.gradient_clipping_limits)
        decay = parameters.weight_decay_factor
        if parameters.multiply_weight_decay_factor_by_learning_rate:
            decay *= rate
        before["parameters"] = before["parameters"] * np.float32(1.0 - decay)
        with np.errstate(divide="ignore", invalid="ignore"):
            after = update(getattr(parameters, kind), np.float32(rate), before, gradients)
        after["parameters"] = _clipped(after["parameters"], parameters.clipping_limits)
        for name, new in after.items():
            values[name][rows] = new


_NOT_ACCUMULATED = 2
"""GradientAccumulationStatus.DISABLED"""


@dataclass(frozen=True, eq=False)
class Lookup:
    """Rows of a table, each added with its gain to a sample of the result."""

    rows: Any
    samples: Any
    gains: Any
    shape: tuple[int, ...]
    """The shape of the samples."""

    def of(self, table: Any) -> Any:
        """Return the looked up vectors, one a sample; without rows it is zero."""
        vectors = np.zeros((math.prod(self.shape), table.shape[1]), np.float32)
        np.add.at(vectors, self.samples, table[self.rows] * self.gains[:, None])
        return vectors.reshape((*self.shape, table.shape[1]))

    def back(self, gradient: Any) -> Any:
        """Return the gradients of the rows, from that of the result."""
        flat = gradient.reshape((math.prod(self.shape), -1))
        return flat[self.samples] * self.gains[:, None]


def lookup(
    shape: Sequence[int], combiner: str, indices_or_splits: Any, rows: Any, weights: Any
) -> Lookup:
    """Return the lookup of a feature with samples of `shape`, as TPUEmbedding enqueues it.

    A dense feature has no indices, a sparse one a matrix of them, a ragged one its row splits. A
    feature without weights has an empty array of them.

    Raises:
        ValueError: the feature does not fit `shape`.
    """
    gains = np.ones(len(rows), np.float32) if weights.size == 0 else weights.astype(np.float32)
    if indices_or_splits.ndim == 2:
        return _sparse(tuple(shape), combiner, indices_or_splits, rows, gains)
    if indices_or_splits.size:
        return _ragged(tuple(shape), combiner, indices_or_splits, rows, gains)
    if len(rows) != math.prod(shape):
        raise ValueError(f"a dense feature has {len(rows)} ids for samples of shape {tuple(shape)}")
    return Lookup(rows, np.arange(len(rows)), np.ones(len(rows), np.float32), tuple(shape))


def _sparse(shape: tuple[int, ...], combiner: str, indices: Any, rows: Any, weights: Any) -> Lookup:
    """Look up a sparse feature, whose last dimension is reduced; what is past `shape` is cut."""
    places = indices[:, :-1]
    if places.shape[1] != len(shape):
        raise ValueError(f"a sparse feature of rank {indices.shape[1]} for samples of {shape}")
    inside = (places < np.array(shape)).all(axis=1)
    samples = np.ravel_multi_index(tuple(places[inside].T), shape)
    return _combined(shape, combiner, samples, rows[inside], weights[inside])


def _ragged(shape: tuple[int, ...], combiner: str, splits: Any, rows: Any, weights: Any) -> Lookup:
    """Look up a ragged feature: one sample a row, or the row's ids one by one as a sequence."""
    lengths, count = np.diff(splits), math.prod(shape)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    if count == len(lengths):
        return _combined(shape, combiner, row_of, rows, weights)
    if not len(lengths) or count % len(lengths):
        raise ValueError(f"a ragged feature of {len(lengths)} rows for samples of shape {shape}")
    longest = count // len(lengths)
    position = np.arange(len(rows)) - np.repeat(splits[:-1], lengths)
    inside = position < longest
    samples = (row_of * longest + position)[inside]
    return Lookup(rows[inside], samples, np.ones(len(samples), np.float32), shape)


def _combined(
    shape: tuple[int, ...], combiner: str, samples: Any, rows: Any, weights: Any
) -> Lookup:
    """Weigh the rows of each sample as `combiner` says; weights of zero in all give zero."""
    if combiner == "sum":
        return Lookup(rows, samples, weights, shape)
    total = np.zeros(math.prod(shape), np.float32)
    np.add.at(total, samples, weights if combiner == "mean" else weights**2)
    divisors = (total if combiner == "mean" else np.sqrt(total))[samples]
    gains = np.divide(weights, divisors, out=np.zeros_like(weights), where=divisors != 0)
    return Lookup(rows, samples, gains, shape)


# The formulas of the optimizers are those of TensorFlow's optimization_parameters.proto, and of the
# kernels and papers that it names. Biases of Adam are not corrected: a program does that in its
# learning rate.
Rows = dict[str, Any]
"""The parameters of some rows, and their slots, by the slots' names."""


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


_OPTIMIZERS: dict[str, tuple[tuple[str, ...], Callable[[Any, Any, Rows, Any], Rows]]] = {
    "stochastic_gradient_descent": ((), _sgd),
    "adagrad": (("accumulators",), _adagrad),
    "adam": (("momenta", "velocities"), _adam),
    "ftrl": (("accumulators", "linears"), _ftrl),
}
"""The slots of each optimizer that is offered, and its update."""
