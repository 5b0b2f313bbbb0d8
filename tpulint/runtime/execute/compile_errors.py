"""The runtime's own errors for device segments that XLA refuses to compile.

Operations with no kernel are found earlier (see extract/kernels.py). Only XLA, when the step runs,
finds a shape that is not a compile-time constant, or attributes that a kernel refuses.
"""

from __future__ import annotations

import re
from typing import Any
from weakref import WeakValueDictionary

from tpulint.runtime.errors import RuntimeFault, UnsupportedOpError
from tpulint.runtime.execute.raising import delivered
from tpulint.runtime.extract.region import Region
from tpulint.runtime.source_location import place_of_operation

_SEGMENT = re.compile(r"__inference_tpu_device_segment_\d+|\[\[tpulint/")
"""A segment's name; TensorFlow 2.12 names only the step's call, by its scope."""
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_REFUSALS = {
    "must be a compile-time constant": "TPU502",
    "Detected unsupported operations": "TPU501",
}
_graphs: WeakValueDictionary[str, Any] = WeakValueDictionary()


def remember_segment(function: Any, region: Region) -> None:
    """Note that `function`, as long as it lives, is a segment of `region`."""
    function.graph.tpulint_region = region
    name = function.name
    _graphs[name.decode() if isinstance(name, bytes) else name] = function.graph


def refused(message: str) -> RuntimeFault | None:
    """Return the fault of a segment that an InvalidArgumentError's `message` reports, or None."""
    if not _SEGMENT.search(message):
        return None
    rule = next((rule for text, rule in _REFUSALS.items() if text in message), None)
    if rule is None:
        return None
    return delivered(UnsupportedOpError(message, place=_place(message), rule=rule))


def _place(message: str) -> str | None:
    """Return the user's line of the first node, in a segment named if any, that `message` names."""
    segments = [_graphs[name] for name in _SEGMENT.findall(message) if name in _graphs]
    for graph in segments or list(_graphs.values()):
        by_name = {op.name: op for op in graph.tpulint_region.ops}
        for name in _NODE.findall(message):
            if name in by_name:
                return place_of_operation(by_name[name])
    return None
