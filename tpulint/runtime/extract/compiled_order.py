"""The order in which XLA compiles the operations of a graph.

It decides the value of a variable that an unordered operation sees. TensorFlow takes the reverse
postorder of a depth-first search along the edges, in which the names of operations decide between
neighbors (GetReversePostOrder with NodeComparatorName, graph_compiler.cc).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tpulint.runtime.extract.region import Operation, Region


def argument_names(inputs: Iterable[str]) -> dict[str, str]:
    """Return for each tensor of `inputs` its argument's name in the function that is compiled.

    See NodeNameMapping in graph_to_functiondef.cc.
    """
    return {name: re.sub(r"[^a-z0-9]", "_", name.partition(":")[0].lower()) for name in inputs}


def compiled_order(
    region: Region, before: Mapping[str, set[str]], arguments: Mapping[str, str]
) -> list[Operation]:
    """Return the operations of `region` as XLA compiles them, each after those named in `before`.

    `arguments` has the region's inputs, with their names inside.
    """
    users: dict[str, set[str]] = {}
    for op in region.ops:
        sources = {tensor.name for tensor in op.inputs if tensor.name in arguments}
        for source in sources | (before[op.name] - {op.name}):
            users.setdefault(source, set()).add(op.name)
    followers = set[str]().union(*users.values())
    roots = [name for name in (*arguments, *region.names) if name not in followers]

    def by_name(name: str) -> str:
        return arguments.get(name, name)

    postorder: list[str] = []
    met: set[str] = set()
    stack = [(root, False) for root in sorted(roots, key=by_name)]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            postorder.append(name)
        elif name not in met:
            met.add(name)
            stack.append((name, True))
            stack += [(user, False) for user in sorted(users.get(name, ())) if user not in met]
    return [
        region.ops[region.position[name]] for name in reversed(postorder) if name in region.names
    ]
