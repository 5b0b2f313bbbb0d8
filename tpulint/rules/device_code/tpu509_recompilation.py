"""TPU509: each call of a compiled step compiles it anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpulint.absint.domain.context import FUNCTION, LOOP, TRY, Scope
from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.objects import ExternalObject, Function, Sequence, TracedCall
from tpulint.absint.domain.site import Site
from tpulint.diagnostics import traces
from tpulint.finding import HOST_LANE, Certainty, Severity
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.certainty import definite_if
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.rules.base import Report, Rule, register
from tpulint.syntax.nodes import (
    BinaryOperation,
    CallNode,
    Constant,
    Define,
    Display,
    Expression,
    For,
    Name,
    Node,
    UnaryOperation,
    walk,
)

# A program that compiles its step this often, for a list of settings, may well mean it.
FEW_ROUNDS = 8
# With one of these options a number becomes a tensor, or may.
KEEPS_ONE_TRACE = frozenset(["input_signature", "reduce_retracing", "experimental_relax_shapes"])


class Retraced(NamedTuple):
    """A call of a traced function in a loop, and what makes it another trace in each round.

    place: the argument, or the call. counter: what the loop counts; "" where the function is made
    in each round.
    """

    computation: Computation
    function: Function
    call: Site
    place: Site
    loop: Site
    counter: str


@register
class Recompilation(Rule):
    code = "TPU509"
    name = "recompilation"
    severity = Severity.WARNING
    summary = "a step that is compiled again in each round of a loop"

    def check(self, program: Program, report: Report) -> None:
        for retraced in {call.place: call for call in retraced_calls(program)}.values():
            name = retraced.function.name
            cause = (
                f"`{retraced.counter}` is a number of Python, which makes a new program for the TPU"
                " in each round of the loop: pass a tensor, such as `tf.constant(...)`"
                if retraced.counter
                else f"each round of the loop makes and compiles another `{name}`: move the"
                " function before the loop"
            )
            report(
                retraced.place.span,
                cause,
                certainty=definite_if(
                    retraced.computation.certainty is Certainty.DEFINITE,
                    not retraced.computation.context.is_guess,
                ),
                trace=(
                    traces.step(HOST_LANE, retraced.loop, "repeats the call"),
                    traces.step(HOST_LANE, retraced.call, f"traces and compiles `{name}`"),
                ),
            )


def retraced_calls(program: Program) -> Iterator[Retraced]:
    """Yield the calls that trace a step for the TPU in each round of a loop of the host."""
    for computation in program.computations:
        if computation.kind not in tf_names.STRATEGY_RUN or not may_be_tpus(computation):
            continue
        outer = next(
            (scope for scope in computation.context.scopes if scope.kind == FUNCTION), None
        )
        if outer is None or not isinstance(outer.payload, TracedCall):
            continue
        before = computation.context.scopes[: computation.context.scopes.index(outer)]
        loop = next((scope for scope in reversed(before) if scope.kind in (LOOP, TRY)), None)
        if loop is not None and loop.kind == LOOP and keeps_traces(program, outer.payload.function):
            yield from _of_loop(program, computation, loop, outer)


def _of_loop(
    program: Program, computation: Computation, loop: Scope, traced: Scope
) -> Iterator[Retraced]:
    assert isinstance(traced.payload, TracedCall)
    function, module = traced.payload.function, loop.site.module
    node = next((item for item in module.nodes() if _is_at(item, For, loop.site)), None)
    if not isinstance(node, For) or traced.site.module is not module:
        return
    inside = list(walk(*node.body))
    call = next((item for item in inside if _is_at(item, CallNode, traced.site)), None)
    if not isinstance(call, CallNode):
        return
    is_over_data, counters = _counters(program, loop, node)
    codes = [module.facts.functions[item.function] for item in inside if isinstance(item, Define)]
    if function.code in codes and is_over_data:
        yield Retraced(computation, function, traced.site, traced.site, loop.site, "")
    for argument in call.arguments:
        names = {item.id for item in walk(argument.value) if isinstance(item, Name)}
        if names and names <= counters and _is_arithmetic(argument.value):
            place = module.site(argument.place)
            counter = ", ".join(sorted(names))
            yield Retraced(computation, function, traced.site, place, loop.site, counter)


def keeps_traces(program: Program, function: Function) -> bool:
    """Return whether nothing that is seen makes a tensor of a number that `function` is given."""
    options = [
        argument.keyword
        for decorator in function.code.decorators
        for node in walk(decorator)
        if isinstance(node, CallNode)
        for argument in node.arguments
    ]
    for call in program.named.get("function", ()):
        options += [argument.keyword for argument in call.arguments]
    return KEEPS_ONE_TRACE.isdisjoint(option for option in options if option is not None)


def _counters(program: Program, loop: Scope, node: For) -> tuple[bool, frozenset[str]]:
    """Return whether a loop is over data, and the names of Python's numbers that it counts with."""
    iterated, target = loop.payload, node.target
    if _is_data(iterated):
        return True, frozenset()
    for call in program.by_result.get(id(iterated), ()):
        if call.path == "builtins.range" and not _has_few_rounds(iterated):
            return False, _named(target)
        if call.path != "builtins.enumerate" or not call.arguments:
            continue
        if isinstance(target, Display) and target.items and _is_data(call.arguments[0].value):
            return True, _named(target.items[0])
    return False, frozenset()


def _is_data(iterated: object) -> bool:
    return isinstance(iterated, ExternalObject) and iterated.element is not None


def _has_few_rounds(iterated: object) -> bool:
    if not isinstance(iterated, Sequence) or iterated.open:
        return False
    return len(iterated.items) <= FEW_ROUNDS


def _named(target: Expression) -> frozenset[str]:
    return frozenset([target.id] if isinstance(target, Name) else [])


def _is_at(node: Node, kind: type[For] | type[CallNode], site: Site) -> bool:
    return isinstance(node, kind) and node.place == site.place


def _is_arithmetic(node: Expression) -> bool:
    """Return whether an expression computes with names and constants, and calls nothing."""
    kinds = (Name, Constant, BinaryOperation, UnaryOperation)
    return all(isinstance(part, kinds) for part in walk(node))
