"""The dtypes and shapes that literals give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tpulint.absint.domain.events import ApiCall, Context, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Choice, Const, External, Text, Value
from tpulint.absint.interpreter.transfer import each_tensor
from tpulint.frontends.tensorflow.knowledge import tf_names

Shape = tuple["int | None", ...]


# Functions of `tf` that look at a shape, and where they are told the dtype.
OF_SHAPES = {"shape": 2, "size": 2, "rank": None}


def dtype_of(value: Value | None) -> str | None:
    """Return the dtype that `tf.float32`, `np.int32` or `"float32"` names."""
    name = value.last if isinstance(value, External) else None
    if isinstance(value, Const):
        name = value.value
    return name if name in tf_names.DTYPES else None


def dtype_of_array(value: Value | None) -> str | None:
    """Return the dtype that NumPy takes `value` for: Python's `float` has 64 bits."""
    if isinstance(value, External) and value.path in _OF_PYTHON:
        return _OF_PYTHON[value.path]
    return "string" if value == Const("str") else dtype_of(value)


def gives_one_tensor(path: str) -> bool:
    """Return whether a function of TensorFlow's gives one tensor, whatever it is given."""
    last = path.rpartition(".")[2]
    if last == "shape":  # Keras's and NumPy's are tuples
        return path.endswith(("tensorflow.shape", ".v1.shape", ".v2.shape"))
    return last in tf_names.ONE_TENSOR and tf_names.is_tensorflow(path)


def result_dtype(call: ApiCall) -> str | None:
    """Return the dtype of what an operation makes, where that of its operands or its name tells.

    An operation on tensors of several dtypes, which fails, has none.
    """
    name = call.last
    if not tf_names.is_tensorflow(call.path):
        return None
    if name in tf_names.CASTS:
        return tf_names.CASTS[name]
    if ".strings." in call.path and name in tf_names.MAKES_TEXT:
        return "string"
    if name in tf_names.MAKES_FLOATS:
        dtype = call.argument("dtype", tf_names.MAKES_FLOATS[name])
        is_filled = call.argument("on_value") or call.argument("off_value")
        return None if is_filled else "float32" if dtype is None else dtype_of(dtype.value)
    if name in OF_SHAPES and "." not in call.path.replace(".compat.v1", "").partition(".")[2]:
        out_type = call.argument("out_type", OF_SHAPES[name])
        return "int32" if out_type is None else dtype_of(out_type.value)
    if name in tf_names.KEEPS_DTYPE and call.arguments:
        return _dtype_of_tensor(call.arguments[0].value)
    if name in tf_names.ONE_DTYPE or name == "matmul":
        dtypes = {_dtype_of_tensor(value) for value in mixable(call) if isinstance(value, Tensor)}
        return dtypes.pop() if len(dtypes) == 1 else None
    return None


def mixable(call: ApiCall) -> Iterable[Value]:
    """Return the values of which an operation wants one dtype: those of a list are opened."""
    operands = [other for other in call.arguments if other.keyword not in ("axis", "name")]
    if call.last == "where":
        operands = [other for other in operands[1:] if other.keyword != "condition"]
    for argument in operands:
        value = argument.value
        yield from value.items if isinstance(value, Sequence) else [value]


def _dtype_of_tensor(value: Value) -> str | None:
    return value.dtype if isinstance(value, Tensor) else None


def shape_of(value: Value | None) -> Shape | None:
    """Return the shape that a list of dimensions or a `TensorShape` says.

    It is None for an unseen rank.
    """
    match value:
        case ExternalObject(last="TensorShape", arguments=[(_, listed)]):
            return shape_of(listed)
    if not isinstance(value, Sequence) or value.open:
        return None
    return tuple(_number(item) for item in value.items)


def shape_object(shape: Shape, site: Site, context: Context) -> ExternalObject:
    """Return the `TensorShape` of a tensor of this shape."""
    sizes: list[Value] = [UNKNOWN if size is None else Const(size) for size in shape]
    tensor_shape = ExternalObject("tensorflow.TensorShape", site, context)
    tensor_shape.arguments = ((None, Sequence("list", sizes)),)
    tensor_shape.attributes.update(ndims=Const(len(shape)), rank=Const(len(shape)))
    return tensor_shape


def _number(value: Value) -> int | None:
    number = value.value if isinstance(value, Const) else None
    return number if type(number) is int else None


def described(value: Value) -> tuple[str | None, Shape | None]:
    """Return the dtype and the shape of what TensorFlow makes of `value` as a tensor."""
    if isinstance(value, Tensor):
        return value.dtype, value.shape
    if isinstance(value, Variable) and value.sort == "step":
        return None, ()
    if isinstance(value, Const):
        return _NUMBERS.get(type(value.value)), () if value != NONE else None
    if isinstance(value, Text):
        return "string", ()
    if isinstance(value, Bound) and isinstance(value.function, External):
        # The array of a column of pandas.
        return described(value.receiver) if value.function.last == "values" else (None, None)
    if isinstance(value, ExternalObject) and value.path.startswith(("numpy.", "?.astype")):
        return _of_array(value)
    if isinstance(value, Sequence) and value.open and value.items:
        # With a text, a tensor is one of texts.
        return ("string" if described(value.items[0])[0] == "string" else None), None
    if isinstance(value, Sequence) and not value.open:
        rows = [described(item) for item in value.items]
        dtypes, shapes = {row[0] for row in rows}, {row[1] for row in rows}
        if dtypes == {"int32", "float32"}:
            dtypes = {"float32"}
        shape = shapes.pop() if len(shapes) == 1 else None
        dtype = dtypes.pop() if len(dtypes) == 1 else None
        return dtype, (len(rows), *shape) if shape is not None else None
    return None, None


