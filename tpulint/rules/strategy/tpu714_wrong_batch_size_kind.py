"""TPU714: a batch size of the wrong kind: global instead of per replica, or the reverse.

The facts: tensorflow/python/distribute/input_lib.py splits the batches of a dataset that is
distributed among the replicas. Those of a function, which each host calls, it hands on as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from tpulint.absint.domain.events import ApiCall, Argument, Computation, Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, Function, function_of
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, STRUCTURES, all_tensors, parts
from tpulint.absint.domain.values import Const, Opaque, Scaled, Value
from tpulint.diagnostics import traces
from tpulint.finding import HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import AVERAGE_LOSS
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.shapes import element_of, shape_of
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries.certainty import definite_if, is_on_tpu
from tpulint.queries.device_code import is_compiled
from tpulint.queries.input_pipelines import READ_ONCE, data_of, last_batches, sources, steps, ways
from tpulint.queries.strategies import is_for_many
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import (
    Attribute,
    CallNode,
    Constant,
    Display,
    Expression,
    Name,
    last_name,
    walk,
)

# Functions that give a tensor a shape, whose argument that is.
SHAPES = {"reshape": "shape", "ensure_shape": "shape", "set_shape": "shape"}
# Functions that make rows of their own, and how the size of batches or the shape is passed.
MAKES_ROWS = frozenset(["normal", "uniform", "truncated_normal", "random_normal", "random_uniform"])
MAKES_ROWS |= {"ones", "zeros"}
SIZE_KEYWORDS = (None, "batch_size", "shape")
# What the context of an input function says to all hosts alike.
SAME_ON_HOSTS = frozenset(["get_per_replica_batch_size", "num_replicas_in_sync"])
DISTRIBUTED = "DistributedDataset"
# Datasets of texts, one at a time.
FILES = frozenset(["TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset", "list_files"])
# What makes the examples of the hosts differ.
DIFFERS = frozenset(["shard", "shuffle", "interleave", "list_files", "sample_from_datasets"])

Origin = tuple[Site | None, Site | None]


@register
class WrongBatchSizeKind(Rule):
    code = "TPU714"
    name = "wrong-batch-size-kind"
    severity = Severity.WARNING
    summary = "a batch size of the wrong kind: global instead of per replica, or the reverse"

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            if isinstance(feed.owner, Strategy) and feed.owner.kind == "tpu":
                if feed.function is None and is_distributed(program, feed):
                    continue
                _check_single_examples(program, feed, report)
                for batch in last_batches(data_of(program, feed)):
                    if batch is not None:
                        _check_batch(program, feed, batch, report)
                _check_hosts(program, feed, report)
                _check_size_of_fit(program, feed, report)
        for computation in program.computations:
            for fixed in (*fixed_shapes(program, computation), *made_rows(program, computation)):
                _report_shape(computation, fixed, report)
            _check_whole_batches(program, computation, report)


def _check_batch(program: Program, feed: Feed, batch: ExternalObject, report: Report) -> None:
    """Check the size that a pipeline makes batches of against who divides them."""
    assert isinstance(feed.owner, Strategy)
    size = batch.argument("batch_size", 0)
    certain = not feed.context.is_guess and not batch.context.is_guess
    if feed.function is None:
        is_share = isinstance(size, Scaled) and size.power < 0
        is_part = feed.kind == "distribute" and is_share_of_global(program, feed, size)
        if not (is_share or is_part) or feed.kind not in ("distribute", "fit"):
            return
        what = "gets one replica's batch, and the strategy divides it among the replicas again"
        if is_part:
            what = "gets one replica's batch, but the loss counts one of that size for each replica"
        mend = "make batches of the global size"
        is_divided = is_for_many(program, feed.owner, feed.context)
        certain = certain and is_divided and not _has_options(program, feed)
        certain = certain and feed.kind == "distribute"
    elif isinstance(size, Scaled) and size.power > 0:
        what = "hands each replica a batch of this function as it is, and this one is global"
        mend = "divide its size by the replicas, as `get_per_replica_batch_size` does"
    elif is_global(program, size) or is_called_global(batch, size):
        by = "the loss" if is_global(program, size) else "its name"
        what = f"hands each replica a batch of this function as it is, and {by} calls it global"
        mend = "divide its size by the replicas, as `get_per_replica_batch_size` does"
        certain = False
    else:
        return
    call = feed.site
    report(
        batch.site.span,
        f"the batch size is of the wrong kind: `{feed_name(program, feed)}` {what}; {mend}",
        certainty=definite_if(certain),
        trace=(
            traces.step(HOST_LANE, batch.site, "makes the batches"),
            traces.step(HOST_LANE, call, "takes them"),
        ),
        doubt="unless so small a batch is meant" if feed.function is None else "",
    )


# keras/src/backend/tensorflow/trainer.py: a dataset of arrays is made with this size, and divided.
def _check_size_of_fit(program: Program, feed: Feed, report: Report) -> None:
    """Report one replica's batch size in `fit`, which makes batches of arrays itself."""
    call = next((call for call in program.at.get(feed.site, ()) if call.last == feed.kind), None)
    size = None if call is None or feed.kind != "fit" else call.argument("batch_size", 2)
    if size is None or not isinstance(size.value, Scaled) or size.value.power >= 0:
        return
    report(
        size.site.span,
        f"the batch size is of the wrong kind: `{feed.kind}` makes batches of one replica's size,"
        " and the strategy divides them among the replicas; make batches of the global size",
        certainty=Certainty.POSSIBLE,
        trace=(traces.step(HOST_LANE, feed.site, "makes the batches, and divides them"),),
        doubt="unless so small a batch is meant",
    )


