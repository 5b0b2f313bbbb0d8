"""Transfers, waits and accesses: the effects of an operation on what it takes, by context."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain import events, objects, structures
from tpulint.absint.domain.context import ConditionKey
from tpulint.absint.domain.events import Context, Operation, Tensor, Use, Variable
from tpulint.absint.domain.objects import Mapping, Sequence, TraceTimeValue
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import all_tensors, alternatives_of, uniform
from tpulint.absint.domain.values import Choice, Value, join
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.syntax.nodes import BoolOperation, Expression, first_place

HOLDERS_OF_TENSORS = (Tensor, Variable, *structures.STRUCTURES)  # a tensor or a variable


def touch(
    frame: Frame,
    items: Iterable[Value],
    site: Site,
    taker: str,
    certainty: Certainty = Certainty.DEFINITE,
    mode: str = "read",
    operands: tuple[Site, ...] = (),
) -> None:
    """Give `items` to an operation at `site`: tensors cross, variables are read.

    operands: the site of each item, where they are known.
    """
    for number, item in enumerate(items):
        if not isinstance(item, HOLDERS_OF_TENSORS):
            continue
        shown = operands[number] if operands else site
        if isinstance(item, Tensor):
            take(frame, item, site, taker, certainty, False, shown)
            continue
        for tensor, alternative in structures.with_alternatives(item, kinds=True):
            take(frame, tensor, site, taker, certainty, alternative, shown)
        for variable, alternative in alternatives_of(Variable, item):
            access(frame, variable, mode, taker, site, alternative, shown=shown)


def variables(value: Value) -> list[Variable]:
    """Return the variables in `value`, structures opened."""
    return [variable for variable, _ in alternatives_of(Variable, value)]


def access(
    frame: Frame,
    variable: Variable,
    mode: str,
    how: str,
    site: Site,
    alternative: bool = False,
    after: Operation | None = None,
    shown: Site | None = None,
) -> None:
    """Record that `variable` is touched here, or another one: an `alternative`.

    shown: the site of the variable itself, where the operation at `site` takes more.
    """
    context = frame.context
    if alternative:
        context = context.when(ConditionKey(scopes.ALTERNATIVE, site), variable)
    graph = frame.session.graph
    operation = graph.touch(context, site, mode, after) if mode in events.TOUCHES else None
    if frame.context.is_unrecorded:
        return
    holder = frame.context.computation or frame.session.program
    holder.accesses.append(events.Access(variable, mode, how, shown or site, context, operation))


def take(
    frame: Frame,
    tensor: Tensor,
    site: Site,
    taker: str,
    certainty: Certainty,
    alternative: bool = False,
    shown: Site | None = None,
) -> None:
    """Record what it means that `tensor` is used here: a transfer, a wait, an escape.

    shown: the site of the tensor itself, where the operation at `site` takes more.
    """
    context, home = frame.context, tensor.made
    frame.session.graph.take(_source(tensor), context, site)
    if context.is_unrecorded or home is None or home.run != context.run:
        return
    if tensor.unread is not None and _is_read(tensor) and taker not in frame.library.passing_calls:
        access(frame, tensor.unread, "read", taker, site, alternative, tensor.operation, shown)
    noted: list[list[Use]] = []
    cluster = context.cluster
    source = tensor.result_of
    if source is not None and source is not cluster:
        if cluster is not None:
            source.feeds.append(cluster)
            cluster.fed_by.append(source)
        elif context.computation is source.computation:
            noted.append(source.uses)
    elif cluster is not None and home.cluster is None and home.computation is context.computation:
        noted.append(cluster.receives)
    if escapes(home, context):
        owner = home.computation or context.computation or frame.session.program
        noted.append(owner.uses)
    if noted:
        use = Use(tensor, shown or site, context, certainty, taker, alternative)
        for uses in noted:
            uses.append(use)


def note_operands(frame: Frame, items: list[Value], sites: tuple[Site, ...], name: str) -> None:
    """Record that an operator, or other syntax, takes what holds a tensor of each replica."""
    context = frame.context
    if context.is_unrecorded:
        return
    for item, site in zip(items, sites, strict=False):
        held = [tensor for tensor in item.options if isinstance(tensor, Tensor) and tensor.of_all]
        if len(held) == len(item.options):
            use = Use(held[0], site, context, Certainty.DEFINITE, name)
            frame.session.program.operands.append(use)


def note_carried(frame: Frame, before: Iterable[Value], after: Iterable[Value | None]) -> None:
    """Record which tensors a traced loop on the device carries from round to round."""
    computation = frame.recorded
    if computation is None:
        return
    for old, new in zip(before, after, strict=False):
        if isinstance(old, Tensor) and isinstance(new, Tensor) and old is not new:
            computation.carried.append(events.Carried(old, new, frame.context))


def _source(tensor: Tensor) -> Operation | None:
    """Return the operation of which another one takes `tensor`."""
    return None if _is_read(tensor) else tensor.operation


def _is_read(tensor: Tensor) -> bool:
    """Return whether taking this reads a variable: it is what a write gives, with no value yet."""
    return tensor.unread is not None and tensor.operation is not None


def read_here(frame: Frame, tensor: Tensor, site: Site) -> Tensor:
    """Return `tensor`, or what is read of it where it is what a write gives."""
    if not _is_read(tensor):
        return tensor
    take(frame, tensor, tensor.site or site, "return", Certainty.DEFINITE)
    return passed_on(frame, tensor, tensor.site or site)


def escapes(home: Context, context: Context) -> bool:
    """Return whether a tensor made at `home` is out of reach at `context`: its scope has ended."""
    if home.scopes is context.scopes:
        return False
    open_scopes = {id(scope) for scope in context.scopes}
    enclosing = (scopes.COMPUTATION, scopes.CLUSTER, scopes.COND, scopes.WHILE, scopes.FUNCTION)
    return any(scope.kind in enclosing and id(scope) not in open_scopes for scope in home.scopes)


def result(frame: Frame, items: Iterable[Value], site: Site, sort: str = "tensor") -> Tensor:
    """Return the tensor that an operation on `items` makes here."""
    items = list(items)
    output = flow(frame, all_tensors(items), site, sort)
    # What a variable holds is no more known to a trace than what a batch holds.
    if not output.data and sort != "unseen":
        output.data = any(isinstance(item, Variable) and not item.assumed for item in items)
    return output


def flow(
    frame: Frame,
    taken: list[Tensor],
    site: Site,
    sort: str = "tensor",
    operation: Operation | None = None,
) -> Tensor:
    """Return a new tensor, made of `taken` by a new operation or by this one."""
    context = frame.context
    here = context.cluster
    output = Tensor(
        context, site, sort, events.joined_trail(here, [tensor.trail for tensor in taken])
    )
    output.computed = here is None and context.computation is not None
    for tensor in taken:
        output.per_replica |= tensor.per_replica
        output.replica_id |= tensor.replica_id
        output.split |= tensor.split
        output.computed |= tensor.computed
        output.data |= tensor.data and sort != "unseen"
    output.layer = _met(taken, context)
    output.operation = operation or frame.session.graph.result(
        [_source(tensor) for tensor in taken], context, site, sort == "unseen"
    )
    return output


def _met(taken: list[Tensor], context: Context) -> events.LayerCall | None:
    """Return what of a model that is being put together an operation on `taken` depends on."""
    if not taken or context.computation is not None:
        return None
    sources = tuple([tensor.layer for tensor in taken if tensor.layer is not None])
    if not sources:
        return None
    return sources[0] if len(sources) == 1 else events.LayerCall(None, (), None, context, sources)


def passed_on(frame: Frame, tensor: Tensor, site: Site) -> Tensor:
    """Return `tensor` as it is seen here: the same content, made here."""
    output = flow(frame, [tensor], site, tensor.sort)
    output.uniform = tensor.uniform
    return output


def each_tensor(value: Value, change: Callable[[Tensor], Value], depth: int = 0) -> Value:
    """Return `value` with every tensor in it changed; the structure stays."""
    if isinstance(value, Tensor):
        return change(value)
    if depth >= structures.MAX_STRUCTURE_DEPTH:
        return value
    if isinstance(value, Choice):
        return join(each_tensor(option, change, depth + 1) for option in value.options)
    if isinstance(value, Sequence):
        items = [each_tensor(item, change, depth + 1) for item in value.items]
        return Sequence(value.kind, items, value.open, value.site)
    if isinstance(value, Mapping):
        pairs = {key: each_tensor(item, change, depth + 1) for key, item in value.items.items()}
        return Mapping(pairs, value.open, value.site)
    return value


def leave_control(frame: Frame, value: Value, predicates: list[Value], site: Site) -> Value:
    """Return the outputs of traced control flow: made here, of what its bodies returned."""
    touch(frame, predicates, site, "predicate")
    chosen = all_tensors(predicates)
    agreed = uniform(predicates)

    def out(tensor: Tensor) -> Value:
        if tensor.result_of is not None:
            use = Use(tensor, site, frame.context, Certainty.DEFINITE, "control flow")
            tensor.result_of.uses.append(use)
        output = flow(frame, [tensor, *chosen], site, tensor.sort)
        output.uniform = tensor.uniform and agreed
        output.of_all, output.single = tensor.of_all, tensor.single
        return output

    return each_tensor(value, out)


ASKS, MAY_ASK, FAILS, FORMATS, INDEX = "asks", "may ask", "fails", "formats", "index"
# Whether a test of a tensor asks Python for its truth, by what converts control flow.
ASKS_WHERE = {scopes.CONVERTED: "", scopes.MAY_CONVERT: MAY_ASK, scopes.UNCONVERTED: ASKS}
SUBSCRIPT, ITERATION = "subscript", "iteration"  # takers of what holds a tensor of each replica


def note_tensor_test(
    frame: Frame, test: Value, node: Expression, asks: str, *, converts: bool = True
) -> None:
    """Record that `asks`, a word of Python's, needs the truth of the tensor `test`.

    converts: such a test becomes an operation, where control flow is converted at all.
    """
    if not isinstance(test, (Tensor, Choice)):
        return
    context = frame.context
    kind = ASKS_WHERE[context.conversion] if converts else ASKS
    alternatives = test.options
    tensors = [value for value in alternatives if is_data(value)]
    if not kind or not tensors:
        return
    site = frame.site(first_place(node))
    is_certain = len(alternatives) == 1
    if isinstance(node, BoolOperation):
        if tensors[0] is alternatives[0]:
            is_certain = True  # `and` asks it first
        else:
            earlier = BoolOperation(node.op, node.items[:-1])
            context = context.when(ConditionKey(scopes.PLACE, site, test=earlier), node.op == "and")
    with frame.at(context):
        note_effect(frame, kind, asks, site, is_certain=is_certain)


def note_effect(
    frame: Frame,
    kind: str,
    name: str,
    site: Site,
    source: Site | None = None,
    is_certain: bool = True,
) -> None:
    """Record an effect of Python that device code has while it is traced, if this is such code."""
    context, computation = frame.context, frame.recorded
    if computation is not None and context.on_device:
        computation.effects.append(
            events.Effect(kind, name, site, context, source or site, is_certain)
        )


def note_formatting(frame: Frame, formatted: Value, how: str, site: Site) -> None:
    """Record that Python formats what may be a tensor as if it were a number."""
    note_operands(frame, [formatted], (site,), FORMATS)
    are_data = [is_data(option) for option in formatted.options]
    if any(are_data):
        note_effect(frame, FORMATS, how, site, is_certain=all(are_data))


def note_iteration(frame: Frame, iterated: Value, site: Site, *, converts: bool = False) -> None:
    """Record that Python takes the items of one tensor, where that is not converted."""
    kind = ASKS_WHERE[frame.context.conversion] if converts else ASKS
    # Of a tuple and a tensor, the setting that chose one may choose who takes its items, too.
    if kind and all(map(_is_one_tensor, iterated.options)):
        note_effect(frame, kind, "for", site)


def _is_one_tensor(value: object) -> bool:
    """Return whether this is a tensor of the device, and certainly no list of tensors."""
    if not isinstance(value, Tensor) or value.sort != "tensor" or value.made is None:
        return False
    return value.made.on_device and (value.single or value.shape is not None)


def is_data(value: object) -> bool:
    """Return whether this is a tensor whose value is known at run time only.

    A part of the inputs may be a dict of tensors, which is asked whether it is empty. A scalar
    that a reduction makes is a tensor, whatever it is made of.
    """
    if not isinstance(value, Tensor) or value.sort != "tensor" or not value.computed:
        return False
    # tensorflow/python/framework/tensor.py: in TensorFlow 1, `==` on tensors is Python's.
    operator = "" if value.operation is None else value.operation.operator
    return value.data or (value.shape == () and operator not in ("Equal", "NotEqual"))


def first_trace_time_value(items: Iterable[Value]) -> TraceTimeValue | None:
    """Return the first of the values that is frozen."""
    return next((item for item in items if isinstance(item, TraceTimeValue)), None)


def note_unread(
    frame: Frame,
    name: str,
    reason: str,
    kind: str,
    values: Iterable[Value],
    site: Site,
    *,
    is_parameter: bool = False,
) -> None:
    """Note a call in device code that leads to code that is not read.

    It takes tensors, a variable, of which a learning rate may be computed, or a function, which may
    be called. Or the callee is a parameter, for which the project has functions.
    """
    context, arguments = frame.context, list(values)
    if not context.on_device or context.is_unrecorded:
        return
    matters = is_parameter or all_tensors(arguments)
    if matters or any(objects.function_of(value) or variables(value) for value in arguments):
        frame.session.note_unfollowed(site, name, reason, kind)
