"""The steps of an input pipeline, up to where the TPU gets its elements.

The facts: tensorflow/python/data/ops/batch_op.py (without `drop_remainder` the first
dimension has no static size, even for an endless dataset), data/experimental/ops.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeGuard

from tpulint.absint.domain.context import DATA
from tpulint.absint.domain.events import ApiCall, Argument, Computation
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence, mro
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Module, Site, shared_length
from tpulint.absint.domain.structures import STRUCTURES, all_tensors, parts
from tpulint.absint.domain.values import NONE, UNKNOWN, Choice, Const, External, Value, join
from tpulint.frontends.tensorflow.keras_models import is_dataset
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.shapes import described, shape_of
from tpulint.ordering import reachable
from tpulint.queries.entry_calls import applied_by, constant_int, range_of
from tpulint.syntax.nodes import CallArgument, Constant

# The position of `drop_remainder` among the arguments, self left out.
BATCHES = {
    "batch": 1,
    "padded_batch": 3,
    "map_and_batch": 3,
    "map_and_batch_with_legacy_function": 3,
    "dense_to_ragged_batch": 1,
    "ragged_batch": 1,
}
DROPS = frozenset(["batch_and_drop_remainder", "padded_batch_and_drop_remainder"])
GIVES_SHAPE = frozenset(["reshape", "ensure_shape", "set_shape"])
# Methods that take batches apart, or make elements of another kind.
ENDS = frozenset(["unbatch", "rebatch", "window", "sparse_batch", "reduce"])
NESTS = frozenset(["flat_map", "interleave", "parallel_interleave", "group_by_window"])
# Transformations for `apply` that hand batches on as they are.
KEEPS = frozenset(
    ["shuffle_and_repeat", "ignore_errors", "prefetch_to_device", "assert_cardinality", "cache"]
)
# Methods that hand on as many elements as they get.
ONE_BY_ONE = frozenset(["map", "shuffle", "cache", "prefetch", "with_options"])
JOINS = frozenset(["zip", "sample_from_datasets", "choose_from_datasets", "concatenate"])
ITERATORS = frozenset(["make_one_shot_iterator", "make_initializable_iterator"])
STEPS = 200  # of one pipeline
MAX_WAYS = 16
SEQUENCES = frozenset(["Sequence", "PyDataset"])  # keras/src/utils, trainers/data_adapters


def data_of(program: Program, feed: Feed) -> Value:
    """Return the dataset that feeds the TPU: the one handed over, or the one it was taken from.

    An input function may do either, in branches of its own.
    """
    handed_over = [option for option in feed.data.options if is_dataset(option)]
    if len(handed_over) == len(feed.data.options):
        return feed.data
    taken = iterated_of(program, feed)
    # Of several iterators nobody sees which one feeds the TPU.
    if len(taken) != 1:
        return feed.data if handed_over else UNKNOWN
    return join([*handed_over, taken[0]])


def seen_data_of(program: Program, feed: Feed) -> Value:
    """Return the dataset that feeds the TPU, or what it is one of: several iterators are made."""
    data = data_of(program, feed)
    iterated = iterated_of(program, feed) if data is UNKNOWN else []
    return join(iterated) if iterated else data


def iterated_of(program: Program, feed: Feed) -> list[Value]:
    """Return the datasets of which the input function makes iterators."""
    makers = [call for call in calls_of(program, feed) if call.last in ITERATORS]
    sources = [it.receiver or (it.arguments[0].value if it.arguments else None) for it in makers]
    return [source for source in sources if source is not None]


def is_pythons(data: Value) -> bool:
    """Return whether this is a generator, or an object of a class made after Keras' Sequence."""
    if isinstance(data, Instance):
        return any(
            isinstance(base, External) and "keras" in base.path and base.last in SEQUENCES
            for base in mro(data.cls)
        )
    return isinstance(data, Sequence) and data.kind == "generator"


def calls_of(program: Program, feed: Feed) -> list[ApiCall]:
    """Return the calls made while the input function, or a function of its datasets, was read."""
    return program.piped_to.get(id(feed), [])


