"""Python's side effects in device code: they happen once, while it is traced."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import Effect, Tensor
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import Const, Value
from tpulint.absint.interpreter import expressions
from tpulint.frontends.tensorflow.models.table import Call, observe
from tpulint.syntax.nodes import (
    Attribute,
    BinaryOperation,
    CallNode,
    Constant,
    Display,
    Expression,
    FormattedString,
    Name,
    Subscript,
)


# A symbolic tensor has no value: what is shown is its name, once.
@observe(
    "builtins.print",
    *(f"?.logging.{name}" for name in ("print", "info", "warning", "error", "debug", "warn")),
)
def _note_shown(call: Call) -> None:
    """Note that a tensor is put into words: by itself, or in a format."""
    if _is_recorded(call):
        shown = [
            maybe
            for argument in call.arguments
            if argument.node is not None
            for maybe in _shown_tensors(call, argument.node)
        ]
        if shown:
            _note(call, "shows", not all(shown))


# What a list keeps is a tensor of the graph, and no step puts another there.
@observe(*(f"builtins.list.{name}" for name in ("append", "insert", "appendleft", "add")))
def _note_kept(call: Call) -> None:
    if _is_recorded(call) and isinstance(call.receiver, Sequence):
        _keep(call, call.receiver)


# The file is written once, when the step is traced.
@observe("builtins.open", "?.gfile.GFile", "?.gfile.FastGFile", "?.gfile.Open", "?.gfile.open")
def _note_written(call: Call) -> None:
    if _is_recorded(call):
        _write(call)


def _is_recorded(call: Call) -> bool:
    return call.frame.context.on_device and not call.frame.context.is_unrecorded


def _note(call: Call, kind: str, is_definite: bool) -> None:
    computation = call.frame.context.computation
    assert computation is not None
    effect = Effect(kind, call.name, call.site, call.frame.context, call.site, is_definite)
    computation.effects.append(effect)


def _keep(call: Call, receiver: Sequence) -> None:
    """Put a tensor into a list that was made outside the computation."""
    built_in = receiver.made
    if built_in is None or built_in.computation is call.frame.context.computation:
        return
    kept = [maybe for value in call.values for maybe in _tensors(value)]
    if kept:
        _note(call, "keeps", not built_in.is_unrecorded and not all(kept))


def _write(call: Call) -> None:
    mode = call.get("mode", 1)
    text = mode.value if isinstance(mode, Const) else None
    if isinstance(text, str) and text.startswith(("w", "a", "x")):
        _note(call, "writes", True)


def _shown_tensors(call: Call, node: Expression) -> Iterator[bool]:
    """Yield the tensors that are put into the words: by themselves, or in a format."""
    for part in _formatted_expressions(node):
        if isinstance(part, (Name, Attribute, Subscript)):
            yield from _tensors(expressions.value(call.frame, part))


def _tensors(value: Value) -> Iterator[bool]:
    """Of each tensor in `value`, whether something else may be in its place."""
    return (maybe for tensor, maybe in with_alternatives(value) if _is_tensor(tensor))


def _formatted_expressions(node: Expression) -> Iterator[Expression]:
    """Yield the expressions that an f-string, `%` or `format` formats, or `node` itself."""
    inner: list[Expression] = []
    match node:
        case FormattedString(items=items) | Display(kind="tuple", items=items):
            inner = items
        case BinaryOperation(op="Modulo", right=right):
            inner = [right]
        case CallNode(callee=Attribute(base=Constant(value=str()), name="format")):
            inner = [argument.value for argument in node.arguments]
        case _:
            yield node
    for expression in inner:
        yield from _formatted_expressions(expression)


# An unseen function may as well return a number: then nothing is wrong.
def _is_tensor(tensor: Tensor) -> bool:
    """Return whether it is one for certain: the result of an unseen function may be a number."""
    return tensor.sort in ("tensor", "structure")
