"""Tensors of a computation used outside it without being returned, which nothing can run there.

TensorFlow's C++ says so when the step runs; its Python lets it pass, unless it is fetched itself.
"""

from __future__ import annotations

import re

import tensorflow as tf

from tpulint.runtime.errors import RuntimeFault, UnfetchableError, joined
from tpulint.runtime.execute.raising import delivered
from tpulint.runtime.pods import sessions

_MARKED = re.compile(r"No OpKernel was registered to support Op 'TPUReplicat")
_MESSAGE = (
    "Undeclared output of TPU computation. A common cause of this error is variable initializers "
    "that depend on the TPU computation. What it made is used outside it, and it did not return it"
)


def undeclared_output(message: str) -> RuntimeFault | None:
    """Return the fault of marked nodes that an InvalidArgumentError reports, or None."""
    if not _MARKED.search(message):
        return None
    sessions.keep_sessions()
    kind = joined(UnfetchableError, tf.errors.InvalidArgumentError)
    fault: RuntimeFault = kind(_MESSAGE)
    return delivered(fault)