def _of_array(array: ExternalObject) -> tuple[str | None, Shape | None]:
    """Return the dtype and the shape of an array that NumPy fills, as far as they are written."""
    dtype_argument = array.argument("dtype", _DTYPES.get(array.last))
    dtype = "float64" if array.last in _FILL_FLOAT64 else None
    if dtype_argument is not None:
        dtype = dtype_of_array(dtype_argument)
    if array.last in _LISTED:
        sizes = [_number(value) for keyword, value in array.arguments if keyword is None]
        return dtype, tuple(sizes)
    name = _SIZED.get(array.last)
    size = array.argument(*name) if name is not None else None
    if isinstance(size, Const) and size != NONE:
        return dtype, (_number(size),)
    return dtype, shape_of(size)


def in_dtype(array: Value | None, dtype: Value | None, site: Site) -> ExternalObject | None:
    """Return an array that NumPy fills with its numbers in another dtype; None for others."""
    if not isinstance(array, ExternalObject) or not array.path.startswith("numpy."):
        return None
    if array.last not in _SIZED and array.last not in _LISTED:
        return None
    kept = [(keyword, value) for keyword, value in array.arguments if keyword != "dtype"]
    arguments = (*kept, ("dtype", dtype or UNKNOWN))
    return ExternalObject(array.path, site, array.context, arguments=arguments)


_LISTED = ("rand", "randn")  # functions of NumPy that take the dimensions one by one
# Other functions, and the argument that is the shape: a number is one dimension.
_SIZED = {
    **dict.fromkeys(("zeros", "ones", "empty", "full"), ("shape", 0)),
    **dict.fromkeys(("random", "random_sample", "standard_normal"), ("size", 0)),
    **dict.fromkeys(("normal", "uniform", "randint"), ("size", 2)),
}
# The functions that fill an array with float64 unless they are told; where some are, by position.
_FILL_FLOAT64 = {*_LISTED, *_SIZED} - {"full", "randint"}
_DTYPES = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "astype": 0}
_OF_PYTHON = {"builtins.float": "float64", "builtins.str": "string"}
_NUMBERS = {bool: "bool", int: "int32", float: "float32", str: "string"}


def element_of(data: Value, of_one: Tensor) -> Value | None:
    """Return an element of a dataset, made of copies of `of_one`; None where it is not seen."""
    if isinstance(data, Choice):
        # One has a step more: `cache` keeps the elements, `batch` their dtypes.
        elements = [element_of(option, of_one) for option in data.options]
        seen = [element for element in elements if element is not None]
        if len(seen) < len(elements):
            return None
        if len({repr(element) for element in seen}) == 1:
            return seen[0]
        unshaped = [each_tensor(it, lambda part: replace(part, shape=None)) for it in seen]
        return unshaped[0] if len({repr(element) for element in unshaped}) == 1 else None
    if not isinstance(data, ExternalObject):
        return None
    source = data.arguments[0][1] if data.arguments else UNKNOWN
    if data.last in ("from_tensors", "from_tensor_slices"):
        return _component(source, of_one, is_sliced=data.last == "from_tensor_slices")
    if data.last == "range" and data.source is None:
        return replace(of_one, sort="tensor", shape=())
    if data.last == "map":
        return None if data.inner is None else _component(data.inner, of_one)
    if data.last == "zip":
        values = [value for _, value in data.arguments]
        joined = source if isinstance(source, Sequence) else Sequence("tuple", values)
        parts = [element_of(dataset, of_one) or of_one for dataset in joined.items]
        return None if joined.open else Sequence("tuple", parts)
    element = None if data.source is None else element_of(data.source, of_one)
    if element is not None and data.last == "batch":
        return each_tensor(element, _batched)
    return element if data.last in tf_names.HAND_ON else None


def batch_of_rows(values: Iterable[Value], of_one: Tensor) -> Value:
    """Return what Keras makes of arrays: a batch of their rows, of the same dtypes.

    Only those of texts are said: NumPy's numbers of 64 bits become those of Keras.
    """
    parts = []
    for value in values:
        # A list of arrays is one of inputs, and no tensor.
        if isinstance(value, Sequence) and not value.open:
            is_pair = not any(isinstance(item, Const) for item in value.items)
            value = Sequence("tuple", value.items) if is_pair else value
        parts.append(_component(value, of_one, is_sliced=True) or of_one)
    rows = parts[0] if len(parts) == 1 else Sequence("tuple", parts)
    return each_tensor(
        rows,
        lambda row: replace(row, shape=None, dtype="string" if row.dtype == "string" else None),
    )


def _batched(tensor: Tensor) -> Tensor:
    return replace(tensor, shape=None if tensor.shape is None else (None, *tensor.shape))


def _component(value: Value, of_one: Tensor, *, is_sliced: bool = False) -> Value | None:
    """Return a component of an element. tf.data makes one tensor of a list, and a pair of a tuple.

    is_sliced: it is a row of `value`.
    """
    if isinstance(value, Sequence) and value.kind == "tuple" and not value.open:
        parts = [_component(item, of_one, is_sliced=is_sliced) for item in value.items]
        return Sequence("tuple", [part or of_one for part in parts])
    if isinstance(value, Mapping) and not value.open:
        rows = {
            key: _component(item, of_one, is_sliced=is_sliced) for key, item in value.items.items()
        }
        return Mapping({key: row or of_one for key, row in rows.items()})
    dtype, shape = described(value)
    if dtype is None and shape is None:
        return None
    if is_sliced:
        shape = shape[1:] if shape else None
    is_one = not isinstance(value, Tensor) or value.single or shape is not None
    return replace(of_one, sort="tensor", dtype=dtype, shape=shape, single=is_one)
