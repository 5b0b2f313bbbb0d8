"""The state of TensorFlow's runtime: eager or not, its kernels, errors and tapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import (
    eager_context,
    errors_impl,
    kernels,
)
from tpulint.runtime.tensorflow_internals.patching import patched

InaccessibleTensorError = errors_impl.InaccessibleTensorError


def is_context_initialized() -> bool:
    """Return whether TensorFlow has set up its devices, after which they cannot be configured."""
    return bool(eager_context.context()._initialized)


def eager_mode() -> Any:
    """Return a context in which operations run at once, whatever graph is being built."""
    return eager_context.eager_mode()


def registered_kernels() -> Iterable[Any]:
    """Return the KernelDefs of this process. XLA's are there once something has been compiled."""
    kernel_defs: Iterable[Any] = kernels.get_all_registered_kernels().kernel
    return kernel_defs


def errors_become(
    name: str, *finders: Callable[[str], Exception | None]
) -> AbstractContextManager[None]:
    """Return a context in which another error is raised in place of TensorFlow's error `name`.

    It is the first result, of the message, that is not None of `finders`, which must be of a
    subclass of that error.
    """
    kind = getattr(errors_impl, name)

    def __new__(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if cls is kind and len(args) > 2:
            for each in finders:
                found = each(str(args[2]))
                if found is not None:
                    return found
        return Exception.__new__(cls, *args)

    return patched(f"tensorflow.python.framework.errors_impl.{name}.__new__", __new__)
