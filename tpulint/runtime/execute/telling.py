"""Operations of the graph that tell Python that they have been reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.extract.region import Operation, Tensor


def told(tell: Callable[..., Any], given: Sequence[Tensor] = ()) -> Operation:
    """An operation that calls `tell` with the values of `given`."""

    def say(*values: Any) -> bool:
        tell(*values)
        return True

    return tf.numpy_function(say, list(given), tf.bool, stateful=True).op
