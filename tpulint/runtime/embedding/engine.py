"""The embedding engine of the emulated TPU: tables in the host's memory, and batches of each core.

A batch that is enqueued for a core waits until the core asks for its activations. When all cores
have sent their gradients, those of one row are added up, and the tables are updated once.
"""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any

import numpy as np

from tpulint.runtime.embedding.lookups import Lookup, lookup
from tpulint.runtime.embedding.optimizers import SLOTS, updated
from tpulint.runtime.emulate.system import TPUMemory
from tpulint.runtime.execute.waiting import WaitLimit
from tpulint.runtime.schedule.locks import Wait

_LOOK = 0.1
"""Seconds between two looks whether a wait takes too long."""
_numbers = itertools.count()


class Starved(Exception):
    """A core waits for the engine, or the engine for a core, and it will never come."""


@dataclass(frozen=True, eq=False)
class _Batch:
    lookups: tuple[Lookup, ...]
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
        self,
        combiners: Sequence[str],
        features: Sequence[tuple[Any, Any, Any]],
        *,
        training: bool,
    ) -> int:
        """Take a batch: indices or row splits, ids, weights, by feature. Return its number.

        Raises:
            ValueError: an id is outside its table, or a feature does not have the set up shape.
        """
        lookups = []
        for feature, (indices, ids, weights) in zip(self._features(), features, strict=True):
            table = self._config.table_descriptor[feature.table_id]
            outside = ids[(ids < 0) | (ids >= table.vocabulary_size)]
            if outside.size:
                raise ValueError(
                    f"id {outside[0]} is outside the embedding table '{table.name}' of "
                    f"{table.vocabulary_size} rows"
                )
            combiner = combiners[feature.table_id]
            lookups.append(lookup(tuple(feature.input_shape), combiner, indices, ids, weights))
        with self._lock:
            number = next(self._numbers_of_batches)
            self._batches[number] = _Batch(tuple(lookups), training)
        return number

    def expect(self, core: int) -> None:
        """Wait until `core` can have its next batch.

        The table has to be updated for the batch before, with the gradients of all cores.

        Raises:
            Starved: the gradients of the batch before have not been sent, or not by all cores.
        """
        reason = (
            f"core {core} dequeues its next training batch, and other cores have not sent the "
            "gradients of the last one"
        )
        limit, waits, thread = WaitLimit(), [Wait("host", "other cores", reason)], get_ident()
        with self._lock:
            while not self._changed.wait_for(lambda: core not in self._answers, _LOOK):
                if limit.is_over(waits, [thread]):
                    raise Starved(reason)
            if core in self._unanswered:
                raise Starved(
                    f"core {core} has not sent the gradients of its last training batch, for "
                    "which the embedding engine waits: call apply_gradients in each training step, "
                    "or enqueue with training=False"
                )

    def activations(self, core: int, number: int) -> list[Any]:
        """Return the activations of the batch of that number, for `core`, feature by feature."""
        with self._lock:
            batch = self._batches.pop(number)
            if batch.training:
                self._unanswered[core] = batch
            return [
                one.of(self._tables[table.name]["parameters"])
                for one, table in zip(batch.lookups, self._tables_of_features(), strict=True)
            ]

    def gradients(self, core: int, gradients: Sequence[Any], rates: Sequence[float]) -> None:
        """Take the gradients of the last batch of `core`; with those of all cores, update.

        Raises:
            Starved: the last batch is none of training, or its gradients have been sent.
        """
        with self._lock:
            if core not in self._unanswered:
                raise Starved(
                    f"core {core} sends embedding gradients, and has dequeued no training batch"
                )
            self._answers[core] = self._unanswered.pop(core), gradients, rates
            if len(self._answers) == self._config.num_tensor_cores:
                answers = [self._answers[core] for core in sorted(self._answers)]
                self._update(answers)
                self._answers.clear()
                self._changed.notify_all()

    def forget_failed_step(self) -> None:
        """Forget the gradients that a step has sent before it failed, and those that it owes."""
        with self._lock:
            self._unanswered.clear()
            self._answers.clear()
            self._changed.notify_all()

    def _features(self) -> Any:
        return self._config.feature_descriptor

    def _tables_of_features(self) -> Iterator[Any]:
        for feature in self._features():
            yield self._config.table_descriptor[feature.table_id]

    def _update(self, answers: Sequence[tuple[_Batch, Sequence[Any], Sequence[float]]]) -> None:
        parts: dict[int, list[tuple[Any, Any]]] = defaultdict(list)
        for batch, gradients, _ in answers:
            for feature, one, gradient in zip(
                self._features(), batch.lookups, gradients, strict=True
            ):
                parts[feature.table_id].append((one.rows, one.back(gradient)))
        for table_id, found in parts.items():
            rows = np.concatenate([rows for rows, _ in found])
            summands = np.concatenate([each for _, each in found])
            table = self._config.table_descriptor[table_id]
            self._update_table(table, rows, summands, answers[0][2])

    def _update_table(self, table: Any, rows: Any, gradients: Any, rates: Sequence[float]) -> None:
        parameters = table.optimization_parameters
        rate = parameters.learning_rate.constant
        if parameters.learning_rate.HasField("dynamic"):
            rate = float(rates[parameters.learning_rate.dynamic.tag])
        accumulates = parameters.gradient_accumulation_status != _NOT_ACCUMULATED
        if not accumulates:
            for row, gradient in zip(rows, gradients):
                self._step(table, rate, np.array([row]), gradient[None])
            return
        unique, place = np.unique(rows, return_inverse=True)
        if parameters.adam.use_non_lazy_adam:
            unique, place = np.arange(table.vocabulary_size), rows
        summed = np.zeros((len(unique), table.dimension), np.float32)
        np.add.at(summed, place.reshape(-1), gradients)
        self._step(table, rate, unique, summed)

    def _step(self, table: Any, rate: float, rows: Any, gradients: Any) -> None:
        values = self._tables[table.name]
        names = ("parameters", *SLOTS[table.optimization_parameters.WhichOneof("parameters")])
        found = updated(
            table.optimization_parameters,
            rate,
            {name: values[name][rows] for name in names},
            gradients,
        )
        for name, new in found.items():
            values[name][rows] = new


_NOT_ACCUMULATED = 2
"""GradientAccumulationStatus.DISABLED"""
