"""Functions that a step calls, traced once for all steps of the process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import tensorflow as tf

from tpulint.runtime.extract.region import Tensor
from tpulint.runtime.tensorflow_internals import functions

_of_all_steps: dict[Hashable, Callable[..., Tensor]] = {}


def function_of_all_steps(
    key: Hashable, traced: Callable[..., Tensor], dtypes: Sequence[tf.DType]
) -> Callable[..., Tensor]:
    """Return the function of that `key`, which `traced` builds once, for whatever graph calls it.

    It lives as long as the process: `traced` captures no tensor, and refers to no program.
    """
    if key not in _of_all_steps:
        with tf.Graph().as_default():
            _of_all_steps[key] = functions.wrapped(traced, dtypes)
    return _of_all_steps[key]