def before(step: ExternalObject, passed: Collection[str] = ()) -> Value | None:
    """Return the dataset before a step; steps of the kinds that are `passed` do not count."""
    source = step.source
    if source is None and step.last in ITERATORS and step.arguments:
        source = step.arguments[0][1]
    while isinstance(source, ExternalObject) and source.last in passed:
        source = before(source)
    return source


def calls_behind(program: Program, feed: Feed, batch: ExternalObject) -> list[ApiCall]:
    """Return what is called on the batches that a step makes, on its way to the TPU.

    A function of a pipeline belongs to the step that it is given to. One that was not read again
    for this way to the TPU does what it does on another one.
    """
    calls = calls_of(program, feed)
    positions = [number for number, call in enumerate(calls) if call.result is batch]
    start = positions[-1] if positions else 0
    later = {
        step.site
        for step in steps(seen_data_of(program, feed))
        if step is not batch and any(earlier is batch for earlier in steps(step))
    }
    behind, unread = [], set(later)
    for number, call in enumerate(calls):
        step = _step_around(call)
        unread.discard(step)
        if number >= start if step is None else step in later:
            behind.append(call)
    for other in program.feeds if unread else ():
        if other is not feed:
            behind += [it for it in calls_of(program, other) if _step_around(it) in unread]
    return behind


def _step_around(call: ApiCall) -> Site | None:
    """Return the step whose function makes the call; None where an input function makes it."""
    around = [scope for scope in call.context.scopes if scope.kind == DATA]
    return around[-1].site if around and around[-1].payload is None else None


def is_window(data: Value) -> bool:
    """Return whether this is what `group_by_window` gives to its function."""
    return isinstance(data, ExternalObject) and data.last == "window" and data.source is None


def sources(data: Value) -> list[Value]:
    """Return where the ways to `data` begin: several, where the program chooses one of them."""
    values = islice(reachable([data], _directly_before, id), STEPS)
    return [value for value in values if not _directly_before(value)]


def _directly_before(data: Value) -> tuple[Value, ...]:
    """Return the values of which one is `data`, or the one that its step takes its elements of."""
    if isinstance(data, Choice):
        return data.options
    source = before(data) if isinstance(data, ExternalObject) else None
    return () if source is None else (source,)


def steps(data: Value) -> Iterator[ExternalObject]:
    """Every dataset on the way to `data`, itself first, those that are joined included."""
    for value in islice(reachable([data], _parts, id), STEPS):
        if isinstance(value, ExternalObject):
            yield value


def _parts(value: Value) -> Iterable[Value]:
    """Return what a value is made of, or holds."""
    if isinstance(value, ExternalObject):
        inner = [argument for _, argument in value.arguments]
        return [part for part in (before(value), value.inner, *inner) if part is not None]
    return parts(value) if isinstance(value, STRUCTURES) else ()


def ways(data: Value) -> list[list[ExternalObject]]:
    """Return the ways to `data`, each with its last step first; what is nested is left out.

    Of datasets that are joined, each is on a way of its own.
    """
    complete: list[list[ExternalObject]] = []
    queue: list[tuple[Value, list[ExternalObject]]] = [(data, [])]
    while queue and len(complete) < MAX_WAYS:
        value, later = queue.pop()
        if isinstance(value, Choice):
            queue += [(option, later) for option in value.options]
        elif isinstance(value, ExternalObject) and len(later) < STEPS:
            way = [*later, value]
            source = before(value)
            joined = _elements_from(value) if value.last in JOINS else []
            datasets = joined if source is None else [source]
            if datasets:
                queue += [(dataset, way) for dataset in datasets]
            else:
                complete.append(way)
        elif later:
            complete.append(later)
    return complete


def last_batches(data: Value) -> list[ExternalObject | None]:
    """Return the step that made the batches, on each way to `data`; None where it is not seen.

    Each step is visited once, however many ways lead over it.
    """

    def further(value: Value) -> Collection[Value]:
        if isinstance(value, Choice):
            return value.options
        return [] if _is_batch(value) else _elements_from(value)

    ends = [value for value in reachable([data], further, id) if not further(value)]
    return [value if _is_batch(value) else None for value in ends]


def _is_batch(value: Value) -> TypeGuard[ExternalObject]:
    return isinstance(value, ExternalObject) and (value.last in BATCHES or value.last in DROPS)


