"""TPU714: a batch size of the wrong kind: global instead of per replica, or the reverse.

The facts: tensorflow/python/distribute/input_lib.py splits the batches of a dataset that is
distributed among the replicas. Those of a function, which each host calls, it hands on as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from tpulint.absint.domain.events import Computation, Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, Function, function_of
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, STRUCTURES, all_tensors, parts
from tpulint.absint.domain.values import Opaque, Scaled, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import AVERAGE_LOSS
from tpulint.frontends.tensorflow.shapes import element_of, shape_of
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries import input_pipelines as pipelines
from tpulint.queries.certainty import definite_if, on_tpu_if
from tpulint.queries.device_code import is_compiled
from tpulint.queries.entry_calls import constant_int
from tpulint.queries.strategies import is_for_many
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax import nodes

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
            strategy = feed.owner
            if not isinstance(strategy, Strategy) or strategy.kind != "tpu":
                continue
            if feed.function is None and is_distributed(program, feed):
                continue
            if feed.function is None:
                _check_single_examples(program, feed, strategy, report)
            for batch in pipelines.last_batches(pipelines.data_of(program, feed)):
                if batch is not None:
                    _check_batch(program, feed, strategy, batch, report)
            _check_hosts(program, feed, report)
            _check_size_of_fit(program, feed, report)
        for computation in program.computations:
            runner = computation.call.receiver
            if computation.kind in tf_names.STRATEGY_RUN and isinstance(runner, Strategy):
                is_for_all = is_for_many(program, runner, computation.context)
                _check_shapes(program, computation, report, is_for_all=is_for_all)
                if is_for_all:
                    _check_whole_batches(program, computation, report)


def _check_batch(
    program: Program, feed: Feed, strategy: Strategy, batch: ExternalObject, report: Report
) -> None:
    """Check the size that a pipeline makes batches of against who divides them."""
    size = batch.argument("batch_size", 0)
    certain = not feed.context.is_guess and not batch.context.is_guess
    mend = "divide its size by the replicas, as `get_per_replica_batch_size` does"
    is_counted = (constant_int(size) or 0) > 1
    whose = "hands each replica a batch of this function as it is, and"
    if feed.function is None:
        is_share = isinstance(size, Scaled) and size.power < 0
        is_part = feed.kind == "distribute" and is_share_of_global(program, feed, size)
        if not (is_share or is_part) or feed.kind not in ("distribute", "fit"):
            return
        what = "gets one replica's batch, and the strategy divides it among the replicas again"
        if is_part:
            what = "gets one replica's batch, but the loss counts one of that size for each replica"
        mend = "make batches of the global size"
        is_divided = is_for_many(program, strategy, feed.context) and feed.kind == "distribute"
        certain = certain and is_divided and not _has_options(program, feed)
    elif isinstance(size, Scaled) and size.power > 0:
        what = f"{whose} this one is global"
    elif is_counted and size in divisors(program.computations):
        what, certain = f"{whose} the loss calls it global", False
    elif is_counted and naming.GLOBAL_BATCH.is_in(name_of_size(batch.site)):
        what, certain = f"{whose} its name calls it global", False
    else:
        return
    report(
        batch.site.span,
        f"the batch size is of the wrong kind: `{feed_name(program, feed)}` {what}; {mend}",
        certainty=definite_if(certain),
        trace=(
            traces.host_step(batch.site, "makes the batches"),
            traces.host_step(feed.site, "takes them"),
        ),
        doubt="unless so small a batch is meant" if feed.function is None else "",
    )


# keras/src/backend/tensorflow/trainer.py: a dataset of arrays is made with this size, and divided.
def _check_size_of_fit(program: Program, feed: Feed, report: Report) -> None:
    """Report one replica's batch size in `fit`, which makes batches of arrays itself."""
    fits = [call for call in program.at.get(feed.site, ()) if call.last == feed.kind == "fit"]
    size = fits[0].argument("batch_size", 2) if fits else None
    if size is None or not isinstance(size.value, Scaled) or size.value.power >= 0:
        return
    report(
        size.site.span,
        f"the batch size is of the wrong kind: `{feed.kind}` makes batches of one replica's size,"
        " and the strategy divides them among the replicas; make batches of the global size",
        certainty=Certainty.POSSIBLE,
        trace=(traces.host_step(feed.site, "makes the batches, and divides them"),),
        doubt="unless so small a batch is meant",
    )


