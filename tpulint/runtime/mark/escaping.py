"""The rule that applies to a tensor used where it cannot be: that of the scope it left first.

A tensor that has left a branch, a loop or a function inside a host cluster, and with it the
cluster, falls to the cluster's rule (TPU207). One that has left a branch or a loop of the device
falls to theirs (TPU303), whatever is inside of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tpulint.runtime.errors import EscapedTensorError, as_fault
from tpulint.runtime.mark import attributes
from tpulint.runtime.source_location import is_of_gradient, place_of_operation
from tpulint.runtime.tensorflow_internals import functions, graphs, tracebacks

GUARDS = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})
"""The operations by which TensorFlow 1 passes tensors into and out of branches and loops."""
_FLAT = re.compile(r"Cannot use '([^']+)' as input to '([^']+)'")


@contextmanager
def escapes_reported() -> Iterator[None]:
    """Make an `EscapedTensorError` of TensorFlow's own errors.

    Raises:
        EscapedTensorError: a tensor was used outside the function, branch or loop that made it.
    """
    try:
        yield
    except ValueError as error:
        if not _is_escape(error):
            raise
        rule = _rule_of(error, graphs.default_graph())
        if rule is None:
            raise
        raise as_fault(EscapedTensorError, error, rule=rule) from error


def check_flat(operations: Iterable[Any], outputs: Iterable[Any]) -> None:
    """Check for an error that TensorFlow 1 lets pass: a branch's tensor that is used outside it.

    Raises:
        EscapedTensorError: one of `operations` takes such a tensor, or it is among `outputs`.
    """
    for op in operations:
        if op.type in GUARDS or is_of_gradient(op):
            continue
        for tensor in op.inputs:
            _check_is_inside(tensor, set(graphs.contexts_outwards(graphs.context_of(op))), op)
    for tensor in outputs:
        _check_is_inside(tensor, set(), tensor.op)


def _check_is_inside(tensor: Any, around: set[Any], user: Any) -> None:
    left = [
        context
        for context in graphs.contexts_outwards(graphs.context_of(tensor.op))
        if context not in around and graphs.is_cond_or_while(context)
    ]
    if left and tensor.op.type not in GUARDS:
        kind = "a loop" if graphs.is_while(left[-1]) else "a conditional"
        raise EscapedTensorError(
            f"{tensor!r} is out of scope and cannot be used here: it was made in {kind}, and "
            f"{user.name} is outside it",
            place=place_of_operation(user),
            rule=_rule_of_context(left[-1]),
        )


def _is_escape(error: ValueError) -> bool:
    if isinstance(error, tracebacks.InaccessibleTensorError):
        return True
    text = str(error)
    return bool(_FLAT.match(text)) or "must be from the same graph as" in text


def _rule_of(error: ValueError, graph: Any) -> str | None:
    """Return the rule of `error`, which came out of the computation that is built in `graph`."""
    flat = _FLAT.match(str(error))
    if flat:
        return _rule_in_flat_graph(graph, *flat.groups())
    for frame in _frames(error):
        users = [frame.f_locals.get(name) for name in ("self", "graph")]
        inside = (each for each in users if _is_inside(each, graph))
        used_in = next(inside, graph)
        for tensor in _tensors_in(frame):
            if not _is_around(tensor.graph, used_in):
                return rule_of_tensor(tensor, used_in)
    return "TPU303"


def rule_of_tensor(tensor: Any, used_in: Any) -> str | None:
    """Return the rule for `tensor`, of another graph, where it is used in the graph `used_in`.

    None for one that has left no branch, loop or function, but is of another program.
    """
    inner = tensor.graph
    if not isinstance(inner, graphs.FuncGraph):
        return None
    for outer in graphs.graphs_outwards(getattr(inner, "outer_graph", None)):
        if _is_around(outer, used_in):
            held_by = [
                op for op in outer.get_operations() if inner in functions.function_graphs(op)
            ]
            return "TPU207" if any(map(is_host, held_by)) else "TPU303"
        inner = outer
    return "TPU303"


def is_host(op: Any) -> bool:
    """Return whether `op` is marked as one of a host cluster."""
    return attributes.OUTSIDE in op.node_def.attr


def _rule_in_flat_graph(graph: Any, made: str, used: str) -> str:
    around = set(graphs.contexts_outwards(graphs.context_of(graph)))
    operations = {op.name: op for op in graph.get_operations()}
    if used in operations:
        around |= set(graphs.contexts_outwards(graphs.context_of(operations[used])))
    left = [
        context
        for context in graphs.contexts_outwards(graphs.context_of(operations[made]))
        if context not in around and graphs.is_cond_or_while(context)
    ]
    return _rule_of_context(left[-1]) if left else "TPU303"


def _rule_of_context(context: Any) -> str:
    return "TPU207" if is_host(context.GetControlPivot().op) else "TPU303"


def _is_inside(value: Any, graph: Any) -> bool:
    return isinstance(value, graphs.FuncGraph) and _is_around(graph, value)


def _is_around(graph: Any, inner: Any) -> bool:
    return any(graph is each for each in graphs.graphs_outwards(inner))


def _frames(error: BaseException) -> Iterator[FrameType]:
    """Return the frames that `error` has passed, innermost first."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return reversed(frames)


def _tensors_in(frame: FrameType) -> Iterator[Any]:
    for value in list(frame.f_locals.values()):
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if graphs.is_symbolic_tensor(each):
                yield each
