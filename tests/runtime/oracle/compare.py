"""The differences between TensorFlow's graph of a program and ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import tensorflow as tf

from tests.runtime.oracle.building import OURS, THEIRS, Built, build
from tests.runtime.oracle.programs import Program
from tpulint.runtime import driver
from tpulint.runtime.errors import GradientColocationError, RuntimeFault
from tpulint.runtime.mark.marked import REPLICATE, Marked, StepOutputs


def difference(program: Program) -> str | None:
    """Return the difference, or None, after marking alone: nothing is run."""
    theirs = build(program, THEIRS)
    with marking_only():
        ours = build(program, OURS)
    if theirs.error or ours.error:
        return _difference_from_any(theirs.error, ours.error)
    return _difference_of_graphs(theirs, ours)


@contextmanager
def marking_only() -> Iterator[None]:
    """Mark computations in the context as usual, without building the steps that run them.

    So there is no check for faults that TensorFlow finds only when a step runs.
    """
    with (
        mock.patch.object(driver, "run_marked", _not_run),
        mock.patch.object(driver, "check_marked"),
    ):
        yield


def _not_run(marked: Marked, options: Any = None) -> StepOutputs:
    """Return tensors that depend on the sources of the marked ones, with no step behind them."""
    replicas = []
    for replica in range(marked.num_replicas):
        outputs = []
        for tensor in marked.outputs:
            output = tf.numpy_function(_never, _given(marked, tensor, replica), tensor.dtype)
            output.set_shape(tensor.shape)
            outputs.append(output)
        replicas.append(tuple(outputs))
    return StepOutputs(tuple(replicas), tf.no_op())


def _never(*_: Any) -> Any:
    raise AssertionError("this computation is not run")


def _given(marked: Marked, output: Any, replica: int) -> list[Any]:
    """Return the user's tensors that `output` depends on."""
    users = {inner.name: outer for outer, inner in getattr(marked.graph, "captures", ())}
    actual: dict[str, Any] = {}
    ahead, seen = [output], {output.name}
    while ahead:
        tensor = ahead.pop()
        op = tensor.op
        if tensor.name in users:
            actual[tensor.name] = users[tensor.name]
        elif not marked.in_function and not _is_marked(op):
            actual[tensor.name] = tensor
        else:
            fan_in = op.type == "TPUReplicatedInput" and len(op.inputs) > replica
            inputs = [op.inputs[replica]] if fan_in else list(op.inputs)
            ahead += [item for item in inputs if item.name not in seen]
            seen |= {item.name for item in inputs}
    return list(actual.values())


def _is_marked(op: Any) -> bool:
    return op.type == "TPUReplicatedInput" or REPLICATE in op.node_def.attr


def _difference_from_any(theirs: Exception | None, ours: Exception | None) -> str | None:
    """Return the difference, or None if any error in TensorFlow's chain will do.

    State that TensorFlow leaks may raise again on the way out.
    """
    actual = _difference_of_errors(theirs, ours)
    while actual and theirs is not None and isinstance(theirs.__context__, Exception):
        theirs = theirs.__context__
        if _difference_of_errors(theirs, ours) is None:
            return None
    return actual


def _difference_of_errors(theirs: Exception | None, ours: Exception | None) -> str | None:
    if theirs is None or ours is None:
        return f"TensorFlow: {theirs!r}\nours: {ours!r}"
    if isinstance(ours, RuntimeFault):
        if not isinstance(ours, type(theirs)):
            return f"{type(theirs)} is none of {type(ours).__mro__}"
        if isinstance(ours, GradientColocationError):  # an assertion of TensorFlow, without words
            return f"TensorFlow: {theirs!r}\nours: {ours!r}" if str(theirs) else None
        text, tail = str(ours).rsplit("\n", 1)
        if not re.fullmatch(r"  at \S+\.py:\d+ \[TPU\d{3} [a-z-]+\]", tail):
            return f"no place and rule in {ours}"
    else:
        if type(ours) is not type(theirs):
            return f"TensorFlow: {theirs!r}\nours: {ours!r}"
        text = str(ours)
    if _plain(text) != _plain(str(theirs)):
        return f"TensorFlow: {theirs}\nours: {ours}"
    return None


def _plain(text: str) -> str:
    """Return `text` without numbers that a process counts up, and with one name for all results."""
    text = re.sub(r"(?:\w+/)*output_\d+_shard_\d+(?:_\d+)?:0|tpulint/\w+:\d+", "result", text)
    return re.sub(r"id=\d+|0x[0-9a-f]+|_\d+\b|line \d+", "", text)


def _difference_of_graphs(theirs: Built, ours: Built) -> str | None:
    assert theirs.graph is not None
    assert ours.graph is not None
    left, right = theirs.graph.nodes, ours.graph.nodes
    for name in left:
        if name not in right:
            return f"we lack {left[name]}"
        if left[name] != right[name]:
            return f"TensorFlow: {left[name]}\nours: {right[name]}"
    for name in right:
        if name not in left:
            return f"TensorFlow lacks {right[name]}"
    return None
