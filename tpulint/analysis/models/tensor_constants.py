"""Tensors whose dtype and shape are in the source: constants, zeros, placeholders, arrays."""

from __future__ import annotations

from collections.abc import Callable

from tpulint.analysis.domain.events import Tensor
from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.properties import uniform
from tpulint.analysis.domain.values import NONE, UNKNOWN, Value
from tpulint.analysis.models.call import Call
from tpulint.frontends.tensorflow.shapes import Shape, described, dtype_of, shape_of
from tpulint.knowledge import naming, seam
from tpulint.knowledge.seam import is_tensorflow

FILLED = frozenset(["fill", "zeros", "ones", "zeros_like", "ones_like"])
COPIES = frozenset(["identity", "convert_to_tensor", "cast"])


def answer(this: Call) -> Value | None:
    """Return a tensor with what is known of it, or an array of NumPy's."""
    if this.path.startswith("numpy.") and this.name in seam.ARRAYS:
        return ExternalObject(this.path, this.site, this.frame.context)
    maker = _MAKERS.get(this.name)
    if maker is None:
        return None
    base = this.path.rpartition(".")[0].rpartition(".")[2]
    if base not in seam.TENSOR_HOMES or not is_tensorflow(this.path):
        return None
    made = this.operation()
    made.dtype, made.shape = maker(this)
    varies = naming.RANDOM.is_in(this.path) or this.name.startswith("placeholder")
    made.uniform = not varies and uniform(_deciding(this))
    made.filled = _is_filled(this)
    made.data = this.name not in seam.SHAPES_ONLY and (made.data or varies)
    return made


def _is_filled(this: Call) -> bool:
    """Return whether all elements of what is made are equal."""
    if this.name in FILLED:
        return True
    first = this.values[0] if this.arguments else NONE
    return this.name in COPIES and isinstance(first, Tensor) and first.filled


def _deciding(this: Call) -> list[Value]:
    """Return the arguments that may differ; a size that is not seen is a setting."""
    if this.name != "range":
        return this.values
    return [each for each in this.values if each is not UNKNOWN]


def _constant(this: Call) -> tuple[str | None, Shape | None]:
    dtype, shape = described(this.get("value", 0) or NONE)
    return _given_dtype(this, 1, dtype), _given_shape(this, 2, shape)


def _filled(this: Call) -> tuple[str | None, Shape | None]:
    """zeros, ones."""
    return _given_dtype(this, 1, "float32"), shape_of(this.get("shape", 0))


def _fill(this: Call) -> tuple[str | None, Shape | None]:
    return described(this.get("value", 1) or NONE)[0], shape_of(this.get("dims", 0))


def _placeholder(this: Call) -> tuple[str | None, Shape | None]:
    return dtype_of(this.get("dtype", 0)), shape_of(this.get("shape", 1))


def _placeholder_with_default(this: Call) -> tuple[str | None, Shape | None]:
    return described(this.get("input", 0) or NONE)[0], shape_of(this.get("shape", 1))


def _random(this: Call) -> tuple[str | None, Shape | None]:
    return _given_dtype(this, 3, "float32"), shape_of(this.get("shape", 0))


def _like(this: Call) -> tuple[str | None, Shape | None]:
    """zeros_like, ones_like, identity, convert_to_tensor."""
    first = this.values[0] if this.arguments else NONE
    dtype, shape = described(first)
    return _given_dtype(this, 1, dtype), shape


def _range(this: Call) -> tuple[str | None, Shape | None]:
    return None, (None,)


def _given_dtype(this: Call, position: int, default: str | None) -> str | None:
    given = this.get("dtype", position)
    if given is None or given == NONE:
        return default
    return dtype_of(given)


def _given_shape(this: Call, position: int, default: Shape | None) -> Shape | None:
    given = this.get("shape", position)
    return default if given is None or given == NONE else shape_of(given)


_MAKERS: dict[str, Callable[[Call], tuple[str | None, Shape | None]]] = {
    "constant": _constant,
    "zeros": _filled,
    "ones": _filled,
    "fill": _fill,
    "placeholder": _placeholder,
    "placeholder_with_default": _placeholder_with_default,
    "uniform": _random,
    "normal": _random,
    "random_uniform": _random,
    "random_normal": _random,
    "truncated_normal": _random,
    "zeros_like": _like,
    "ones_like": _like,
    "identity": _like,
    "convert_to_tensor": _like,
    "cast": _like,
    "range": _range,
}
ANSWERED = seam.ARRAYS | _MAKERS.keys()
