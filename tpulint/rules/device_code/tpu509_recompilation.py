"""TPU509: each call of a compiled step compiles it anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from tpulint.absint.domain.context import FUNCTION, LOOP, TRY, Scope
from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.objects import ExternalObject, Function, Mapping, TracedCall
from tpulint.absint.domain.objects import Sequence as SequenceValue
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.input_pipelines import before, data_of, last_batches
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import (
    Assign,
    Attribute,
    AugmentedAssign,
    BinaryOperation,
    CallArgument,
    CallNode,
    Constant,
    Define,
    DictDisplay,
    DictItem,
    Display,
    Expression,
    For,
    Name,
    NamedExpression,
    Node,
    Slice,
    Statement,
    Subscript,
    UnaryOperation,
    While,
    dotted_path,
    last_name,
    walk,
)

# A program that compiles its step this often, for a list of settings, may well mean it.
FEW_ROUNDS = 8
# These give one number in many rounds, or few numbers in turn.
FEW_VALUES = frozenset(["FloorDivide", "Modulo"])
NUMBERS = frozenset(["float", "max", "min"])  # functions that give Python's numbers
ROUNDS_OFF = frozenset(["ceil", "floor", "fmod", "gcd", "remainder", "trunc"])
# With one of these options a number becomes a tensor, or may.
KEEPS_ONE_TRACE = frozenset(["input_signature", "reduce_retracing", "experimental_relax_shapes"])
# Functions that give a tensor the shape that they are given first, and those that keep a shape.
OF_SHAPE = frozenset(["ones", "zeros", "fill", "full", "empty", "uniform", "normal"])
KEEP_SHAPE = frozenset(["constant", "convert_to_tensor", "array", "asarray"])


class Retraced(NamedTuple):
    """A call of a traced function in a loop, and what makes it another trace in each round.

    place: the argument, or the call. counter: the number that is another one in each round; "" if
    there is none. is_shape: it decides the shape of the argument.
    """

    computation: Computation
    function: Function
    call: Site
    place: Site
    loop: Site
    counter: str
    is_shape: bool = False


@register
class Recompilation(Rule):
    code = "TPU509"
    name = "recompilation"
    severity = Severity.WARNING
    summary = "a step that is compiled again in each round of a loop"

    def check(self, program: Program, report: Report) -> None:
        for feed in program.feeds:
            is_tpu = isinstance(feed.owner, Strategy) and feed.owner.kind == "tpu"
            if is_tpu and feed.kind in ("distribute", "fit"):
                _check_padding(program, feed, report)
        for retraced in {item.place: item for item in retraced_calls(program)}.values():
            name = retraced.function.name
            report(
                retraced.place.span,
                cause_of(retraced),
                certainty=definite_if(
                    retraced.computation.certainty is Certainty.DEFINITE,
                    not retraced.computation.context.is_guess,
                    "." not in retraced.counter,  # others may set the attribute of an object
                ),
                trace=(
                    traces.host_step(retraced.loop, "repeats the call"),
                    traces.host_step(retraced.call, f"traces and compiles `{name}`"),
                ),
            )


def _check_padding(program: Program, feed: Feed, report: Report) -> None:
    """Check that batches are padded to one shape, and not to the longest row of each."""
    batches = last_batches(data_of(program, feed))
    # A pipeline for several kinds of devices may have another way, with one shape, for a TPU.
    if all(batch is not None and is_padded_to_longest(batch) for batch in batches):
        for batch in filter(None, batches):
            report(
                batch.site.span,
                "`padded_batch` pads to the longest row of each batch, and each shape is another"
                " program for the TPU: write the largest size into `padded_shapes`, unless the"
                " lengths are few",
                certainty=Certainty.POSSIBLE,
                trace=(
                    traces.host_step(batch.site, "makes batches of several shapes"),
                    traces.host_step(feed.site, "feeds the TPU with them"),
                ),
            )


def is_padded_to_longest(batch: ExternalObject) -> bool:
    """Return whether rows are padded to the longest, also by leaving out `padded_shapes`."""
    if batch.last != "padded_batch":
        return False
    shapes = batch.argument("padded_shapes", 1)
    if shapes is not None and shapes != NONE:
        return is_open(shapes)
    # A step that makes rows, of which a dimension is seen to be open.
    rows = before(batch, tf_names.HAND_ON)
    if not isinstance(rows, ExternalObject):
        return False
    if rows.last == "from_generator":
        signature = rows.argument("output_signature", 3) or rows.argument("output_shapes", 2)
        return signature is not None and is_open(signature)
    components = () if rows.inner is None else with_alternatives(rows.inner)
    return any(tensor.shape is not None and None in tensor.shape for tensor, _ in components)


def is_open(shapes: Value) -> bool:
    """Return whether a dimension is written as None or -1."""
    if isinstance(shapes, (SequenceValue, Mapping)):
        items = shapes.items.values() if isinstance(shapes, Mapping) else shapes.items
        return any(map(is_open, items))
    if isinstance(shapes, ExternalObject):
        if shapes.last == "TensorSpec":
            return is_open(shapes.argument("shape", 0) or UNKNOWN)
        return shapes.last == "TensorShape" and any(is_open(it) for _, it in shapes.arguments)
    return shapes == NONE or shapes == Const(-1)


def cause_of(retraced: Retraced) -> str:
    if retraced.is_shape:
        return (
            f"`{retraced.counter}` gives this argument another shape, which makes a new program"
            " for the TPU in each round of the loop: pad it to one shape, and mask what is unused"
        )
    if retraced.counter:
        return (
            f"`{retraced.counter}` is a number of Python, which makes a new program for the TPU"
            " in each round of the loop: pass a tensor, such as `tf.constant(...)`"
        )
    return (
        f"each round of the loop makes and compiles another `{retraced.function.name}`: move the"
        " function before the loop"
    )


def retraced_calls(program: Program) -> Iterator[Retraced]:
    """Yield the calls that trace a step for the TPU in each round of a loop of the host."""
    for computation in program.computations:
        if computation.kind not in tf_names.STRATEGY_RUN or not may_be_tpus(computation):
            continue
        scopes = computation.context.scopes
        outer = next((scope for scope in scopes if scope.kind == FUNCTION), None)
        if outer is None or not isinstance(outer.payload, TracedCall):
            continue
        function = outer.payload.function
        if not keeps_traces(program, function):
            continue
        around = [scope for scope in scopes[: scopes.index(outer)] if scope.kind in (LOOP, TRY)]
        loops = list(takewhile(lambda scope: scope.kind == LOOP, reversed(around)))
        for loop in (*loops[1:], *loops[:1]):
            is_around = loop is not loops[0]  # another loop is around the call
            for place, counter, is_shape in causes(program, computation, loop, outer, is_around):
                yield Retraced(
                    computation, function, outer.site, place, loop.site, counter, is_shape
                )


def causes(
    program: Program, computation: Computation, loop: Scope, traced: Scope, is_around: bool
) -> Iterator[tuple[Site, str, bool]]:
    """Yield what makes another trace in each round: the place, the counter, whether by a shape."""
    assert isinstance(traced.payload, TracedCall)
    module, own_place = loop.site.module, loop.site.place
    node = module.node_at(own_place, For) or module.node_at(own_place, While)
    if node is None or traced.site.module is not module:
        return
    inside = list(walk(*node.body))
    calls = (item for item in inside if isinstance(item, CallNode))
    call = next((item for item in calls if item.place == traced.site.place), None)
    if call is None:
        return
    has_few_rounds = _has_few_rounds(loop.payload)
    is_over_data, counters = _counters(program, loop, node)
    if is_around and has_few_rounds:
        return
    if is_around:
        # A loop inside may count with the same name.
        own = {name for name in counters if not any(_is_set(item, name) for item in inside)}
        for argument in call.arguments:
            if counter := _counted(argument.value, frozenset(own)):
                yield module.site(argument.place), counter, False
        return
    is_anew = is_traced_anew(call, node.body)
    defined = [module.facts.functions[it.function] for it in inside if isinstance(it, Define)]
    is_made_inside = is_anew or traced.payload.function.code in defined
    makers = program.by_result.get(id(loop.payload), ())
    is_range = any(maker.path == "builtins.range" for maker in makers)
    if (is_over_data and is_made_inside) or (is_anew and is_range and not has_few_rounds):
        yield traced.site, "", False
    elif not has_few_rounds:
        counters |= kept_numbers(module, node) | counted_updates(program, computation, module, node)
        counters |= derived(node.body, counters)
        for argument in call.arguments:
            for counter, is_shape in changing(argument.value, node.body, counters):
                yield module.site(argument.place), counter, is_shape


def is_traced_anew(call: CallNode, body: Sequence[Statement]) -> bool:
    """Return whether `tf.function` is called in the loop that calls its result."""
    callee = call.callee
    if isinstance(callee, Name):
        assigned = _assigned(body, callee.id)
        callee = assigned[0] if len(assigned) == 1 else callee
    return isinstance(callee, CallNode) and last_name(callee.callee) in tf_names.TRACERS


def _assigned(body: Sequence[Node], name: str) -> list[Expression]:
    """Return what statements of a body, none inside another, assign to a name."""
    return [item.value for item in body if isinstance(item, Assign) and _is_set(item, name)]


def derived(body: Sequence[Statement], counters: frozenset[str]) -> frozenset[str]:
    """Return the names to which each round assigns what item computes of counters."""
    numbers: set[str] = set()
    for statement in body:
        if isinstance(statement, Assign) and _counted(statement.value, counters | numbers):
            numbers |= _set_once(statement, body)
    return frozenset(numbers)


def _set_once(statement: Assign, body: Sequence[Statement]) -> set[str]:
    """Return the names that a statement of a body sets, and no other statement in it."""
    names = {target.id for target in statement.targets if isinstance(target, Name)}
    return {name for name in names if _is_assigned_once(body, name)}


def changing(
    value: Expression, body: Sequence[Statement], counters: frozenset[str]
) -> Iterator[tuple[str, bool]]:
    """Yield the counter that makes an argument another one in each round; whether by its shape."""
    if counter := _counted(value, counters):
        yield counter, False
    elif counter := shaped_by(value, counters):
        yield counter, True
    elif isinstance(value, (Display, DictDisplay)):
        for item in value.items:
            yield from changing(item.value if isinstance(item, DictItem) else item, body, counters)
    elif isinstance(value, Name):
        for item in _put_into(value.id, body):
            if counter := _counted(item, counters):
                yield counter, False
        assigned = _assigned(body, value.id)
        if len(assigned) == 1 and _is_assigned_once(body, value.id):
            counter = shaped_by(assigned[0], counters)
            if counter := counter or (value.id if _grows(assigned[0], value.id) else ""):
                yield counter, True


def _put_into(name: str, body: Sequence[Statement]) -> Iterator[Expression]:
    """Yield what each round puts into a list or a dict, as in `batch["weight"] = step / 100`."""
    for item in body:
        if isinstance(item, Assign) and any(
            isinstance(target, Subscript) and dotted_path(target.base) == name
            for target in item.targets
        ):
            yield item.value


def _counted(value: Expression, counters: frozenset[str]) -> str:
    """Return the counters that an expression of nothing else and constants is computed of."""
    names = {path for item in walk(value) if (path := dotted_path(item))}
    names -= {name.rpartition(".")[0] for name in names}
    names -= {name for name in names if name in NUMBERS or name.startswith("math.")}
    return ", ".join(sorted(names)) if names and names <= counters and _is_arithmetic(value) else ""


def shaped_by(value: Expression, counters: frozenset[str]) -> str:
    """Return the counter that decides the shape of a slice or of a new tensor; else ""."""
    if isinstance(value, Subscript):
        index = value.index
        for part in index.items if isinstance(index, Display) else [index]:
            if isinstance(part, Slice):
                counted = [counter for it in part.bounds if (counter := _counted(it, counters))]
                constants = [bound for bound in part.bounds if isinstance(bound, Constant)]
                # A window between two such bounds may have one size.
                if len(counted) == 1 and len(constants) == len(part.bounds) - 1:
                    return counted[0]
    if not isinstance(value, CallNode) or not value.arguments:
        return ""
    first, name = value.arguments[0].value, last_name(value.callee)
    if name in KEEP_SHAPE:
        return shaped_by(first, counters)
    sizes = first.items if isinstance(first, Display) else [first]
    counted = [counter for item in sizes if (counter := _counted(item, counters))]
    return counted[0] if counted and name in OF_SHAPE else ""


def _grows(value: Expression, name: str) -> bool:
    """Return whether a tensor is made of the whole one of the last round and something else."""
    match value:
        case CallNode(callee=callee, arguments=[CallArgument(value=Display(items=items)), *_]):
            is_concat = last_name(callee) == "concat"
            return is_concat and any(isinstance(it, Name) and it.id == name for it in items)
    return False


def kept_numbers(module: Module, loop: For | While) -> frozenset[str]:
    """Return the names and attributes that begin as a number, and that each round changes."""
    changed = {path: item for item in loop.body if (path := _changed_number(item))}
    if not changed:
        return frozenset()
    functions = module.facts.functions_around(loop.place)
    own = next((item for item in functions if any(node is loop for node in walk(*item.body))), None)
    around = list(walk(*(own.body if own is not None else module.facts.body)))
    parameters = {item.name for item in own.parameters.named} if own is not None else set()
    numbers: set[str] = set()
    for path, change in changed.items():
        if path in parameters or not _is_assigned_once(loop.body, path):
            continue
        others = module.nodes() if "." in path else around
        set_to = _assigned([item for item in others if item is not change], path)
        if set_to and all(map(_is_number, set_to)):
            numbers.add(path)
    return frozenset(numbers)


def counted_updates(
    program: Program, computation: Computation, module: Module, loop: For | While
) -> frozenset[str]:
    """Return the names to which each round assigns how often the step has updated weights."""
    counts = {
        id(update.receiver.attributes.get("iterations"))
        for update in computation.calls
        if update.last in tf_names.OPTIMIZER_UPDATES
        and isinstance(update.receiver, ExternalObject)
        and not update.context.control()
    }
    read = {
        call.site
        for call in program.named.get("numpy", ())
        if call.receiver is not None and id(call.receiver) in counts
    }
    # tensorflow/core/function/trace_type/trace_type_builder.py: a number of NumPy is a tensor.
    numbers: set[str] = set()
    for item in loop.body:
        match item:
            case Assign(
                value=CallNode(
                    callee=Name(id="int" | "float"),
                    arguments=[CallArgument(value=CallNode() as number)],
                ),
            ) if module.site(number.place) in read:
                numbers |= _set_once(item, loop.body)
    return frozenset(numbers)


def _changed_number(statement: Statement) -> str:
    """Return what a statement changes by a number, as in `n += 1` and `rate = rate * 0.9`."""
    if isinstance(statement, AugmentedAssign):
        return dotted_path(statement.target) if _is_number(statement.value) else ""
    if not isinstance(statement, Assign) or not isinstance(statement.value, BinaryOperation):
        return ""
    path = dotted_path(statement.targets[0]) if len(statement.targets) == 1 else ""
    return path if path and _counted(statement.value, frozenset([path])) else ""


def _is_set(statement: Node, path: str) -> bool:
    """Return whether a statement binds a name, or the attribute of that name of any object."""
    match statement:
        case Assign(targets=targets):
            bound = targets
        case AugmentedAssign(target=target) | For(target=target):
            bound = [target]
        case NamedExpression(name=name):
            return name == path
        case _:
            return False
    _, is_attribute, last = path.rpartition(".")
    kind = Attribute if is_attribute else Name
    return any(isinstance(item, kind) and last_name(item) == last for item in walk(*bound))


def _is_assigned_once(body: Sequence[Statement], name: str) -> bool:
    return sum(_is_set(item, name) for item in walk(*body)) == 1


def _is_number(value: Expression) -> bool:
    value = value.operand if isinstance(value, UnaryOperation) else value
    return isinstance(value, Constant) and type(value.value) in (int, float)


def keeps_traces(program: Program, function: Function) -> bool:
    """Return whether nothing that is seen makes a tensor of a number that `function` is given."""
    inside = walk(*function.code.decorators)
    calls = [*program.named.get("function", ()), *(it for it in inside if isinstance(it, CallNode))]
    options = (argument.keyword for call in calls for argument in call.arguments)
    return KEEPS_ONE_TRACE.isdisjoint(filter(None, options))


def _counters(program: Program, loop: Scope, node: For | While) -> tuple[bool, frozenset[str]]:
    """Return whether a loop is over data, and the names of Python's numbers that it counts with."""
    iterated = loop.payload
    if not isinstance(node, For):
        return False, frozenset()
    if _is_data(iterated):
        return True, frozenset()
    target = node.target
    for call in program.by_result.get(id(iterated), ()):
        if call.path == "builtins.range" and not _has_few_rounds(iterated):
            return False, frozenset([target.id] if isinstance(target, Name) else [])
        if call.path != "builtins.enumerate" or not call.arguments:
            continue
        if isinstance(target, Display) and target.items and _is_data(call.arguments[0].value):
            return True, frozenset(it.id for it in target.items[:1] if isinstance(it, Name))
    return False, frozenset()


def _is_data(iterated: object) -> bool:
    return isinstance(iterated, ExternalObject) and iterated.element is not None


def _has_few_rounds(iterated: object) -> bool:
    if not isinstance(iterated, SequenceValue) or iterated.open:
        return False
    return len(iterated.items) <= FEW_ROUNDS


def _is_arithmetic(node: Expression) -> bool:
    """Return whether an expression computes a number of Python of names and constants."""
    kinds = (Name, Attribute, Constant, BinaryOperation, UnaryOperation, CallArgument)
    return all(
        (isinstance(part, kinds) and getattr(part, "op", "") not in FEW_VALUES)
        or (isinstance(part, CallNode) and _gives_numbers(part))
        for part in walk(node)
    )


def _gives_numbers(call: CallNode) -> bool:
    """Return whether a call gives Python numbers: different ones for different arguments."""
    function = dotted_path(call.callee)
    home, _, name = function.rpartition(".")
    if home == "math":
        return name not in ROUNDS_OFF
    is_bound = function in ("max", "min")  # of whole numbers, it may soon be one and the same
    shares = (getattr(part, "op", "") == "Divide" for part in walk(call))
    return function in NUMBERS and (not is_bound or any(shares))