# tensorflow/python/data/experimental/ops/distribute.py, `compute_batch_size`: a scalar has no rows.
def _check_single_examples(
    program: Program, feed: Feed, strategy: Strategy, report: Report
) -> None:
    """Report a dataset of single examples where the strategy divides batches."""
    data = pipelines.data_of(program, feed)
    if not has_scalars(data):
        return
    report(
        feed.site.span,
        f"`{feed_name(program, feed)}` divides batches among the replicas, but this dataset has"
        " single examples, with a part that is one number or text: call `batch` before, with the"
        " size of the global batch",
        certainty=definite_if(
            is_for_many(program, strategy, feed.context),
            not feed.context.is_guess and not feed.context.hides_faults,
        ),
        trace=(
            *(
                traces.host_step(source.site, "makes the dataset")
                for source in pipelines.sources(data)
                if isinstance(source, ExternalObject) and source.site is not None
            ),
            traces.host_step(feed.site, "takes its examples as batches"),
        ),
    )


def has_scalars(data: Value) -> bool:
    """Return whether each element of a dataset certainly has a part of no dimension."""
    element = element_of(data, Tensor(None, None, "structure"))
    if element is not None and any(tensor.shape == () for tensor in all_tensors([element])):
        return True
    complete = pipelines.ways(data)
    return bool(complete) and all(
        way[-1].last in FILES and all(step.last in tf_names.HAND_ON for step in way[:-1])
        for way in complete
    )


# tensorflow/python/distribute/tpu_strategy.py, `tpu_run`: what is no PerReplica value is given to
# all replicas.
def _check_whole_batches(program: Program, computation: Computation, report: Report) -> None:
    """Report batches of a dataset that was not distributed, where `run` is given them."""
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
            traces.host_step(batch.site, "makes the batches"),
            traces.host_step(computation.site, "gives each replica all of one"),
        ),
        doubt="unless all replicas are meant to get the same",
    )


def distributed_at(program: Program) -> dict[Origin, list[tuple[Context | None, ExternalObject]]]:
    """Return where which batches are distributed, by what makes them.

    None: another strategy hands its dataset on as it is.
    """
    taken: list[tuple[Context | None, Value]] = []
    taken += [(feed.context, pipelines.data_of(program, feed)) for feed in program.feeds]
    for call in program.named_any(tf_names.DISTRIBUTES):
        is_own = isinstance(call.result, ExternalObject) and call.result.last == DISTRIBUTED
        taken += [(call.context if is_own else None, item.value) for item in call.arguments]
    places: dict[Origin, list[tuple[Context | None, ExternalObject]]] = {}
    for place, data in taken:
        for batch in filter(None, pipelines.last_batches(data)):
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
    if iterated is not None and all(step.last != DISTRIBUTED for step in pipelines.steps(iterated)):
        yield from filter(None, pipelines.last_batches(iterated))


def is_distributed(program: Program, feed: Feed) -> bool:
    """Return whether the data was distributed before: `fit` hands that on as it is."""
    data = pipelines.data_of(program, feed)
    return any(step.last == DISTRIBUTED for step in pipelines.steps(data))


def feed_name(program: Program, feed: Feed) -> str:
    """Return the name of the call that feeds the TPU."""
    return next((call.last for call in program.at.get(feed.site, ())), feed.kind)


def _has_options(program: Program, feed: Feed) -> bool:
    """Return whether options are given: they may say that a dataset is each replica's."""
    calls = program.at.get(feed.site, ())
    return any(call.argument("options", 1) is not None for call in calls)


def divisors(computations: Iterable[Computation]) -> list[Value | None]:
    """Return the sizes of the global batch by which the steps divide their losses."""
    calls = (call for computation in computations for call in computation.calls)
    return [call.value("global_batch_size", 2) for call in calls if call.last == AVERAGE_LOSS]


def is_share_of_global(program: Program, feed: Feed, size: Value | None) -> bool:
    """Return whether the loss of a step with this data divides by the size times the replicas."""
    number = constant_int(size)
    if number is None:
        return False
    fed = [
        step
        for step in program.computations
        if feed.site in pipelines.places_of_data(step.call.arguments)
    ]
    sizes = [divisor for divisor in divisors(fed) if divisor is not None]
    return bool(sizes) and all(divisor == Scaled(tf_names.REPLICAS, number) for divisor in sizes)