def _elements_from(value: Value) -> list[Value]:
    """Return the datasets whose elements, batched as they are, a step hands on, if known."""
    if not isinstance(value, ExternalObject) or value.last in ENDS:
        return []
    if value.last == "apply":
        return _of_transformation(value)
    if value.last in NESTS:
        return [value.inner] if value.inner is not None else []
    if value.last in JOINS and value.source is None:
        items: list[Value] = []
        for _, argument in value.arguments:
            items += argument.items if isinstance(argument, Sequence) else [argument]
        return [item for item in items if any(map(is_dataset, item.options))]
    source = before(value)
    return [source] if source is not None else []


def _of_transformation(step: ExternalObject) -> list[Value]:
    """Model `apply(map_and_batch(...))`; some transformations leave the batch alone."""
    return [
        step.source
        if isinstance(option, ExternalObject) and option.last in KEEPS and step.source is not None
        else option
        for option in (step.arguments[0][1] if step.arguments else UNKNOWN).options
    ]


def keeps_remainder(batch: ExternalObject) -> bool | None:
    """Return whether the last batch may be smaller; None where something unseen decides."""
    if batch.last in DROPS:
        return False
    setting = batch.argument("drop_remainder", BATCHES[batch.last])
    # The default of all batching methods is False.
    if setting is None or setting in (NONE, Const(False)):
        return True
    return False if Const(True) in setting.options else None


def drops_remainders(module: Module) -> bool:
    """Return whether a call in `module` drops the remainder of its batches."""
    return module.facts.names_any(frozenset(["drop_remainder"])) and any(
        isinstance(node, CallArgument)
        and node.keyword == "drop_remainder"
        and node.value == Constant(True)
        for node in module.nodes()
    )


def comes_out_even(batch: ExternalObject) -> bool:
    """Return whether the rows, of which each is given here, fill every batch; one row always."""
    size = batch.argument("batch_size", 0)
    if size == Const(1):
        return True
    # Only transformations that keep the number of elements are passed.
    step = before(batch, ONE_BY_ONE)
    if not isinstance(step, ExternalObject) or step.last != "from_tensor_slices":
        return False
    rows, number = _rows([value for _, value in step.arguments]), constant_int(size)
    # Rows that divide evenly leave no remainder.
    return rows is not None and number is not None and number > 0 and rows % number == 0


def is_never_short(batch: ExternalObject) -> bool:
    """Return whether `repeat()` comes right before, so that each batch certainly is whole.

    It has to be in the same call of the same function: others may call that of the batch.
    """
    step = before(batch, ONE_BY_ONE)
    return (
        isinstance(step, ExternalObject)
        and step.last == "repeat"
        and step.argument("count", 0) in (None, NONE, Const(-1))
        and step.context.call_chain == batch.context.call_chain
    )


def is_endless(data: Value) -> bool:
    """Return whether every way to `data` repeats without end: then no batch is the last.

    A count that the program computes is as good as none: it makes the data last.
    """
    # A `repeat()` anywhere on the way is enough: no batch behind it is the last.
    values = reachable([data], lambda value: () if _repeats(value) else _directly_before(value), id)
    return all(_repeats(value) or _directly_before(value) for value in values)


def _repeats(value: Value) -> bool:
    """Return whether this is `repeat()`, or `shuffle_and_repeat(size)`, without a fixed count."""
    if not isinstance(value, ExternalObject):
        return False
    taken = value.arguments[0][1] if value.arguments else UNKNOWN
    if value.last == "repeat":
        count = value.argument("count", 0)
    elif isinstance(taken, ExternalObject) and taken.last == "shuffle_and_repeat":
        count = taken.argument("count", 1)
    else:
        return False
    return count in (None, NONE, Const(-1)) or not isinstance(count, Const)


def is_for_inference(program: Program, feed: Feed) -> bool:
    """Return whether batches are handed out in a function whose steps train nothing."""
    # `fit` and `evaluate` of Keras say themselves whether they train.
    nearest = _nearest_steps(program, feed) if feed.kind == "distribute" else []
    return bool(nearest) and not any(map(_trains, nearest))


