"""What a computation has made and not returned, used outside it: nothing here can run it there.

TensorFlow's C++ says so when the step runs; its Python lets it pass, unless it is fetched itself.
"""

from __future__ import annotations

import re

import tensorflow as tf

from tpulint.runtime import tensorflow_internals
from tpulint.runtime.errors import RuntimeFault, UnfetchableError, joined
from tpulint.runtime.execute.raising import delivered

_MARKED = re.compile(r"No OpKernel was registered to support Op 'TPUReplicat")
_MESSAGE = (
    "Undeclared output of TPU computation. A common cause of this error is variable initializers "
    "that depend on the TPU computation. What it made is used outside it, and it did not return it"
)


def _undeclared(message: str) -> RuntimeFault | None:
    """The fault that `message`, of an InvalidArgumentError, tells of marked nodes, or None."""
    if not _MARKED.search(message):
        return None
    kind = joined(UnfetchableError, tf.errors.InvalidArgumentError)
    fault: RuntimeFault = kind(_MESSAGE)
    return delivered(fault)


def told() -> None:
    """From now on, make an `UnfetchableError` of it."""
    tensorflow_internals.errors_become("InvalidArgumentError", _undeclared)
