"""Functions that `tensorflow.python.framework.function.Defun` makes out of plain graphs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import old_function
from tpulint.runtime.tensorflow_internals.patching import patched

Graph = Any
Operation = Any

_made = threading.local()


class _Library:
    """TensorFlow's C functions, as `old_function` sees them, with some of them replaced."""

    def __init__(self, library: Any, **replaced: Any) -> None:
        self._library = library
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


@contextlib.contextmanager
def functions_leave_out(find: Callable[[Graph], Iterable[Operation]]) -> Iterator[None]:
    """Make such functions in the context of their graphs without the operations `find(graph)`.

    A function runs all of its operations that have an effect, also those that nothing needs.
    """
    build = old_function.func_graph_from_py_func
    make = old_function.c_api.TF_GraphToFunction_wrapper

    def func_graph_from_py_func(*args: Any, **kwargs: Any) -> Any:
        _made.graph = build(*args, **kwargs)
        return _made.graph

    def make_function(c_graph: Any, name: Any, append_hash: Any, ops: Any, *args: Any) -> Any:
        if ops is None:
            ops = _what_is_left(_made.graph, set(find(_made.graph)))
        return make(c_graph, name, append_hash, ops, *args)

    library = _Library(old_function.c_api, TF_GraphToFunction_wrapper=make_function)
    module = old_function.__name__
    with (
        patched(f"{module}.func_graph_from_py_func", func_graph_from_py_func),
        patched(f"{module}.c_api", library),
    ):
        yield


def _what_is_left(graph: Graph, left_out: set[Operation]) -> list[Any] | None:
    """Return the C operations of `graph` without `left_out`, or None for all."""
    if not left_out or any(tensor.op in left_out for tensor in graph.outputs):
        return None
    apart = left_out | {tensor.op for tensor in graph.inputs}
    return [op._c_op for op in graph.get_operations() if op not in apart]
