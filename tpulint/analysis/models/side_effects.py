"""Python's side effects in device code: they happen once, while it is traced."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import Effect, Tensor
from tpulint.analysis.domain.objects import Sequence, TraceTimeValue
from tpulint.analysis.domain.structures import distinguished
from tpulint.analysis.domain.values import Const, Value
from tpulint.analysis.interpreter import expressions, trace_time_value
from tpulint.analysis.models.call import Call
from tpulint.knowledge.trace_time import (
    CLOCKS,
    DRAWING_MODULES,
    DRAWS,
    KEEPS,
    NAMES,
    NUMBERS,
    OPENS,
    SHOWS,
    WRITE_MODES,
)
from tpulint.syntax.expression_nodes import (
    Attribute,
    BinaryOperation,
    CallNode,
    Constant,
    Display,
    FormattedString,
    Name,
    Subscript,
)
from tpulint.syntax.nodes import Expression


def answer(this: Call) -> Value | None:
    """Note the effect; answer only what reads a clock or draws a number."""
    if this.name not in NAMES or not this.frame.context.on_device:
        return None
    if this.path in CLOCKS or (this.name in DRAWS and this.path.startswith(DRAWING_MODULES)):
        return TraceTimeValue(this.path, this.site)
    if this.path in NUMBERS:
        return trace_time_value.among(this.values)
    if this.frame.context.muted:
        return None
    if isinstance(this.receiver, Sequence):
        if this.name in KEEPS:
            _keep(this, this.receiver)
    elif this.name in SHOWS and (this.path == "builtins.print" or "logging" in this.path):
        shown = [
            maybe
            for each in this.arguments
            if each.node is not None
            for maybe in _shown(this, each.node)
        ]
        if shown:
            _note(this, "shows", not all(shown))
    elif this.name in OPENS and (this.path == "builtins.open" or "gfile" in this.path):
        _write(this)
    return None


def _note(this: Call, kind: str, sure: bool) -> None:
    computation = this.frame.context.computation
    assert computation is not None
    found = Effect(kind, this.name, this.site, this.frame.context, this.site, sure)
    computation.effects.append(found)


def _keep(this: Call, receiver: Sequence) -> None:
    """Put a tensor into a list that was made outside the computation."""
    made = receiver.made
    if made is None or made.computation is this.frame.context.computation:
        return
    kept = [maybe for each in this.values for maybe in _tensors(each)]
    if kept:
        _note(this, "keeps", not made.muted and not all(kept))


def _write(this: Call) -> None:
    mode = this.get("mode", 1)
    text = mode.value if isinstance(mode, Const) else None
    if isinstance(text, str) and text.startswith(WRITE_MODES):
        _note(this, "writes", True)


def _shown(this: Call, node: Expression) -> Iterator[bool]:
    """Yield the tensors that are put into the words: by themselves, or in a format."""
    for part in _formatted(node):
        if isinstance(part, (Name, Attribute, Subscript)):
            yield from _tensors(expressions.value(this.frame, part))


def _tensors(value: Value) -> Iterator[bool]:
    """Of each tensor in `value`, whether something else may be in its place."""
    return (maybe for tensor, maybe in distinguished(value) if _is_tensor(tensor))


def _formatted(node: Expression) -> Iterator[Expression]:
    """Yield the expressions that an f-string, `%` or `format` formats, or `node` itself."""
    inner: list[Expression] = []
    match node:
        case FormattedString(items=items) | Display(kind="tuple", items=items):
            inner = items
        case BinaryOperation(op="Modulo", right=right):
            inner = [right]
        case CallNode(callee=Attribute(base=Constant(value=str()), name="format")):
            inner = [each.value for each in node.arguments]
        case _:
            yield node
    for each in inner:
        yield from _formatted(each)


def _is_tensor(tensor: Tensor) -> bool:
    """Return whether it is one for certain: the result of an unseen function may be a number."""
    return tensor.sort in ("tensor", "structure")