def trains_on(program: Program, feed: Feed) -> bool:
    """Return whether the feed is `fit`'s or `train`'s, or handed out where each step trains."""
    if feed.kind != "distribute":
        return feed.kind in ("fit", "train")
    nearest = _nearest_steps(program, feed)
    return bool(nearest) and all(map(_trains, nearest))


def takes_mean(program: Program, feed: Feed) -> bool:
    """Return whether a step that trains on the batches takes a plain mean: NaN of no rows."""
    return any(
        _trains(step)
        and any(call.last == "reduce_mean" and call.context.on_device for call in step.calls)
        for step in _nearest_steps(program, feed)
    )


def places_of_data(arguments: Iterable[Argument]) -> set[Site]:
    """Return the places that distributed the data which these arguments hold."""
    tensors = all_tensors(argument.value for argument in arguments)
    return {tensor.of_all.site for tensor in tensors if tensor.of_all is not None}


def fixes_rows(program: Program, feed: Feed) -> bool:
    """Return whether a step gives its share of a batch a shape with a written number of rows."""
    for step in program.computations:
        # A step of a strategy is given what this feed distributes.
        is_fed = feed.site in places_of_data(step.call.arguments)
        if step.kind in tf_names.STRATEGY_RUN and is_fed:
            shares = {id(tensor) for tensor in all_tensors(step.parameters) if tensor.split}
            if any(_is_given_rows(call, shares) for call in step.calls):
                return True
    return False


def _is_given_rows(call: ApiCall, shares: set[int]) -> bool:
    """Return whether a call fixes the size of a whole share, on each run of the step."""
    own = call.receiver or (call.arguments[0].value if call.arguments else None)
    shape = call.argument("shape", 1 if call.receiver is None else 0)
    if call.last not in GIVES_SHAPE or shape is None or call.context.is_guess:
        return False
    sizes = shape_of(shape.value) or (None,)
    is_fixed = sizes[0] is not None and (call.last != "reshape" or not {None, -1} & {*sizes})
    return id(own) in shares and is_fixed and not call.context.conditions


def _nearest_steps(program: Program, feed: Feed) -> list[Computation]:
    """Return the steps that are run nearest to where batches are handed out.

    These are in the same function, or in those that it calls, or that call it.
    """
    runs = [
        computation
        for computation in program.computations
        if computation.kind in tf_names.STRATEGY_RUN and computation.context.run == feed.context.run
    ]
    chain = feed.context.call_chain
    shared = [shared_length(run.context.call_chain, chain) for run in runs]
    return [run for run, count in zip(runs, shared, strict=True) if count == max(shared)]


def _trains(step: Computation) -> bool:
    return bool(step.updates) or any(naming.TRAINS.is_in(call.last) for call in step.calls)


@dataclass(frozen=True)
class Amount:
    """The elements of a dataset that ends: at most `count`, where that is known.

    source: the dataset that ends. is_batched: batches are made of its elements. Without, an element
    is a batch already.
    """

    count: int | None
    source: ExternalObject
    is_batched: bool = False


# Datasets that end by themselves; a file may be of any length. Those that repeat by default, and
# generators, which may never end, are not among them.
READ_ONCE = tf_names.words("""
    TFRecordDataset TextLineDataset FixedLengthRecordDataset CsvDataset list_files
    image_dataset_from_directory text_dataset_from_directory
""")
# Methods that hand on some of the elements, or as many as they get.
NO_MORE = ONE_BY_ONE | {"enumerate", "filter", "shard", "skip", "assert_cardinality", "take_while"}


def amounts(data: Value) -> list[Amount | None]:
    """Return, for each way to `data`, how many examples come by; None where that may be no end.

    Batches count as the examples in them.
    """
    return [amount for option in data.options for amount in _amounts_of(option, STEPS)]


def _amounts_of(step: Value, depth: int) -> list[Amount | None]:
    if not isinstance(step, ExternalObject) or depth == 0:
        return [None]
    source = before(step)
    if source is None:
        is_zip = step.last == "zip"
        return [_amount_of_zip(step, depth) if is_zip else _amount_of_source(step)]
    earlier = [amount for option in source.options for amount in _amounts_of(option, depth - 1)]
    return [amount and _handed_on(step, amount) for amount in earlier]