def _check_hosts(program: Program, feed: Feed, report: Report) -> None:
    """Check that an input function gives each host examples of its own."""
    function = None if feed.function is None else function_of(feed.function)
    if function is None or feed.kind != "distribute":
        return
    names = [name for name, _ in function.code.parameters.by_position]
    data = pipelines.data_of(program, feed)
    passed = {step.last for step in pipelines.steps(data)}
    starts = [source for source in pipelines.sources(data) if isinstance(source, ExternalObject)]
    if len(names) != 1 or tells_hosts_apart(function, names[0]) or not passed.isdisjoint(DIFFERS):
        return
    if not starts or not all(source.last in pipelines.READ_ONCE for source in starts):
        return
    report(
        feed.site.span,
        f"each host of the TPU calls `{function.code.name}`, which reads the same files in the same"
        " order, so the hosts train on equal batches: use `shard` with its context, or shuffle"
        " the files",
        certainty=Certainty.UNLIKELY,  # most TPUs have one host
        trace=(traces.host_step(starts[0].site, "reads the same on each host"),),
        doubt="if the TPU has several hosts",
    )


def tells_hosts_apart(function: Function, context: str) -> bool:
    """Return whether an input function may learn from its context which host calls it."""
    if not function.code.names_any(frozenset([context])):
        return False
    walked = list(nodes.walk(*function.code.body))
    uses = [node for node in walked if isinstance(node, nodes.Name) and node.id == context]
    attributes = [node for node in walked if isinstance(node, nodes.Attribute)]
    same = [
        node
        for node in attributes
        if node.name in SAME_ON_HOSTS and nodes.dotted_path(node.base) == context
    ]
    return len(uses) > len(same)


def _check_shapes(
    program: Program, computation: Computation, report: Report, *, is_for_all: bool
) -> None:
    """Report where a step gives its share of a batch the shape of the whole one, or makes such."""
    whole_batches = list(_whole_batches(program, computation))
    if len({size for _, _, size in whole_batches}) != 1:
        return
    feed, batch, size = whole_batches[0]
    shares = {id(tensor): tensor for tensor in all_tensors(computation.parameters) if tensor.split}
    name = name_of_size(batch.site) if is_for_all else ""
    for call in computation.calls if size > 1 else ():
        is_new = call.last in MAKES_ROWS
        if call.last not in pipelines.GIVES_SHAPE and not is_new:
            continue
        shape = call.argument("shape", 0 if is_new or call.receiver is not None else 1)
        sizes = None if shape is None else shape_of(shape.value)
        if shape is None or not sizes or sizes[0] != size or not is_compiled(call.context):
            continue
        if is_new:  # as many rows as the batch has, by the same name
            rows = size_given(call.site)
            first = rows.items[0] if isinstance(rows, nodes.Display) and rows.items else None
            if not name or first is None or nodes.last_name(first) != name:
                continue
            certainty = Certainty.POSSIBLE
        else:
            reshaped = call.receiver or (call.arguments[0].value if call.arguments else None)
            share = shares.get(id(reshaped))
            fits = None if share is None else fit(call.last, share.shape, sizes)
            if share is None or fits is False:
                continue
            is_plain = is_for_all and not _has_options(program, feed)
            certainty = on_tpu_if(computation, call.context, is_plain, fits is True)
        mend = "take the rows of `tf.shape(x)[0]`" if is_new else "write -1"
        does = "makes rows of its own" if is_new else "gives a share that shape"
        meant = "each replica is meant to make as many" if is_new else "the rows come out so"
        report(
            shape.site.span,
            f"this shape has the {size} rows of the global batch, but the step gets one replica's"
            f" share of it: divide by `strategy.num_replicas_in_sync`, or {mend}",
            certainty=certainty,
            trace=(
                traces.host_step(batch.site, "makes batches of all replicas"),
                *traces.path_to(computation, call, does),
            ),
            doubt=f"unless {meant}",
        )


def size_given(site: Site) -> nodes.Expression | None:
    """Return the expression of the size of batches, or of the shape, that a call is given."""
    call = site.module.node_at(site.place, nodes.CallNode)
    sizes = [item.value for item in call.arguments if item.keyword in SIZE_KEYWORDS] if call else []
    return sizes[0] if sizes else None


def name_of_size(site: Site) -> str:
    """Return the name that the size of batches has where a call is given it; "" without one."""
    return nodes.last_name(size_given(site) or nodes.Constant(None))


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
    places = pipelines.places_of_data(computation.call.arguments)
    for feed in program.feeds:
        if feed.function is not None or feed.site not in places or is_distributed(program, feed):
            continue
        for batch in pipelines.last_batches(pipelines.data_of(program, feed)):
            size = None if batch is None else constant_int(batch.argument("batch_size", 0))
            if batch is not None and size is not None:
                yield feed, batch, size