# tensorflow/python/data/experimental/ops/distribute.py, `compute_batch_size`: a scalar has no rows.
def _check_single_examples(program: Program, feed: Feed, report: Report) -> None:
    """Report a dataset of single examples where the strategy divides batches."""
    assert isinstance(feed.owner, Strategy)
    data = data_of(program, feed)
    if feed.function is not None or not has_scalars(data):
        return
    report(
        feed.site.span,
        f"`{feed_name(program, feed)}` divides batches among the replicas, but this dataset has"
        " single examples, with a part that is one number or text: call `batch` before, with the"
        " size of the global batch",
        certainty=definite_if(
            is_for_many(program, feed.owner, feed.context),
            not feed.context.is_guess and not feed.context.hides_faults,
        ),
        trace=(
            *(traces.step(HOST_LANE, it.site, "makes the dataset") for it in made_in_program(data)),
            traces.step(HOST_LANE, feed.site, "takes its examples as batches"),
        ),
    )


def has_scalars(data: Value) -> bool:
    """Return whether each element of a dataset certainly has a part of no dimension."""
    element = element_of(data, Tensor(None, None, "structure"))
    if element is not None and any(tensor.shape == () for tensor in all_tensors([element])):
        return True
    complete = ways(data)
    return bool(complete) and all(
        way[-1].last in FILES and all(step.last in tf_names.HAND_ON for step in way[:-1])
        for way in complete
    )


def made_in_program(data: Value) -> list[ExternalObject]:
    return [it for it in sources(data) if isinstance(it, ExternalObject) and it.site is not None]


