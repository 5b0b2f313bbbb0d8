"""The only file that touches TensorFlow's private modules.

Where they differ between the supported releases (2.12 to the newest), the difference ends here.
"""

from __future__ import annotations

from typing import Any

from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import ops


def string_attr(value: str) -> Any:
    """An AttrValue that holds `value`."""
    return attr_value_pb2.AttrValue(s=value.encode())


def bool_attr(value: bool) -> Any:
    """An AttrValue that holds `value`."""
    return attr_value_pb2.AttrValue(b=value)


def string_list_attr(values: list[str]) -> Any:
    """An AttrValue that holds the list `values`."""
    attr = attr_value_pb2.AttrValue()
    attr.list.s.extend(value.encode() for value in values)
    return attr


def set_attr(op: ops.Operation, name: str, value: Any) -> None:
    """Set the attribute `name` of `op` to the AttrValue `value`."""
    op._set_attr(name, value)
