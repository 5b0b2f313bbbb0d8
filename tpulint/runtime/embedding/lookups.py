"""Lookups of a batch of one feature, as the embedding hardware does them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


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
        found = np.zeros((math.prod(self.shape), table.shape[1]), np.float32)
        np.add.at(found, self.samples, table[self.rows] * self.gains[:, None])
        return found.reshape((*self.shape, table.shape[1]))

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
    given = np.ones(len(rows), np.float32) if weights.size == 0 else weights.astype(np.float32)
    build: Callable[..., Lookup] = _ragged
    if indices_or_splits.ndim == 2:
        build = _sparse
    elif indices_or_splits.size == 0:
        build = _dense
    return build(tuple(shape), combiner, indices_or_splits, rows, given)


def _dense(shape: tuple[int, ...], _: str, __: Any, rows: Any, ___: Any) -> Lookup:
    if len(rows) != math.prod(shape):
        raise ValueError(f"a dense feature has {len(rows)} ids for samples of shape {shape}")
    return Lookup(rows, np.arange(len(rows)), np.ones(len(rows), np.float32), shape)


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