# tensorflow/python/distribute/tpu_strategy.py, `tpu_run`: what is no PerReplica value is given to
# all replicas.
def _check_whole_batches(program: Program, computation: Computation, report: Report) -> None:
    """Report batches of a dataset that was not distributed, where `run` is given them."""
    strategy = computation.call.receiver
    if computation.kind not in tf_names.STRATEGY_RUN or not isinstance(strategy, Strategy):
        return
    if not is_for_many(program, strategy, computation.context):
        return
    passed = [argument.value for argument in computation.call.arguments]
    batch = next((batch for value in passed for batch in batches_of_elements(value)), None)
    if batch is None:
        return
    distributed = distributed_at(program).get(origin(batch), [])
    if any(
        place is None or not place.reached_whenever(computation.context) for place, _ in distributed
    ):
        return
    if any(call.site.module.facts.names_any(tf_names.REPLICA_ID) for call in computation.calls):
        return  # each replica may take rows of its own
    trains = any(call.last in tf_names.OPTIMIZER_UPDATES for call in computation.calls)
    report(
        computation.site.span,
        f"`{computation.kind}` gives each replica all of a batch, because its dataset was not"
        " distributed, so all replicas do the same work: pass the dataset to"
        " `strategy.experimental_distribute_dataset`, and loop over its result",
        certainty=definite_if(
            trains,
            not computation.context.is_guess,
            # Others that are made at this place may be the ones that were distributed.
            not distributed or any(other is batch for _, other in distributed),
        ),
        trace=(
            traces.step(HOST_LANE, batch.site, "makes the batches"),
            traces.step(HOST_LANE, computation.site, "gives each replica all of one"),
        ),
        doubt="unless all replicas are meant to get the same",
    )


def distributed_at(program: Program) -> dict[Origin, list[tuple[Context | None, ExternalObject]]]:
    """Return where which batches are distributed, by what makes them.

    None: another strategy hands its dataset on as it is.
    """
    taken: list[tuple[Context | None, Value]] = []
    taken += [(feed.context, data_of(program, feed)) for feed in program.feeds]
    for name in tf_names.DISTRIBUTES:
        for call in program.named.get(name, ()):
            is_own = isinstance(call.result, ExternalObject) and call.result.last == DISTRIBUTED
            place = call.context if is_own else None
            taken += [(place, item.value) for item in call.arguments]
    places: dict[Origin, list[tuple[Context | None, ExternalObject]]] = {}
    for place, data in taken:
        for batch in filter(None, last_batches(data)):
            places.setdefault(origin(batch), []).append((place, batch))
    return places


def origin(batch: ExternalObject) -> Origin:
    """Return where batches are made, and the call of the function that makes them there.

    One function often makes those for the training and those for the evaluation.
    """
    chain = batch.context.call_chain if batch.context is not None else ()
    return batch.site, chain[-1].site if chain else None


def batches_of_elements(value: Value, depth: int = 0) -> Iterator[ExternalObject]:
    """Yield what made the batch that a value is, or that it is a part of or holds."""
    if isinstance(value, STRUCTURES) and depth < MAX_STRUCTURE_DEPTH:
        for part in parts(value):
            yield from batches_of_elements(part, depth + 1)
    element = value if isinstance(value, Opaque) else None
    while element is not None and element.iterated is None:
        element = element.parent
    iterated = None if element is None else element.iterated
    if iterated is not None and all(step.last != DISTRIBUTED for step in steps(iterated)):
        yield from filter(None, last_batches(iterated))


def is_distributed(program: Program, feed: Feed) -> bool:
    """Return whether the data was distributed before: `fit` hands that on as it is."""
    return any(step.last == DISTRIBUTED for step in steps(data_of(program, feed)))


def feed_name(program: Program, feed: Feed) -> str:
    """Return the name of the call that feeds the TPU."""
    return next((call.last for call in program.at.get(feed.site, ())), feed.kind)


def _has_options(program: Program, feed: Feed) -> bool:
    """Return whether options are given: they may say that a dataset is each replica's."""
    calls = program.at.get(feed.site, ())
    return any(call.argument("options", 1) is not None for call in calls)


def is_global(program: Program, size: Value | None) -> bool:
    """Return whether a loss divides by the same number, as the size of the global batch."""
    if not isinstance(size, Const) or type(size.value) is not int or size.value < 2:
        return False
    return any(
        argument is not None and argument.value == size
        for computation in program.computations
        for call in computation.calls
        if call.last == AVERAGE_LOSS
        for argument in [call.argument("global_batch_size", 2)]
    )


