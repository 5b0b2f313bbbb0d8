"""The handles of TensorArrays and stacks of TensorFlow 1, which are resources but no variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpulint.runtime.extract.bodies import bodies, body_of_function
from tpulint.runtime.extract.effects import arguments
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.tensorflow_internals import graphs

ARRAY = "TensorArray"
STACK = "Stack"
_CREATORS = {
    "TensorArrayV3": ARRAY,
    "TensorArrayGradV3": ARRAY,
    "TensorArrayGradWithShape": ARRAY,
    "StackV2": STACK,
}
_VERBS = ("Close", "Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write")
USERS = {
    **{f"TensorArray{verb}V3": ARRAY for verb in _VERBS},
    "TensorArrayGradWithShape": ARRAY,
    **{f"Stack{verb}V2": STACK for verb in ("Close", "Pop", "Push")},
}


def array_handles(region: Region) -> dict[str, str]:
    """Return by name the tensors of `region` that are such handles, with the kind of each."""
    handles: dict[str, str] = {}
    for op in region.ops:
        if op.type in _CREATORS:
            handles[op.outputs[0].name] = _CREATORS[op.type]
        if op.type in USERS:
            handles[op.inputs[0].name] = USERS[op.type]
        handles |= handles_taken_inside(region, op)
    return handles


def handles_taken_inside(region: Region, op: Operation) -> dict[str, str]:
    """Return the same of the arguments of `op`, a conditional, loop or call; else none."""
    handles = {}
    for body in bodies(region, op):
        inside = _handles_of_function(body.graph)
        for name, tensor in zip(body.inputs, arguments(op), strict=True):
            if name in inside:
                handles[tensor.name] = inside[name]
    return handles


@graphs.once_a_graph
def _handles_of_function(graph: Any) -> Mapping[str, str]:
    return array_handles(body_of_function(graph))
