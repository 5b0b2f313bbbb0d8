"""The dtypes that calls ask for, and those that a TPU lacks or emulates."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.analysis.domain.events import ApiCall, Argument
from tpulint.analysis.domain.values import Const, External, Value
from tpulint.knowledge.operations import builds

# Dtypes that a TPU computes in another way than is meant: the reason, and the one to use.
SLOW = {
    "float16": (
        "float16 on a TPU has neither the range nor the hardware units of `bfloat16`",
        "bfloat16",
    ),
    "float64": ("a TPU has no float64 units and emulates it slowly", "float32"),
}
HALF = {"half": "float16", "double": "float64"}
# Functions whose names say the dtype.
CASTS = {"to_double": "float64", "to_complex128": "complex128"}
# The keyword, and its position, in which operations take the dtype of what they make.
TAKES = {
    "cast": 1,
    "saturate_cast": 1,
    "zeros": 1,
    "ones": 1,
    "zeros_like": 1,
    "ones_like": 1,
    "convert_to_tensor": 1,
    "eye": None,
    "range": None,
    "one_hot": None,
    "uniform": None,
    "normal": None,
    "truncated_normal": None,
    "random_uniform": None,
    "random_normal": None,
    "constant": 1,
    "get_variable": 2,
    "Variable": None,
}


def asked_dtypes(call: ApiCall) -> Iterator[tuple[Argument | None, str]]:
    """The dtypes that a call asks for, with the argument that says so."""
    if not call.path.startswith("tensorflow.") or builds(call.path) is not None:
        return
    if call.last in CASTS:
        yield None, CASTS[call.last]
    if call.last not in TAKES:
        return
    argument = call.argument("dtype", TAKES[call.last])
    name = named(argument.value) if argument is not None else None
    if argument is not None and name is not None:
        held = call.last == "constant" and name == "string"
        if not held:  # a constant string is compiled: assertions hold some
            yield argument, name


def named(value: Value) -> str | None:
    """The dtype that `tf.float16`, `np.float16` or `"float16"` names."""
    if isinstance(value, External):
        name = value.last
    elif isinstance(value, Const):
        name = value.value
    else:
        return None
    name = HALF.get(name, name)
    return name if name in SLOW or name in ("string", "complex128") else None
