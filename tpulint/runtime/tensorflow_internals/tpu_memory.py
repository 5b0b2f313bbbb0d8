"""The memory of an emulated TPU, which is cleared when its system is initialized again.

TensorFlow keeps the variables of this process for as long as somebody refers to them. So a use of
one that was on the TPU before is refused where an operation or a function takes its handle.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.cores import core_of
from tpulint.runtime.tensorflow_internals.modules import pywrap_tfe
from tpulint.runtime.tensorflow_internals.patching import patched

_VARIABLE = "_tpulint_variable"
"""The attribute of a handle that holds the memory of its variable, and the name."""


class TPUMemory:
    """The memory of an emulated TPU from one initialization of its system to the next."""

    def __init__(self) -> None:
        self.is_cleared = False
        self.cleared_at: str | None = None
        """The user's line that has initialized the system again."""

    def clear(self, place: str | None) -> None:
        """Lose what is in the memory."""
        self.is_cleared, self.cleared_at = True, place


@contextlib.contextmanager
def variables_in_memory(
    current_memory: Callable[[], TPUMemory], fault: Callable[[str, TPUMemory], Exception]
) -> Iterator[None]:
    """Raise `fault(name, memory)` where a variable is used that a cleared `memory` has lost.

    Those that are made on a core in the context are in `current_memory()`.
    """
    fast, pack = pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_PackEagerTensors

    def refuse_lost(values: Iterable[Any]) -> None:
        for value in values:
            handle = getattr(value, "_handle", value)  # of a variable, which C++ reads
            if isinstance(handle, (list, tuple)) and handle and tf.is_tensor(handle[0]):
                refuse_lost(handle)
            memory, name = getattr(handle, _VARIABLE, None) or (None, "")
            if memory is not None and memory.is_cleared:
                raise fault(name, memory)

    def fast_path_execute(ctx: Any, operation: str, name: Any, *arguments: Any) -> Any:
        if operation != "DestroyResourceOp":
            refuse_lost(arguments)
        results = fast(ctx, operation, name, *arguments)
        if operation == "VarHandleOp" and core_of(results):
            setattr(results, _VARIABLE, (current_memory(), str(name).rstrip("/")))
        return results

    def run(with_: Any, ctx: Any, device: Any, operation: Any, inputs: Any, *others: Any) -> Any:
        refuse_lost(inputs)
        return with_(ctx, device, operation, inputs, *others)

    def pack_eager_tensors(ctx: Any, tensors: Sequence[Any]) -> Any:
        packed = pack(ctx, tensors)
        setattr(packed, _VARIABLE, getattr(tensors[0], _VARIABLE, None))
        return packed

    replaced: dict[str, Callable[..., Any]] = {
        "TFE_Py_FastPathExecute": fast_path_execute,
        "TFE_Py_PackEagerTensors": pack_eager_tensors,
    }
    for name in ("TFE_Py_Execute", "TFE_Py_ExecuteCancelable"):
        replaced[name] = functools.partial(run, getattr(pywrap_tfe, name))
    with contextlib.ExitStack() as places:
        for name, function in replaced.items():
            places.enter_context(patched(f"tensorflow.python.pywrap_tfe.{name}", function))
        yield
