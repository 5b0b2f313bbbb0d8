"""What replicas of a step should have alike, or not: variables, rows, results that are numbers.

On one core such a program is right, and on several nothing fails: only the numbers are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime import errors
from tpulint.runtime.emulator import current, current_part
from tpulint.runtime.execute.raising import call_python_if, compute_by_python
from tpulint.runtime.execute.tensor_map import TensorMap
from tpulint.runtime.extract.copying import find_sizes
from tpulint.runtime.extract.program import ReplicatedProgram, cores_of_replicas
from tpulint.runtime.extract.region import Operation, Tensor, skip_identities
from tpulint.runtime.pods import devices
from tpulint.runtime.schedule.variables import (
    UnsynchronizedVariable,
    UnsynchronizedVariables,
    variables_of,
)
from tpulint.runtime.source_location import operation_location, user_location

# Steps in which hosts have to read the same before it is no accident.
_EQUAL_STEPS = 2
_BUCKETS = 2**62


def compare_replicas(
    program: ReplicatedProgram,
    images: Sequence[TensorMap],
    outputs: Sequence[Sequence[Tensor]],
    waits_for: Sequence[Operation],
) -> list[Operation]:
    """Return operations that compare what the replicas got, and their `outputs`, and warn.

    What is in other processes is not compared: every step would have to fetch it.
    """
    if len(images) == 1 or devices.hosts_are_remote():
        return []
    with tf.control_dependencies(waits_for):
        return [*_compare_values(program, images, outputs), *_compare_hosts(program, images)]


def _batches(program: ReplicatedProgram) -> list[str]:
    """Return the names of the inputs that have rows, of which each replica gets its own."""
    return [
        name
        for name, tensors in program.boundary.items()
        if tensors[0].dtype not in (tf.resource, tf.variant)
        and len({tensor.name for tensor in tensors}) > 1
        and (tensors[0].shape.rank or 0) > 0
    ]


def _compare_values(
    program: ReplicatedProgram, images: Sequence[TensorMap], outputs: Sequence[Sequence[Tensor]]
) -> list[Operation]:
    """Return operations that warn of replicas without rows, or with results that are no numbers."""
    rows = _rows(program, images)
    results = {
        number: result
        for number, result in enumerate(program.marked.outputs)
        if result.dtype.is_floating and result.shape.rank in (0, 1)
    }
    if rows is None and not results:
        return []
    marks = [tf.zeros([len(images)], tf.bool)]
    for number in results:
        of_replicas = [here[number] for here in outputs]
        all_nan = [
            tf.reduce_all(tf.math.is_nan(here)) & (tf.size(here) > 0) for here in of_replicas
        ]
        marks.append(tf.stack(all_nan))
    is_nan = tf.stack(marks)
    rows = tf.ones([len(images)], tf.int32) if rows is None else rows
    condition = tf.reduce_any(rows == 0) & tf.reduce_any(rows > 0)
    condition |= tf.reduce_any(tf.reduce_any(is_nan, axis=1) & ~tf.reduce_all(is_nan, axis=1))
    # The places are known now: the operations may be gone when the step runs.
    can_spread = any(variable.device_writes for variable in variables_of(program))
    values = _ReplicaValues(user_location(), list(map(_place, results.values())), can_spread)
    return [call_python_if(condition, values.note, [rows, is_nan])]


def _place(result: Tensor) -> str | None:
    """Return the line that computes `result`, not the one that has it returned."""
    return operation_location(skip_identities(result).op)


def _rows(program: ReplicatedProgram, images: Sequence[TensorMap]) -> Tensor | None:
    """Return the most rows that each replica gets in a batch; None if they cannot differ."""
    names = [
        name
        for name in _batches(program)
        if None in (lengths := {tensor.shape.as_list()[0] for tensor in program.boundary[name]})
        or len(lengths) > 1
    ]
    if not names:
        return None
    sizes = {size.name: size.size for size in find_sizes(program.region) if size.dimension == 0}

    def rows_of(name: str, here: TensorMap) -> Tensor:
        # What is filled up to a size comes with the number of its rows.
        if name in sizes and sizes[name] in here.tensors:
            return tf.reshape(tf.cast(here.tensors[sizes[name]], tf.int32), [])
        return tf.shape(here.tensors[name])[0]

    counts = [tf.stack([rows_of(name, here) for name in names]) for here in images]
    return tf.reduce_max(tf.stack(counts), axis=1)


@dataclass(eq=False)
class _ReplicaValues:
    """What the replicas of a computation get and give; `places` are the lines of its results.

    can_spread: it writes to variables, where what is no number would stay.
    """

    place: str | None
    places: Sequence[str | None]
    can_spread: bool
    has_warned: bool = False

    def note(self, rows: Any, is_nan: Any) -> None:
        """Warn the first time that a replica has no rows, or a result that is no number."""
        empty = {replica for replica, count in enumerate(rows) if count == 0}
        # The first row stands for no result.
        nan = [{replica for replica, marked in enumerate(here) if marked} for here in is_nan[1:]]
        counts = (not nan and self.can_spread) or any(
            not empty.isdisjoint(replicas) for replicas in nan
        )
        warning: errors.RuntimeFaultWarning | None = None
        if 0 < len(empty) < len(rows) and counts:
            warning = errors.EmptyReplicaWarning(
                f"{_named(empty).capitalize()} got no rows in a step in which another one got "
                f"{max(rows)}: a mean over no rows is not a number (0 / 0), and neither is what it "
                "is added to. Drop the last batch (`drop_remainder=True`), or divide sums by the "
                "number of all rows",
                place=self.place,
            )
        elif not empty:
            partial = zip(nan, self.places, strict=True)
            some = [(marked, at) for marked, at in partial if 0 < len(marked) < len(rows)]
            if some:
                marked, at = some[0]
                warning = errors.PartialNanWarning(
                    f"A result of a step is not a number (NaN) on {_named(marked)}, and is one on "
                    "the others. What shows the value of one replica, or leaves NaN out of a mean, "
                    "hides it",
                    place=at,
                )
        if warning is not None and not self.has_warned:
            self.has_warned = True
            errors.warn(warning)


def _named(replicas: Collection[int]) -> str:
    return f"replica{'s' * (len(replicas) > 1)} {', '.join(map(str, sorted(replicas)))}"


def _compare_hosts(program: ReplicatedProgram, images: Sequence[TensorMap]) -> list[Operation]:
    """Return operations that warn of hosts that give their replicas the same rows."""
    firsts: dict[str, TensorMap] = {}
    for core, here in zip(cores_of_replicas(program.marked, logical_core=0), images, strict=True):
        firsts.setdefault(devices.remote_host_of_core(core) or "", here)
    names = _batches(program)
    if len(firsts) == 1 or not names:
        return []
    equal = _EqualSteps(user_location())
    (wanted,) = compute_by_python(lambda: equal.are_wanted, [], [tf.bool])
    wanted.set_shape([])

    def differ_by_rows() -> Tensor:
        marks = [[_mark(here.tensors[name]) for name in names] for here in firsts.values()]
        return tf.stack(marks)

    nothing = tf.zeros([len(firsts), len(names)], tf.int64)
    marks = tf.cond(wanted, differ_by_rows, lambda: nothing)
    return [call_python_if(wanted, equal.note, [marks])]


def _mark(tensor: Tensor) -> Tensor:
    """Return a number that tells the values of `tensor` from others; 0 if they are all the same."""
    mark = tf.strings.to_hash_bucket_fast(tf.io.serialize_tensor(tensor), _BUCKETS) + 1
    flat = tf.reshape(tensor, [-1])
    different = tf.cond(
        tf.size(flat) > 1,
        lambda: tf.reduce_any(tf.not_equal(flat, flat[:1])),
        lambda: tf.constant(False),
    )
    return tf.where(different, mark, tf.zeros([], tf.int64))


@dataclass(eq=False)
class _EqualSteps:
    """The first steps of a computation, for as long as the hosts have read the same in them.

    Then they `are_wanted`: the next one is to be compared.
    """

    place: str | None
    equal: int = 0
    are_wanted: bool = True

    def note(self, marks: Any) -> None:
        """Note the marks of a step, those of each host in a row."""
        # A mask or a weight that is the same everywhere says nothing.
        telling = [column for column in marks.T if column.any()]
        if not telling:
            return
        self.are_wanted = all(len(set(column.tolist())) == 1 for column in telling)
        self.equal += self.are_wanted
        if self.equal >= _EQUAL_STEPS:
            self.are_wanted = False
            message = (
                f"All {len(marks)} hosts have given their replicas the same rows in {self.equal} "
                "steps, so the TPU computes the same several times. In the dataset function, take "
                "the host's part: `shard(context.num_input_pipelines, context.input_pipeline_id)`"
            )
            errors.warn(errors.EqualRowsWarning(message, place=self.place))


class KeptCopies:
    """The warnings of copies that differ while no step has used one: it may only add all up.

    So gradients are accumulated in one step, and summed in another.
    """

    def __init__(self) -> None:
        self._summed: set[str] = set()
        self._read: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}

    def use(self, variables: UnsynchronizedVariables) -> None:
        """Note what a step does with variables: warn of those that it reads."""
        self._summed |= variables.summed
        self._read |= variables.read
        for key in self._waiting.keys() & self._read:
            self._waiting.pop(key)()
        for key in self._waiting.keys() & self._summed:
            del self._waiting[key]

    def differ(self, key: str, show: Callable[[], None]) -> None:
        """Call `show` now, or where a step reads a copy, or at the end; not if steps sum them."""
        if not key or key in self._read:
            show()
        elif key not in self._summed:
            self._waiting.setdefault(key, show)

    def show(self) -> None:
        """Warn of the variables that no step has used: the host sees one copy of them."""
        while self._waiting:
            self._waiting.popitem()[1]()


@contextmanager
def kept_copies_shown() -> Iterator[None]:
    """Warn at the end of the context of the copies that differ, and that no step has used."""
    kept = current_part(KeptCopies)
    try:
        yield
    finally:
        kept.show()


def compare_copies(
    variables: UnsynchronizedVariables,
    images: Sequence[TensorMap],
    waits_for: Sequence[Operation],
) -> list[Operation]:
    """Return operations that compare the replicas' copies of `variables`, and warn if they differ.

    Copies in other processes are not compared: every step would have to fetch them.
    """
    if devices.hosts_are_remote():
        return []
    emulator = current()
    kept = emulator.part(KeptCopies) if emulator is not None else None
    if kept is not None:
        kept.use(variables)
    with tf.control_dependencies(waits_for):
        return [_compare_copies(written, images, kept) for written in variables.written]


def _compare_copies(
    written: UnsynchronizedVariable, images: Sequence[TensorMap], kept: KeptCopies | None
) -> Operation:
    handle, dtype = written.variable.handle, written.variable.dtype
    first, *others = (
        tf.raw_ops.ReadVariableOp(resource=here.tensors[handle], dtype=dtype) for here in images
    )
    differs = tf.stack([_have_different_values(first, other) for other in others])
    has_warned = False

    def report(values: Any) -> None:
        nonlocal has_warned
        if not has_warned:
            has_warned = True
            _warn_of_difference(written, values)

    def note(values: Any) -> None:
        if kept is None:
            report(values)
        else:
            kept.differ(written.key, lambda: report(values))

    return call_python_if(tf.reduce_any(differs), note, [differs])


# What is added to a weight and taken off again, as in sharpness-aware minimization, leaves about an
# eighth of a millionth of it. A type with fewer bits than float32 does not tell this from a drift.
_ROUNDING = 2.0**-16


def _have_different_values(first: Tensor, other: Tensor) -> Tensor:
    """Return whether two copies have different values; two that are not numbers are alike.

    A difference that rounding makes in some hundred steps is none.
    """
    differs = tf.not_equal(first, other)
    if first.dtype.is_floating:
        differs &= ~(tf.math.is_nan(first) & tf.math.is_nan(other))
    if first.dtype in (tf.float32, tf.float64):
        largest = tf.reduce_max(tf.maximum(tf.abs(first), tf.abs(other)))
        differs &= ~(tf.abs(first - other) <= _ROUNDING * largest)
    return tf.reduce_any(differs)


# Some releases of Keras 3 make these without `aggregation`, and no argument of the layer adds it.
_NORMALIZATION = re.compile(r"(^|/)(moving_(mean|variance|stddev)|renorm_(mean|stddev))(_\d+)?$")


def _warn_of_difference(written: UnsynchronizedVariable, differs: Any) -> None:
    name = written.variable.name
    core = 1 + list(differs).index(True)
    cure = (
        'Create it with `aggregation="mean"` (`tf.VariableAggregation.MEAN`), or reduce the value '
        "over the replicas first"
    )
    if _NORMALIZATION.search(name):
        cure = (
            "If Keras' `BatchNormalization` made it, pass `synchronized=True` to the layer; if you "
            'did, create it with `aggregation="mean"` (`tf.VariableAggregation.MEAN`)'
        )
    message = (
        f"The copies of '{name}' on cores 0 and {core} differ after a step. Each replica "
        "assigns a value that depends on its own data, and the variable has no `aggregation` that "
        f"combines the values. {cure}"
    )
    place = operation_location(written.write)
    errors.warn(errors.UnsynchronizedVariableWarning(message, place=place))
