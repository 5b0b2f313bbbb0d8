"""Functions wrapped as TensorFlow 1 code is, which leave nothing behind."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import eager_context

Tensor = Any


def wrapped(traced: Callable[..., Any], dtypes: Sequence[tf.DType]) -> Callable[..., Any]:
    """Return the function that `traced` builds of tensors of `dtypes`, of any shapes.

    `wrap_function` registers each function that `traced` calls with the eager context once more,
    and never takes it out: it would stay there, as would all that was compiled of it. Here it goes
    with the graph of the function.
    """
    built = tf.compat.v1.wrap_function(traced, [tf.TensorSpec(None, dtype) for dtype in dtypes])
    context, names = eager_context.context(), tuple(built.graph._functions)
    handle = id(context._context_handle)
    weakref.finalize(built.graph, _unregister, context, handle, names).atexit = False
    return built  # type: ignore[no-any-return]


def _unregister(context: Any, handle: int, names: Sequence[str]) -> None:
    """Take functions out of `context` once, unless it has been set up anew in between."""
    for name in names:
        if id(context._context_handle) == handle and context.has_function(name):
            context.remove_function(name)
