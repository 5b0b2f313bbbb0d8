"""Read the operations of the TPU compiler, and the public names that always end in others.

An operation is compiled where XLA has a kernel for it. What a public function builds on
every way through it is read from its source, down to the generated wrappers
(`gen_*_ops.py`), each of which names its operation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from scripts.wheels import Found, Library

HOPS = 12  # calls that are followed into
PUBLIC = {
    "tensorflow": "tensorflow._api.v2",
    "tensorflow.compat.v1": "tensorflow._api.v2.compat.v1",
}
PUBLIC_V1 = {"tensorflow": "tensorflow._api.v1"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Gone, or replaced by what is compiled, before the compiler sees the graph.
STRUCTURAL = _words(
    """
    Placeholder PlaceholderV2 Enter Exit NextIteration Merge Switch LoopCond RefEnter RefExit
    RefMerge RefSwitch RefNextIteration If StatelessIf While StatelessWhile Case StatelessCase
    For PartitionedCall StatefulPartitionedCall SymbolicGradient RemoteCall ImmutableConst
    HashTableV2 MutableHashTableV2 MutableDenseHashTableV2 LookupTableImportV2 InitializeTableV2
    InitializeTableFromTextFileV2 VarIsInitializedOp DestroyResourceOp IsVariableInitialized
    ReadVariableOp VarHandleOp _VarHandlesOp Variable VariableV2 SaveV2 RestoreV2
    """
)
# Modules that are about the host by their nature; they are never built for a device.
HOST_MODULES = ("data", "dtensor", "tpu", "saved_model", "train", "queue", "lite", "sysconfig")
HOST, NUMERIC = "hn"
SAMPLES = re.compile("Random|Sampler|SampleDistorted|GuaranteeConst|Batch$|Barrier|CudnnRNN")
Ops = frozenset[str]


def kernels() -> dict[str, dict[str, set[str]]]:
    """Return the operations with an XLA kernel in this TensorFlow: op -> attribute -> dtypes.

    An attribute that is not there takes any dtype. XLA registers its kernels when it first
    compiles something, so something is compiled.
    """
    import tensorflow as tf
    from tensorflow.python.framework import dtypes
    from tensorflow.python.framework import kernels as registry

    tf.function(lambda x: x + 1, jit_compile=True)(1.0)
    by_operation: dict[str, dict[str, set[str]]] = {}
    for kernel in registry.get_all_registered_kernels().kernel:
        if kernel.device_type != "XLA_CPU_JIT":
            continue
        constraints = by_operation.setdefault(kernel.op, {})
        for constraint in kernel.constraint:
            listed = {
                dtypes.as_dtype(number).name for number in constraint.allowed_values.list.type
            }
            constraints.setdefault(constraint.name, set()).update(listed)
    return by_operation


def lacking(
    kernels_by_operation: Mapping[str, Mapping[str, set[str]]], dtypes: set[str]
) -> dict[str, Ops]:
    """Operation -> the dtypes of its tensors (`T`) that it takes, and its kernel does not."""
    from tensorflow.python.framework import dtypes as all_dtypes
    from tensorflow.python.framework import op_def_registry

    missing_dtypes = {}
    for op, attributes in kernels_by_operation.items():
        definition = op_def_registry.get(op)
        for attribute in definition.attr if definition is not None else ():
            if attribute.name == "T" and attribute.type == "type" and "T" in attributes:
                listed = attribute.allowed_values.list.type
                taken = {all_dtypes.as_dtype(number).name for number in listed} or dtypes
                missing = (taken & dtypes) - attributes["T"]
                if missing:
                    missing_dtypes[op] = frozenset(missing)
    return missing_dtypes


def uncompiled(compiled: Collection[str]) -> dict[str, str]:
    """Return the operations that are not compiled, each with the reason.

    The reason is HOST where the operation handles strings, files, Python or state of the host. It
    is NUMERIC where a TPU could run it, had it a kernel.
    """
    from tensorflow.python.framework import dtypes, op_def_registry
    from tensorflow.python.framework import kernels as registry

    foreign = {dtypes.string, dtypes.resource, dtypes.variant}
    kinds = {}
    for name in {kernel.op for kernel in registry.get_all_registered_kernels().kernel}:
        definition = op_def_registry.get(name)
        if name in compiled or name in STRUCTURAL or definition is None:
            continue
        types = {argument.type for argument in [*definition.input_arg, *definition.output_arg]}
        deals = {dtypes.as_dtype(kind) for kind in types if kind} & foreign
        stateful = definition.is_stateful and not SAMPLES.search(name)
        kinds[name] = HOST if deals or stateful or "PyFunc" in name else NUMERIC
    return kinds


def table_of(library: Library, compiled: set[str], dtypes: set[str]) -> str:
    """Return the table of operations; the head of `knowledge/operations.py` says how it reads.

    `compiled`: operations that a TPU compiles although they have no kernel here; `dtypes`:
    those that a TPU has.
    """
    kernels_by_operation = kernels()
    lines = ["compiled"]
    for op, attributes in sorted(kernels_by_operation.items()):
        limits = [
            f"{name}={','.join(sorted(taken & dtypes))}"
            for name, taken in sorted(attributes.items())
            if not dtypes <= taken
        ]
        lines.append("\t".join([op, *limits]))
    lines += sorted(compiled - set(kernels_by_operation))
    partly = lacking(kernels_by_operation, dtypes)
    narrow = Builder(library, partly).table()
    lines += ["", "lacks"]
    lines += [
        f"{name}\t{','.join(sorted(frozenset.intersection(*(partly[op] for op in ops))))}"
        for name, ops in sorted(narrow.items())
    ]
    others = uncompiled(set(kernels_by_operation) | compiled)
    lines += ["", "uncompiled", *(f"{op}\t{sort}" for op, sort in sorted(others.items()))]
    built = Builder(library, others).table()
    lines += ["", "builds"]
    lines += [f"{name}\t{','.join(sorted(ops))}" for name, ops in sorted(built.items())]
    return "\n".join(lines) + "\n"


def typed_block(typed: Mapping[str, Any]) -> str:
    """Return the rows typed in by hand, as three more blocks of the table."""
    lines = ["dtypes", *typed["dtypes"].split(), "", "refused", *typed["refused"].split()]
    lines += ["", "typed"]
    for row in typed["builds"]:
        only_if = [row["only_if"]] if "only_if" in row else []
        if "argument" in row:
            values = ";".join(map(str, row["values"]))
            only_if = [f"{row['argument']}@{row['position']}={values}"]
        lines.append("\t".join([row["name"], ",".join(row["operations"]), *only_if]))
    return "\n".join(lines) + "\n"


class Builder:
    """Return the operations among `wanted` that public functions build on every path.

    It is read from the sources of the installed TensorFlow.
    """

    def __init__(
        self, library: Library, wanted: Collection[str], public: Mapping[str, str] = PUBLIC
    ) -> None:
        self.library = library
        self.wanted = wanted
        self.public = public
        self._known: dict[tuple[str, str], Ops] = {}
        self._active: set[tuple[str, str]] = set()

    def table(self) -> dict[str, Ops]:
        """Public dotted name -> the wanted operations, one of which it always builds.

        What tf.compat.v1 has in common with tf is there once.
        """
        by_name: dict[str, Ops] = {}
        for public, module in self.public.items():
            for name, inner, last in self._names(public, module):
                parts = name.split(".")
                ops = self.of(self.library.follow(inner, last))
                same = by_name.get(name.replace(".compat.v1.", ".")) == ops
                if ops and not same and parts[-2] not in HOST_MODULES and "raw_ops" not in parts:
                    by_name[name] = ops
        return by_name

    def _names(self, public: str, module: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
        own = "tensorflow" if public == "tensorflow" else module
        for name in self.library.names(own) or ():
            if not name.startswith("_"):
                yield f"{public}.{name}", own, name
        for name in self.library.submodules(module):
            if depth < 6 and not name.startswith("_") and name not in ("v1", "v2"):
                yield from self._names(f"{public}.{name}", f"{module}.{name}", depth + 1)

    def of(self, definition: Found, hops: int = 0) -> Ops:
        """Return the operations that a call of the function always builds."""
        node = definition.node
        if not isinstance(node, ast.FunctionDef) or hops > HOPS:
            return frozenset()
        key = (definition.module, node.name)
        if key in self._active:
            return frozenset()
        if key not in self._known:
            self._active.add(key)
            generated = definition.module.rpartition(".")[2].startswith("gen_")
            if generated:
                ops = wrapped(node) & frozenset(self.wanted)
            else:
                ops = self._block(definition.module, node.body, hops)[0] or frozenset()
            self._known[key] = ops
            self._active.discard(key)
        return self._known[key]

    def _block(self, module: str, body: list[ast.stmt], hops: int) -> tuple[Ops | None, bool]:
        """Return the operations built on every path, and whether every path ends here."""
        built: Ops = frozenset()
        for index, statement in enumerate(body):
            if isinstance(statement, ast.Raise):
                return None, True
            if isinstance(statement, ast.If):
                built |= self._called(module, [statement.test], hops)
                ways = self._ways(module, statement, hops)
                open_ways = [ops for ops, ended in ways if not ended and ops is not None]
                ended_ways = [ops for ops, ended in ways if ended and ops is not None]
                if not open_ways:
                    return (built | common(ended_ways) if ended_ways else None), True
                if not ended_ways:
                    built |= common(open_ways)
                    continue
                rest, _ = self._block(module, body[index + 1 :], hops)
                on = [] if rest is None else [common(open_ways) | rest]
                return built | common([*ended_ways, *on]), True
            if isinstance(statement, (ast.With, ast.Try)):
                if isinstance(statement, ast.With):
                    items = [item.context_expr for item in statement.items]
                    built |= self._called(module, items, hops)
                inner, ended = self._block(module, statement.body, hops)
                if inner is None:
                    return None, True
                built |= inner
                if ended:
                    return built, True
            elif not isinstance(statement, (ast.For, ast.While, ast.FunctionDef, ast.ClassDef)):
                values = [e for e in ast.iter_child_nodes(statement) if isinstance(e, ast.expr)]
                built |= self._called(module, values, hops)
                if isinstance(statement, ast.Return):
                    return built, True
        return built, False

    def _ways(self, module: str, node: ast.If, hops: int) -> list[tuple[Ops | None, bool]]:
        """Return the two branches, or the one that is taken in device code."""
        taken = is_eager(node.test)
        bodies = [node.body, node.orelse] if taken is None else [(node.body, node.orelse)[taken]]
        return [self._block(module, body, hops) for body in bodies]

    def _called(self, module: str, values: Iterable[ast.expr], hops: int) -> Ops:
        """Return the operations built by expressions that are always evaluated."""
        built: Ops = frozenset()
        stack: list[ast.AST] = list(values)
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.DictComp)):
                continue
            if isinstance(node, ast.BoolOp):
                stack.append(node.values[0])
                continue
            if isinstance(node, ast.IfExp):
                stack.append(node.test)
                ways = [self._called(module, [branch], hops) for branch in (node.body, node.orelse)]
                built |= common(ways)
                continue
            if isinstance(node, ast.Call):
                built |= self.of(self.library.evaluated(module, node.func), hops + 1)
            stack.extend(ast.iter_child_nodes(node))
        return built


def common(ways: list[Ops]) -> Ops:
    """Return the operation built on whichever path, if every path builds one."""
    return frozenset.union(*ways) if all(ways) else frozenset()


def is_eager(test: ast.expr) -> bool | None:
    """Return True for a test of eager execution, False for its negation, None for others."""
    text = ast.unparse(test)
    if text in ("context.executing_eagerly()", "_context.executing_eagerly()"):
        return True
    if text in ("not context.executing_eagerly()", "not _context.executing_eagerly()"):
        return False
    return None


def wrapped(node: ast.FunctionDef) -> Ops:
    """Return the operation of a generated wrapper."""
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and child.args:
            called = ast.unparse(child.func)
            if called.endswith("_apply_op_helper") and isinstance(child.args[0], ast.Constant):
                return frozenset([str(child.args[0].value)])
    return frozenset()
