"""TPU707: a computation runs on a TPU system that nothing in the program has initialized."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.context import GUESSES, NO_KNOWN_CALLER, ConditionKey, cover
from tpulint.absint.domain.events import ApiCall, Computation, Context
from tpulint.absint.domain.objects import ExternalObject, Instance
from tpulint.absint.domain.site import Module
from tpulint.absint.domain.structures import all_tensors
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, Value
from tpulint.diagnostics import traces
from tpulint.frontends.tensorflow.keras_models import is_model, strategy_of_model
from tpulint.frontends.tensorflow.knowledge import naming, tf_names
from tpulint.frontends.tensorflow.knowledge.tf_names import is_tensorflow
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries.certainty import definite_if
from tpulint.queries.eager_calls import is_built_in_graph
from tpulint.rules.base import Certainty, Program, Report, Rule, Severity, register
from tpulint.syntax.nodes import Attribute, Import, ImportFrom, Node, last_name

SESSIONS = frozenset(["Session", "InteractiveSession"])
# What runs a module by its name.
RUNS_MODULES = frozenset(
    ["import_module", "__import__", "run_path", "run_module", "exec", "system"]
)


@register
class SystemNotInitialized(Rule):
    code = "TPU707"
    name = "system-not-initialized"
    severity = Severity.ERROR
    summary = "a TPUStrategy that runs a step on a TPU system that nothing has initialized"

    def check(self, program: Program, report: Report) -> None:
        first_steps = list(definite_first_steps(program))
        built = [started for started in program.computations if is_run_by_hand(started)]
        graphs = list(run_in_sessions(program))
        if not (first_steps or built or graphs) or may_be_initialized_by_library(program):
            return
        for computation, session in graphs:
            if not may_be_initialized(program, computation, session):
                report(
                    session.site.span,
                    f"nothing initializes the TPU system before this session runs what"
                    f" `{computation.kind}` builds, so it fails: run"
                    " `tf.compat.v1.tpu.initialize_system()` first",
                    certainty=definite_if(is_of_this_process(session.receiver)),
                    trace=(traces.entry(computation), traces.host_step(session.site, "runs it")),
                    doubt="unless another program has initialized the TPU of this session",
                )
        for computation in built:
            if not may_be_initialized(program, computation):
                report(
                    computation.call.site.span,
                    f"nothing initializes the TPU system before this `{computation.kind}` runs, so"
                    " it fails: call `tf.tpu.experimental.initialize_tpu_system(resolver)` first",
                    trace=(traces.entry(computation),),
                )
        for computation, creation in first_steps:
            if not may_be_initialized(program, computation, creation):
                report(
                    creation.site.span,
                    f"nothing initializes the TPU system of this `{creation.last}`, so its first"
                    " step fails: call `tf.tpu.experimental.initialize_tpu_system(resolver)` first",
                    trace=(
                        traces.host_step(creation.site, f"makes the `{creation.last}`"),
                        traces.entry(computation),
                    ),
                )


def definite_first_steps(program: Program) -> Iterator[tuple[Computation, ApiCall]]:
    """Yield the first steps that certainly run on a TPU, with the call that made the strategy."""
    started = [
        computation
        for computation in program.computations
        if computation.kind in tf_names.STRATEGY_RUN
        and computation.certainty is Certainty.DEFINITE
        and not is_built_in_graph(computation)
    ]
    for creation in program.named_any(tf_names.TPU_STRATEGIES):
        steps = [it for it in started if strategy_behind(it.call.receiver) is creation.result]
        for computation in steps:
            is_sure = not computation.context.is_guess or is_one_of_all(computation, steps)
            if is_sure and is_whole_program_seen(computation, creation):
                yield computation, creation
                break


def is_one_of_all(computation: Computation, steps: list[Computation]) -> bool:
    """Return whether one of the steps that a call may mean runs, whatever the call means."""
    context, site = computation.context, computation.call.site
    tests = without_guesses(context)
    places = [step.context for step in steps if step.call.site == site]
    places = [place for place in places if without_guesses(place) == tests]
    return cover(places, context._replace(conditions=tests))


def without_guesses(context: Context) -> frozenset[tuple[ConditionKey, object]]:
    return frozenset((key, branch) for key, branch in context.conditions if key.kind not in GUESSES)


def is_run_by_hand(computation: Computation) -> bool:
    """Return whether a tf.function certainly runs a computation that no strategy builds."""
    context = computation.context
    return (
        computation.kind in tf_names.REPLICATE_FAMILY
        and computation.certainty is Certainty.DEFINITE
        and context.traced
        and not is_built_in_graph(computation)
        and is_certain(context)
    )


def run_in_sessions(program: Program) -> Iterator[tuple[Computation, ApiCall]]:
    """Yield the computations of graphs that a session runs, each with the first `run` of it."""
    runs = [
        call
        for call in program.named.get("run", ())
        if isinstance(call.receiver, ExternalObject)
        and call.receiver.last in SESSIONS
        and is_tensorflow(call.receiver.path)
        and is_certain(call.context)
    ]
    for computation in program.computations if runs else ():
        if (
            computation.kind not in tf_names.REPLICATE_FAMILY
            or computation.certainty is not Certainty.DEFINITE
            or computation.mode != "graph"
            or not is_certain(computation.context)
            or begins_in_function(computation.context)
        ):
            continue
        results = {id(tensor) for tensor in all_tensors([computation.call.result])}
        for call in runs:
            taken = all_tensors([call.value("fetches", 0) or NONE])
            if not results.isdisjoint(map(id, taken)):
                yield computation, call
                break


def is_certain(context: Context) -> bool:
    """Return whether a place certainly is reached, and all that came before it is seen."""
    return not (
        context.is_guess
        or context.hides_faults
        or context.conditions
        or context.is_inside(NO_KNOWN_CALLER)
    )


def begins_in_function(context: Context) -> bool:
    """Return whether it is a `main` that nothing calls: its caller may initialize the system."""
    if not context.call_chain:
        return False
    first = context.call_chain[0].site
    return any(code.place == first.place for code in first.module.facts.functions)


def is_of_this_process(session: Value | None) -> bool:
    """Return whether a session uses this process's TPU; others may initialize that of a server."""
    target = session.argument("target", 0) if isinstance(session, ExternalObject) else UNKNOWN
    return target in (None, NONE, Const(""))