def is_called_global(batch: ExternalObject, size: Value | None) -> bool:
    """Return whether a batch size that is seen has the name of a global one."""
    expression = size_given(batch.site)
    if not isinstance(size, Const) or type(size.value) is not int or size.value < 2:
        return False
    return expression is not None and naming.GLOBAL_BATCH.is_in(last_name(expression))


def is_share_of_global(program: Program, feed: Feed, size: Value | None) -> bool:
    """Return whether the loss of a step with this data divides by the size times the replicas."""
    if not isinstance(size, Const) or type(size.value) is not int:
        return False
    whole = Scaled(tf_names.REPLICAS, size.value)
    divisors = {
        argument.value
        for computation in program.computations
        if feed.site in places_of_data(computation)
        for call in computation.calls
        if call.last == AVERAGE_LOSS
        for argument in [call.argument("global_batch_size", 2)]
        if argument is not None
    }
    return divisors == {whole}


def places_of_data(computation: Computation) -> set[Site]:
    """Return the places that made the distributed data which a computation is given."""
    arguments = [argument.value for argument in computation.call.arguments]
    return {tensor.of_all.site for tensor in all_tensors(arguments) if tensor.of_all is not None}


def _check_hosts(program: Program, feed: Feed, report: Report) -> None:
    """Check that an input function gives each host examples of its own."""
    function = None if feed.function is None else function_of(feed.function)
    if function is None or feed.kind != "distribute":
        return
    names = [name for name, _ in function.code.parameters.by_position]
    data = data_of(program, feed)
    passed = {step.last for step in steps(data)}
    starts = [source for source in sources(data) if isinstance(source, ExternalObject)]
    if len(names) != 1 or tells_hosts_apart(function, names[0]) or not passed.isdisjoint(DIFFERS):
        return
    if not starts or not all(source.last in READ_ONCE for source in starts):
        return
    report(
        feed.site.span,
        f"each host of the TPU calls `{function.code.name}`, which reads the same files in the same"
        " order, so the hosts train on equal batches: use `shard` with its context, or shuffle"
        " the files",
        certainty=Certainty.UNLIKELY,  # most TPUs have one host
        trace=(traces.step(HOST_LANE, starts[0].site, "reads the same on each host"),),
        doubt="if the TPU has several hosts",
    )


def tells_hosts_apart(function: Function, context: str) -> bool:
    """Return whether an input function may learn from its context which host calls it."""
    if not function.code.names_any(frozenset([context])):
        return False
    nodes = list(walk(*function.code.body))
    uses = [node for node in nodes if isinstance(node, Name) and node.id == context]
    same = [
        node
        for node in nodes
        if isinstance(node, Attribute)
        and node.name in SAME_ON_HOSTS
        and isinstance(node.base, Name)
        and node.base.id == context
    ]
    return len(uses) > len(same)


class FixedShape(NamedTuple):
    """A shape that a step gives its share of a batch, and that has the global batch's size."""

    call: ApiCall
    shape: Argument
    size: int
    feed: Feed
    batch: ExternalObject
    certainty: Certainty


def fixed_shapes(program: Program, computation: Computation) -> Iterator[FixedShape]:
    """Yield where a step gives its share of a batch the shape of the whole one."""
    strategy = computation.call.receiver
    if computation.kind not in tf_names.STRATEGY_RUN or not isinstance(strategy, Strategy):
        return
    shares = {id(tensor): tensor for tensor in all_tensors(computation.parameters) if tensor.split}
    whole_batches = [batch for batch in _whole_batches(program, computation) if batch]
    if not shares or len({size for _, _, size in whole_batches}) != 1:
        return
    feed, batch, size = whole_batches[0]
    if size < 2:
        return
    is_for_all = is_for_many(program, strategy, computation.context)
    for call in computation.calls:
        shape = call.argument(SHAPES.get(call.last, ""), 1 if call.receiver is None else 0)
        reshaped = call.receiver or (call.arguments[0].value if call.arguments else None)
        if call.last not in SHAPES or shape is None or id(reshaped) not in shares:
            continue
        assert isinstance(reshaped, Tensor)
        sizes = shape_of(shape.value)
        if not sizes or sizes[0] != size or not is_compiled(call.context):
            continue
        fits = fit(call.last, reshaped.shape, sizes)
        if fits is False:
            continue
        certain = is_on_tpu(computation, call.context) and not _has_options(program, feed)
        certain = certain and not call.context.is_guess
        yield FixedShape(
            call, shape, size, feed, batch, definite_if(certain, is_for_all, fits is True)
        )


