"""The operations of a loop of TensorFlow 1, sorted by the part that they play in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tpulint.runtime.extract.flat import PLUMBING, is_variable, splits
from tpulint.runtime.extract.region import Operation, Tensor, needed
from tpulint.runtime.tensorflow_internals import graphs


@dataclass(frozen=True, eq=False)
class Loop:
    """The operations of a loop, apart: loop variables in order, the test, the body."""

    context: Any
    constants: list[Operation]
    merges: list[Operation]
    switches: list[Operation]
    entering: list[Tensor]
    """The results of the Enter operations for the loop variables."""
    next_values: list[Tensor]
    awaited: list[Operation]
    """The operations that an iteration waits for without using their results."""
    name: str
    """The name that TensorFlow gives its rebuilt loop (functionalize_while.cc)."""
    predicate: Tensor
    test: list[Operation]
    body: list[Operation]

    @staticmethod
    def of(ops: Sequence[Operation], context: Any) -> Loop:
        """Return the parts of the loop `context`, whose operations are all in `ops`."""
        own = [op for op in ops if graphs.context_of(op) is context]
        merges = [op for op in own if is_variable(op)]
        (loop_cond,) = [op for op in own if op.type == "LoopCond"]
        switches = [
            next(user for user in merge.outputs[0].consumers() if splits(user)) for merge in merges
        ]
        turns = [merge.inputs[1].op for merge in merges]
        plumbing = {op.name for op in own if op.type in PLUMBING - {"Switch", "Merge"}}
        plumbing |= {op.name for op in (*merges, *switches)}
        inside = {op.name for op in ops} - plumbing
        test = needed([loop_cond.inputs[0].op], lambda op: op.name in inside)
        return Loop(
            context=context,
            constants=[op for op in own if op.type == "Enter" and op.get_attr("is_constant")],
            merges=merges,
            switches=switches,
            entering=[merge.inputs[0] for merge in merges],
            next_values=[turn.inputs[0] for turn in turns],
            awaited=[op for turn in turns for op in turn.control_inputs if op.name in inside],
            name=loop_cond.name,
            predicate=loop_cond.inputs[0],
            test=[op for op in ops if op.name in test],
            body=[op for op in ops if op.name not in test and op.name not in plumbing],
        )

    @property
    def exits(self) -> list[Operation | None]:
        """Return for each variable the operation that takes its last value out, if any does."""
        users = [switch.outputs[0].consumers() for switch in self.switches]
        return [found[0] if found else None for found in users]