def _amount_of_source(step: ExternalObject) -> Amount | None:
    arguments = [value for _, value in step.arguments]
    if step.last == "from_tensors":
        return Amount(1, step)
    if step.last == "from_tensor_slices":
        return Amount(_rows(arguments), step)
    if step.last == "range":
        numbers = range_of(map(constant_int, arguments))
        return Amount(None if numbers is None else len(numbers), step)
    return Amount(None, step) if step.last in READ_ONCE else None


def _amount_of_zip(step: ExternalObject, depth: int) -> Amount | None:
    """Return how many elements datasets have together: as many as the one that ends first."""
    ends: list[Amount] = []
    for _, zipped in step.arguments:
        for part in parts(zipped) if isinstance(zipped, (Mapping, Sequence)) else [zipped]:
            ways = _amounts_of(part, depth - 1)
            ends += [amount for amount in ways if amount is not None and len(ways) == 1]
    if not ends or any(amount.is_batched for amount in ends):
        return None
    counts = [amount.count for amount in ends if amount.count is not None]
    return Amount(min(counts, default=None), step)


def _rows(arguments: list[Value]) -> int | None:
    """Return how many rows the tensors have; None where that is not seen."""
    counts = {count for value in arguments for count in _row_counts(value)}
    return counts.pop() if len(counts) == 1 else None


def _row_counts(value: Value) -> set[int | None]:
    """Return the numbers of rows in a structure; tf.data makes one tensor of a list."""
    if isinstance(value, Mapping) or (isinstance(value, Sequence) and value.kind == "tuple"):
        return {None} if value.open else {n for part in parts(value) for n in _row_counts(part)}
    shape = None if isinstance(value, Choice) else described(value)[1]
    return {(shape or (None,))[0]}


def _handed_on(step: ExternalObject, amount: Amount) -> Amount | None:
    """Return how many examples are left behind a step; None where there may be any number."""
    if step.last in ("batch", "padded_batch"):
        return replace(amount, is_batched=True)
    if step.last in NO_MORE or step.last in ITERATORS or step.last == "get_next":
        return amount
    if step.last in ("repeat", "take"):
        number = constant_int(step.argument("count", 0))
        if number is None or number < 0:
            return amount if step.last == "take" and amount.count is not None else None
        if step.last == "take":
            return replace(amount, count=min(number, amount.count or number))
        return None if amount.count is None else replace(amount, count=amount.count * number)
    if step.last in NESTS:
        function = step.argument("map_func", 0)
        is_read_once = (isinstance(function, External) and function.last in READ_ONCE) or (
            step.inner is not None and None not in amounts(step.inner)
        )
        return replace(amount, count=None) if is_read_once else None
    transformation = applied_by(step)
    if not isinstance(transformation, ExternalObject) or transformation is step:
        return None
    if transformation.last in ("map_and_batch", "map_and_batch_with_legacy_function"):
        return replace(amount, is_batched=True)
    if transformation.last in ("prefetch_to_device", "ignore_errors", "cache"):
        return amount
    return replace(amount, count=None) if transformation.last == "parallel_interleave" else None


def most_elements(data: Value, depth: int = STEPS) -> float:
    """Return how many elements a dataset has at most: infinitely many where that is not seen."""
    if isinstance(data, Choice):
        return max(most_elements(option, depth - 1) for option in data.options)
    if not isinstance(data, ExternalObject) or depth <= 0:
        return math.inf
    source = before(data)
    if source is None:
        amount = _amount_of_source(data)
        return math.inf if amount is None or amount.count is None else amount.count
    if data.last not in NO_MORE | {"repeat", "take", "batch", "padded_batch"}:
        return math.inf  # some of the others make more elements
    earlier = most_elements(source, depth - 1)
    number = constant_int(data.argument("batch_size" if data.last in BATCHES else "count", 0))
    if data.last == "repeat":
        return math.inf if number is None or number < 0 else earlier * number
    if number is None or number < 0 or (data.last in BATCHES and number == 0):
        return earlier
    if data.last == "take":
        return min(earlier, number)
    if data.last == "skip":
        return max(earlier - number, 0)
    if data.last not in BATCHES or earlier == math.inf:
        return earlier
    return earlier // number if keeps_remainder(data) is False else -(-earlier // number)
