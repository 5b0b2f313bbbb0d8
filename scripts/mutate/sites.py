"""The sites of real programs where a fault can be seeded, found without tpulint's analyzer.

Only CPython's `ast` is asked, file by file, so that a site that the analyzer does not understand
counts as a miss instead of vanishing from the measure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scripts.mutate.pipelines import even_batches, every_even_batch, keyword, last_name

RUNS = ("run", "experimental_run_v2", "experimental_run")


@dataclass(frozen=True)
class Site:
    """A place in a file: `node` is what an operator replaces, or what it inserts lines before.

    `tf` is the name under which the file imports TensorFlow, `tensor` that of a scalar float
    tensor of the device there, and `strategy` the expression of the strategy that runs it.
    """

    kind: str
    filename: str
    node: ast.stmt | ast.expr | ast.keyword
    tf: str
    tensor: str = ""
    strategy: str = ""

    @property
    def row(self) -> int:
        return self.node.lineno


def sites_of(filename: str, text: str, *, whole: bool = False) -> list[Site]:
    """Return the sites of a file, in its order; none of one that does not import TensorFlow.

    whole: every batch that drops its remainder is one, whatever it may feed.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    tf = alias_of_tensorflow(tree)
    if tf is None:
        return []
    sites = [
        *specifications(tree, filename, tf),
        *steps(tree, filename, tf),
        *calls(tree, filename, tf),
        *batches(tree, filename, tf, whole=whole),
        *compiled_loops(tree, filename, tf),
    ]
    return sorted(sites, key=lambda site: (site.row, site.node.col_offset, site.kind))


def alias_of_tensorflow(tree: ast.Module) -> str | None:
    """Return the name of TensorFlow's API in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name in ("tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"):
                    return name.asname or name.name
        elif isinstance(node, ast.ImportFrom) and node.module == "tensorflow.compat":
            return node.names[0].asname or node.names[0].name
    return None


def specifications(tree: ast.Module, filename: str, tf: str) -> Iterator[Site]:
    """Yield the statements that make a TPUEstimatorSpec with a loss that has a name.

    What is built under Mesh TensorFlow's `outside_all_rewrites` is not the device's. Where every
    core gets the same input, `BROADCAST`, the host takes what one core sends, of any shape.
    """
    outside = set(outside_rewrites(tree))
    broadcasts = any(
        isinstance(node, ast.Attribute) and node.attr == "BROADCAST" for node in ast.walk(tree)
    )
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.Return | ast.Assign) or statement.value is None:
            continue
        call = statement.value
        if isinstance(call, ast.Call) and last_name(call.func) == "TPUEstimatorSpec":
            loss = keyword(call, "loss")
            if isinstance(loss, ast.Name):
                if statement not in outside:
                    yield Site("spec", filename, statement, tf, tensor=loss.id)
                    if keyword(call, "train_op") is not None:
                        yield Site("train spec", filename, statement, tf, tensor=loss.id)
                yield Site("spec call", filename, call, tf, tensor=loss.id)
                if not broadcasts:
                    yield Site("split spec call", filename, call, tf, tensor=loss.id)


def outside_rewrites(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what is in a `with mtf.utils.outside_all_rewrites():`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            calls = [item.context_expr for item in node.items]
            names = [last_name(call.func) for call in calls if isinstance(call, ast.Call)]
            if "outside_all_rewrites" in names:
                yield from ast.walk(node)


def steps(tree: ast.Module, filename: str, tf: str) -> Iterator[Site]:
    """Yield the first statement of each function that a `strategy.run` of the file names.

    `self._agent.loss` names none of the file's, and what a MirroredStrategy runs is no TPU's.
    """
    functions: dict[str, list[ast.FunctionDef]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
    seen: set[ast.FunctionDef] = set()
    for call in strategy_runs(tree):
        function = call.func
        assert isinstance(function, ast.Attribute)
        if not call.args or not is_of_file(call.args[0]) or is_for_gpus(tree, call):
            continue
        named = functions.get(last_name(call.args[0]), [])
        if len(named) == 1 and named[0] not in seen:
            seen.add(named[0])
            begin = first_statement(named[0])
            if begin is not None:
                strategy = ast.unparse(function.value)
                yield Site("step", filename, begin, tf, "seeded_tensor", strategy)
                if share_function(tree, call, named[0]):
                    yield Site("nested step", filename, begin, tf, "seeded_tensor", strategy)


def is_of_file(step: ast.expr) -> bool:
    """Return whether the name of a step can be that of a function of the file: `f`, `self.f`."""
    return not isinstance(step, ast.Attribute) or isinstance(step.value, ast.Name)


def is_for_gpus(tree: ast.Module, run: ast.Call) -> bool:
    """Return whether the strategy of a `run` is a name that only holds a MirroredStrategy."""
    assert isinstance(run.func, ast.Attribute)
    strategies = [
        last_name(node.value.func) if isinstance(node.value, ast.Call) else ""
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.lineno <= run.lineno
        if run.lineno <= (function.end_lineno or 0)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == ast.unparse(run.func.value)
    ]
    return bool(strategies) and all(strategy == "MirroredStrategy" for strategy in strategies)


def share_function(tree: ast.Module, call: ast.Call, step: ast.FunctionDef) -> bool:
    """Return whether a function holds both the call and the step: then names are the same."""
    return any(
        isinstance(node, ast.FunctionDef)
        and node is not step
        and node.lineno <= min(call.lineno, step.lineno)
        and max(call.lineno, step.lineno) <= (node.end_lineno or 0)
        for node in ast.walk(tree)
    )


def strategy_runs(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of `run` on something that is called a strategy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = last_name(node.func.value)
            if node.func.attr in RUNS and "strategy" in owner:
                yield node


def calls(tree: ast.Module, filename: str, tf: str) -> Iterator[Site]:
    """Yield the calls that an operator rewrites."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = last_name(node.func)
        if name == "CrossShardOptimizer" and len(node.args) == 1:
            yield Site("cross shard", filename, node, tf)
        elif name == "TPUEstimator" and isinstance(keyword(node, "params"), ast.Name | ast.Dict):
            yield Site("estimator", filename, node, tf)


def batches(tree: ast.Module, filename: str, tf: str, *, whole: bool) -> Iterator[Site]:
    """Yield the batches of which the last must be as large as the others."""
    for drop in every_even_batch(tree) if whole else even_batches(tree):
        yield Site("drop remainder", filename, drop, tf)


def compiled_loops(tree: ast.Module, filename: str, tf: str) -> Iterator[Site]:
    """Yield the `tf.function` decorators of functions that run a step of a strategy."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(strategy_runs(node)):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if ast.unparse(called).endswith("tf.function"):
                    yield Site("compiled loop", filename, decorator, tf)


def first_statement(function: ast.FunctionDef) -> ast.stmt | None:
    """Return the first statement behind the docstring, where it begins a line of its own."""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return body[0] if body and body[0].lineno > function.lineno else None
