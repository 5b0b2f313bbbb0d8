"""Uses of TensorArrays and stacks that XLA refuses.

XLA would say so itself if all operations on the array were in one program, as on a TPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.runtime.errors import UnsupportedOpError
from tpulint.runtime.extract.array_handles import STACK, USERS, handles_taken_inside
from tpulint.runtime.extract.bodies import CASE, IF, bodies
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.source_location import place_of_operation


def refused(region: Region, op: Operation) -> UnsupportedOpError | None:
    """Return the fault of `op` if it uses an array or a stack as no XLA program can, or None."""
    if op.type == "TensorArrayV3" and op.get_attr("dynamic_size"):
        message = f"TensorArrays with dynamic size are not supported by XLA, operation {op.name}"
        return UnsupportedOpError(message, place=place_of_operation(op), rule="TPU503")
    if op.type in IF | CASE and STACK in handles_taken_inside(region, op).values():
        # if_op.cc. Such is the gradient of a conditional in a loop, or of a loop in one.
        user = next(_stack_users(region, op))
        message = f"Uninitialized arguments: Stack, operation {user.name} of type {user.type}"
        return UnsupportedOpError(message, place=place_of_operation(user))
    return None


def _stack_users(region: Region, op: Operation) -> Iterator[Operation]:
    for body in bodies(region, op):
        for inner in body.ops:
            if USERS.get(inner.type) == STACK:
                yield inner
            yield from _stack_users(body, inner)
