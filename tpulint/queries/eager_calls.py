"""Find code that runs eagerly: no graph is being built, and no tf.function is around it.

Also read the signatures in the decorators of tf.functions.
"""

from __future__ import annotations

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain.events import Computation, Context
from tpulint.absint.domain.objects import Function, Instance
from tpulint.absint.domain.site import Module
from tpulint.absint.domain.values import Bound, Choice, External, Partial, Value
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.arity import call_method
from tpulint.frontends.tensorflow.branch_tests import asks_about
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.strategies import EAGER_MODE, GRAPH_MODE, ONLY_EAGER
from tpulint.frontends.tensorflow.knowledge.tf_names import TRACED_METHOD
from tpulint.frontends.tensorflow.program import Program
from tpulint.syntax.nodes import CallNode, Expression, Import, ImportFrom, Statement

TRACED = frozenset([scopes.FUNCTION, scopes.DATA, scopes.COND, scopes.WHILE])


def is_eager(program: Program, computation: Computation) -> bool:
    """Return whether the `run` that makes `computation` certainly is eager, and may be a TPU's."""
    context = computation.context
    if any(scope.kind in TRACED for scope in context.scopes) or context.with_blocks(
        scopes.DECORATED
    ):
        return False
    if may_be_other_function(computation) or is_built_in_graph(computation):
        return False
    if not may_be_tpus(computation):
        return False
    # A caller that is not seen may be a tf.function, unless a function on the way does what only
    # eager code can.
    return not context.is_inside(scopes.NO_KNOWN_CALLER) or any(
        call.context.run == context.run
        and call.context.call_chain == context.call_chain[: len(call.context.call_chain)]
        for call in program.named_any(ONLY_EAGER)
    )


def asks_for_eager(context: Context) -> bool:
    """Return whether a test asks for eager code, or for what kind of value something is.

    A test of a kind that ends in an error otherwise is none: only the one kind gets there.
    """
    forks = context._replace(conditions=context.forks)
    return asks_about(context, naming.EAGER) or asks_about(forks, naming.KIND_OF_VALUE)


def is_built_in_graph(computation: Computation) -> bool:
    """Return whether the computation is built in a graph of TensorFlow 1, or may be."""
    is_in_graph = bool(computation.context.with_blocks(scopes.GRAPH))
    return is_in_graph or any(map(builds_graphs, modules_on_the_way(computation)))


def may_be_tpus(computation: Computation) -> bool:
    """Return whether the strategy is or may be a TPU's (its program mentions TPUs)."""
    if computation.certainty is Certainty.DEFINITE:
        return True
    return any(module.has_word(naming.TPU_WORD) for module in modules_on_the_way(computation))


def may_be_other_function(computation: Computation) -> bool:
    """Return whether one of several functions is called on the way: another may be a tf.function.

    Which of several strategies runs here is no such guess.
    """
    return any(
        key.kind in scopes.GUESSES and key.identity != computation.site
        for key, _ in computation.context.conditions
    )


def modules_on_the_way(computation: Computation) -> set[Module]:
    """Return the modules of the calls that lead to the computation."""
    return {computation.site.module, *(step.site.module for step in computation.context.call_chain)}


def builds_graphs(module: Module) -> bool:
    """Return whether a module is written for graphs: by what it names, by what it imports."""
    # Programs of TensorFlow 1 may turn on eager execution.
    if module.facts.names_any(EAGER_MODE):
        return False
    return module.facts.names_any(GRAPH_MODE) or any(map(_imports_version_1, module.facts.body))


def _imports_version_1(statement: Statement) -> bool:
    """Return whether this imports TensorFlow 1's API, maybe from a module of the project."""
    match statement:
        case Import(names=names):
            return any("compat.v1" in name.name for name in names)
        case ImportFrom(module=dotted, names=names) if "tensorflow" in dotted:
            is_v1 = dotted.endswith("compat") and any(name.name == "v1" for name in names or ())
            return is_v1 or "compat.v1" in dotted
    return False


def is_traced_function(callee: Value | None) -> bool | None:
    """Return whether `callee` is a tf.function; None where it is not seen, or one of several is."""
    match callee:
        case Function():
            return None if scopes.DECORATED in callee.hints else callee.traced
        case Bound():  # a method of a class is traced if the function in the class is
            return is_traced_function(callee.function)
        case Partial():  # functools.partial(f) is none, whatever f is
            return callee.function == External(TRACED_METHOD)
        case Choice():
            answers = {is_traced_function(option) for option in callee.options}
            return answers.pop() if len(answers) == 1 else None
        case Instance():
            return is_traced_function(call_method(callee.cls))
    return None


def input_signatures(function: Function) -> list[Expression]:
    """Return what the decorators of a function have as `input_signature`."""
    return [
        argument.value
        for decorator in function.code.decorators
        if isinstance(decorator, CallNode)
        for argument in decorator.arguments
        if argument.keyword == "input_signature"
    ]
