"""Functions as they are made out of graphs, the last moment to change their attributes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tpulint.runtime.tensorflow_internals.modules import polymorphic_function
from tpulint.runtime.tensorflow_internals.patching import patched

ON_OP_DEVICE = "_OutputsOnOpDevice"
_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"
_MUST_COMPILE = "_XlaMustCompile"


@contextlib.contextmanager
def function_definitions_observed(
    see: Callable[[str, Any, dict[str, Any]], None],
) -> Iterator[None]:
    """Call `see` with the name, the FuncGraph and the attributes of each function made.

    It may change the attributes.
    """
    if not hasattr(polymorphic_function, "atomic_function"):  # 2.12
        kind = polymorphic_function.monomorphic_function._EagerDefinedFunction
        initialize = kind.__init__

        def __init__(
            self: Any, name: Any, graph: Any, inputs: Any, outputs: Any, attrs: Any
        ) -> None:
            see(_text(name), graph, {} if attrs is None else attrs)
            initialize(self, name, graph, inputs, outputs, attrs)

        target = f"{_FUNCTIONS}.monomorphic_function._EagerDefinedFunction.__init__"
        place = patched(target, __init__)
    else:
        atomic_function = polymorphic_function.atomic_function
        make = atomic_function.from_func_graph

        def from_func_graph(name: Any, graph: Any, attrs: Any, *args: Any, **kwargs: Any) -> Any:
            see(_text(name), graph, {} if attrs is None else attrs)
            return make(name, graph, attrs, *args, **kwargs)

        place = patched(f"{_FUNCTIONS}.atomic_function.from_func_graph", from_func_graph)
    with place:
        yield


def forget_jit_compile(attrs: dict[str, Any]) -> None:
    """Let a function with these attributes run without being compiled as a whole."""
    attrs.pop(_MUST_COMPILE, None)


def functions_in(graph: Any) -> Iterable[str]:
    """Return the names of the functions that `graph` has, including those that these call."""
    return map(_text, graph._functions)


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
