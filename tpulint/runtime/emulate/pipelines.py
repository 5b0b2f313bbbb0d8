"""The refusal of Python in a pipeline that runs on a host of a pod, which is another machine."""

from __future__ import annotations

from typing import Any

from tpulint.runtime import tensorflow_internals as tfi
from tpulint.runtime.errors import HostOnlyInputError
from tpulint.runtime.source_location import place_of_operation


def refuse_python(dataset: Any, host: str) -> None:
    """Raise an error if `dataset`, which runs on `host`, calls Python of the program.

    Raises:
        HostOnlyInputError: it does, by `py_function`, `numpy_function` or `from_generator`.
    """
    op = tfi.python_operation(dataset)
    if op is not None:
        raise HostOnlyInputError(
            f"No registered '{op.type}' OpKernel on '{host}': the pipeline runs on a host of the "
            "TPU, and the Python function is in the process of the program",
            place=place_of_operation(op),
        )
