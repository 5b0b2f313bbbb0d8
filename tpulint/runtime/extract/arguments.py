"""The names that TensorFlow gives the arguments of the functions that it compiles.

They decide, as the names of operations do, the order in which XLA compiles.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping

from tpulint.runtime.extract.effects import is_resource
from tpulint.runtime.extract.region import Tensor


def argument_names(inputs: Iterable[str]) -> dict[str, str]:
    """Return for each tensor of `inputs`, a computation's, its argument's name.

    See encapsulate_subgraphs_pass.cc, and NodeNameMapping in graph_to_functiondef.cc.
    """
    found = {}
    for name in inputs:
        operation, _, number = name.partition(":")
        found[name] = re.sub(r"[^a-z0-9]", "_", f"{operation}_{number}_arg".lower())
    return found


def numbered_arguments(
    inputs: Iterable[Tensor], handed_in: Mapping[str, str], added: Container[str]
) -> dict[str, str]:
    """Return for each of `inputs`, a branch's or a loop's, but those `added`, its argument's name.

    TensorFlow numbers them by the operations that hand them in, which `handed_in` names
    (NodeCmpByNameResourcesLast in functionalize_control_flow_util.cc).
    """
    given = sorted(
        (tensor for tensor in inputs if tensor.name not in added),
        key=lambda one: (is_resource(one), handed_in.get(one.name, "~")),
    )
    return {tensor.name: f"arg{number}" for number, tensor in enumerate(given)}
