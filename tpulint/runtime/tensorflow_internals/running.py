"""The state of TensorFlow's runtime: eager or not, its sessions, kernels, errors and tapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import (
    config_pb2,
    eager_context,
    errors_impl,
    kernels,
    session,
)

InaccessibleTensorError = errors_impl.InaccessibleTensorError


def is_context_initialized() -> bool:
    """Return whether TensorFlow has set up its devices, after which they cannot be configured."""
    return bool(eager_context.context()._initialized)


def eager_mode() -> Any:
    """Return a context in which operations run at once, whatever graph is being built."""
    return eager_context.eager_mode()


def sessions_place_only_what_they_run() -> None:
    """Make sessions created from now on leave operations that they do not run unplaced.

    A session places its whole graph, and would refuse one that holds marked nodes: some have no
    kernel.
    """
    original = session.BaseSession.__init__
    if hasattr(original, "of_tensorflow"):
        return

    def __init__(self: Any, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if config is None or isinstance(config, config_pb2.ConfigProto):
            own = config_pb2.ConfigProto()
            own.CopyFrom(config if config is not None else eager_context.context().config)
            own.graph_options.place_pruned_graph = True
            config = own
        original(self, target, graph, config)

    __init__.of_tensorflow = original  # type: ignore[attr-defined]
    session.BaseSession.__init__ = __init__


def registered_kernels() -> Iterable[Any]:
    """Return the KernelDefs of this process. XLA's are there once something has been compiled."""
    kernel_defs: Iterable[Any] = kernels.get_all_registered_kernels().kernel
    return kernel_defs


_finders: dict[str, list[Callable[[str], Exception | None]]] = {}


def errors_become(name: str, find: Callable[[str], Exception | None]) -> None:
    """Raise `find(message)`, unless it is None, where TensorFlow would raise its error `name`.

    The result of `find` must be of a subclass of that error.
    """
    kind = getattr(errors_impl, name)
    finders = _finders.setdefault(name, [])
    finders.append(find)

    def __new__(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if cls is kind and len(args) > 2:
            for each in finders:
                found = each(str(args[2]))
                if found is not None:
                    return found
        return Exception.__new__(cls, *args)

    kind.__new__ = __new__