def strategy_behind(receiver: Value | None) -> Strategy | None:
    """Return the strategy whose `run` it is, or in whose scope the fitted model was made."""
    if isinstance(receiver, (ExternalObject, Instance)) and is_model(receiver):
        return strategy_of_model(receiver)
    return receiver if isinstance(receiver, Strategy) else None


def is_whole_program_seen(computation: Computation, creation: ApiCall) -> bool:
    """Return whether all that ran before is seen: no function is around that nothing calls."""
    resolvers = (creation.value("tpu_cluster_resolver", 0) or NONE).options
    if any(value != NONE and not isinstance(value, ExternalObject) for value in resolvers):
        return False  # e.g. what a function gave that is not seen, which may initialize it
    contexts = computation.context, creation.context
    return not any(context.is_inside(NO_KNOWN_CALLER) for context in contexts)


def may_be_initialized(program: Program, computation: Computation, *before: ApiCall) -> bool:
    """Return whether a module that may run before the step initializes the system."""
    calls = (computation.call, *before)
    way = {call.site.module.path for call in calls}
    way |= {step.site.module.path for call in calls for step in call.context.call_chain}
    return any(
        _names_initialization(module)
        and (
            module.path in way
            or any(path.endswith(".ipynb") for path in way)  # `%run` is not seen
            # A module that nothing imports, and that runs no module itself, is another script.
            or module.path in program.importers
            or module.facts.names_any(RUNS_MODULES)
        )
        for module in program.modules
    )


def may_be_initialized_by_library(program: Program) -> bool:
    """Return whether a function of a library may do it, by its name or by its argument."""
    return any(
        naming.MAY_INITIALIZE.is_in(call.path)
        or any(
            isinstance(argument.value, ExternalObject)
            and argument.value.last == "TPUClusterResolver"
            for argument in call.arguments
        )
        for call in program.calls
        if is_of_library(call.path) and call.receiver is None and not is_read(program, call.path)
    )


def is_read(program: Program, path: str) -> bool:
    """Return whether a function is of a module whose own words tell: it imports no library."""
    module_file = f"/{path.rpartition('.')[0].lstrip('.').replace('.', '/')}.py"
    own = (module for module in program.modules if f"/{module.path}".endswith(module_file))
    return any(not any(map(_imports_library, module.nodes())) for module in own)


def _imports_library(node: Node) -> bool:
    if isinstance(node, ImportFrom):
        return node.level > 0 or is_of_library(node.module)
    return isinstance(node, Import) and any(is_of_library(alias.name) for alias in node.names)


def is_of_library(path: str) -> bool:
    """Return whether a call is of code that may know TPUs: not TensorFlow's, not Python's own."""
    root = path.partition(".")[0]
    return not is_tensorflow(path) and root not in tf_names.BUILDS_NOTHING | tf_names.REPORTERS


def _names_initialization(module: Module) -> bool:
    """Return whether a module names what initializes the system, or `Resolver.connect`.

    That does it too (tpu_cluster_resolver.py), and code that is not followed may be what calls it.
    """
    if module.has_word(naming.INITIALIZES):
        return True
    return module.facts.names_any(frozenset(["connect"])) and any(
        isinstance(node, Attribute)
        and node.name == "connect"
        and naming.RESOLVER.is_in(last_name(node.base))
        for node in module.nodes()
    )
