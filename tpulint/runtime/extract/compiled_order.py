"""The order in which XLA compiles the operations of a graph.

It decides the value of a variable that an unordered operation sees. TensorFlow takes the reverse
postorder of a depth-first search along the edges, in which the names of operations decide between
neighbors (GetReversePostOrder with NodeComparatorName, graph_compiler.cc).
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from tpulint.runtime.extract.region import Operation, Region


def compiled_order(
    region: Region,
    before: Mapping[str, set[str]],
    arguments: Mapping[str, str],
    absent: Container[str] = (),
) -> list[Operation]:
    """Return the operations of `region` as XLA compiles them, each after those named in `before`.

    `arguments` has the region's inputs, with their names inside, and `absent` the names of those
    inputs and operations that TensorFlow's graph lacks. Operations that only pass on a tensor are
    left out, as TensorFlow removes them first (RemoveIdentityNodes, function_utils.cc).
    """
    passed: dict[str, str] = {}
    users: dict[str, set[str]] = {}
    for op in region.ops:
        if op.name in absent:
            continue
        given = [tensor.name for tensor in op.inputs if tensor.name in arguments]
        sources = {
            passed.get(name, name)
            for name in {*given, *before[op.name]} - {op.name}
            if name not in absent
        }
        if op.type == "Identity" and not op.control_inputs and len(sources) == 1:
            (passed[op.name],) = sources
            continue
        for source in sources:
            users.setdefault(source, set()).add(op.name)
    followers = set[str]().union(*users.values())
    nodes = [name for name in (*arguments, *region.names) if name not in absent]
    roots = [name for name in nodes if name not in followers and name not in passed]

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