def made_rows(program: Program, computation: Computation) -> Iterator[FixedShape]:
    """Yield where a step makes as many rows as the whole batch has, by the same name."""
    strategy = computation.call.receiver
    if computation.kind not in tf_names.STRATEGY_RUN or not isinstance(strategy, Strategy):
        return
    whole_batches = list(_whole_batches(program, computation))
    if len({size for _, _, size in whole_batches}) != 1:
        return
    feed, batch, size = whole_batches[0]
    name = last_name(size_given(batch.site) or Constant(None))
    if size < 2 or not name or not is_for_many(program, strategy, computation.context):
        return
    for call in computation.calls:
        shape = call.argument("shape", 0)
        if call.last not in MAKES_ROWS or shape is None or not is_compiled(call.context):
            continue
        sizes, rows = shape_of(shape.value), size_given(call.site)
        first = rows.items[0] if isinstance(rows, Display) and rows.items else None
        if sizes and sizes[0] == size and first is not None and last_name(first) == name:
            yield FixedShape(call, shape, size, feed, batch, Certainty.POSSIBLE)


def size_given(site: Site) -> Expression | None:
    """Return the expression of the size of batches, or of the shape, that a call is given."""
    call = site.module.node_at(site.place, CallNode)
    sizes = [item.value for item in call.arguments if item.keyword in SIZE_KEYWORDS] if call else []
    return sizes[0] if sizes else None


def fit(
    name: str, shape: tuple[int | None, ...] | None, new_shape: tuple[int | None, ...]
) -> bool | None:
    """Return whether the rows have as many elements as are asked for; None where that is not seen.

    `reshape` may make more rows of what it gets, if these are smaller.
    """
    if name != "reshape":
        return True
    if shape is None or None in shape[1:] or None in new_shape or -1 in new_shape:
        return None
    return prod(size for size in shape[1:] if size) == prod(size for size in new_shape[1:] if size)


def _whole_batches(
    program: Program, computation: Computation
) -> Iterator[tuple[Feed, ExternalObject, int]]:
    """Yield the batches that the strategy divides among the replicas of a step, and their sizes."""
    places = places_of_data(computation)
    for feed in program.feeds:
        if feed.function is not None or feed.site not in places or is_distributed(program, feed):
            continue
        for batch in last_batches(data_of(program, feed)):
            size = None if batch is None else batch.argument("batch_size", 0)
            if batch is not None and isinstance(size, Const) and type(size.value) is int:
                yield feed, batch, size.value


def _report_shape(computation: Computation, fixed: FixedShape, report: Report) -> None:
    is_new = fixed.call.last in MAKES_ROWS
    mend = "take the rows of `tf.shape(x)[0]`" if is_new else "write -1"
    made = "makes rows of its own" if is_new else "gives a share that shape"
    report(
        fixed.shape.site.span,
        f"this shape has the {fixed.size} rows of the global batch, but the step gets one replica's"
        f" share of it: divide by `strategy.num_replicas_in_sync`, or {mend}",
        certainty=fixed.certainty,
        trace=(
            traces.step(HOST_LANE, fixed.batch.site, "makes batches of all replicas"),
            *traces.path_to_site(computation, fixed.call.context, fixed.call.site, made),
        ),
        doubt="unless each replica is meant to make as many"
        if is_new
        else "unless the rows come out so",
    )
