"""What a place of a program runs in: a process, and a release of TensorFlow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from tpulint.absint.domain.context import NO_KNOWN_CALLER, TRY
from tpulint.absint.domain.events import ApiCall, Computation, Context
from tpulint.absint.domain.objects import ExternalObject, Instance
from tpulint.absint.domain.site import CallStep, Module, Site, start_of
from tpulint.absint.domain.values import NONE, Const, External, Value
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.keras_models import keras_base, may_have_own_dtype
from tpulint.frontends.tensorflow.knowledge import operations, tf_names
from tpulint.frontends.tensorflow.knowledge.names import every, having, is_listed, releases
from tpulint.frontends.tensorflow.program import Program, answered_once
from tpulint.frontends.tensorflow.strategy import Strategy, scope_strategy
from tpulint.frontends.tensorflow.target_release import (
    Target,
    allowed,
    keeps_keras_2,
    needs_keras_2,
)
from tpulint.ordering import reachable
from tpulint.queries.certainty import definite_if
from tpulint.syntax.nodes import Attribute, Import, ImportFrom, dotted_path

Event = TypeVar("Event", ApiCall, Computation)


def entry_modules(events: Iterable[Event]) -> list[tuple[Event, Module]]:
    """Return each event with the module whose code leads to it.

    A function that is called somewhere counts as called only: whether it was read by itself, too,
    depends on the order of the files.
    """
    by_site: defaultdict[Site, list[Event]] = defaultdict(list)
    for event in events:
        by_site[event.site].append(event)
    return [
        (event, start_of(event.context.call_chain, event.site).module)
        for same_place in by_site.values()
        for event in _not_called(same_place)
    ]


def _not_called(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the events of one place but those that another one is, with a caller.

    An event is with a caller what it is without one, but for the place of the first call.
    """
    uncalled = {id(event): len(event.context.call_chain) for event in events if _is_uncalled(event)}
    callers: defaultdict[tuple[str, tuple[CallStep, ...]], set[CallStep]] = defaultdict(set)
    for length in set(uncalled.values()):
        for event in events:
            if length <= len(event.context.call_chain):
                first, *rest = event.context.call_chain[-length:]
                callers[first.name, tuple(rest)].add(first)
    for event in events:
        if id(event) in uncalled:
            first, *rest = event.context.call_chain
            if callers[first.name, tuple(rest)] - {first}:
                continue
        yield event


def _is_uncalled(event: ApiCall | Computation) -> bool:
    """Return whether it is in a function that is called in one that was read by itself."""
    scopes = event.context.scopes
    has_caller = bool(event.context.call_chain)
    return has_caller and bool(scopes) and scopes[0].kind == NO_KNOWN_CALLER


def may_share_a_process(program: Program, module: Module, other: Module) -> bool:
    """Return whether a module that was read imports both, directly or not (or is one of them)."""
    if module is other:
        return True
    return not _importers(program, module).isdisjoint(_importers(program, other))


def _importers(program: Program, module: Module) -> set[str]:
    """Return the paths of the module and of all that import it, directly or not."""
    return set(reachable([module.path], lambda path: program.importers.get(path, ())))


KERAS = "tensorflow.keras"
# Classes whose methods are in the table of names, by the ends of their names.
KERAS_CLASSES = {name: f"{KERAS}.{name}" for name in ("Model", "Sequential")}
OPTIMIZERS = "tensorflow.keras.optimizers."
V1_AND_V2 = "tensorflow.summary."  # whose functions build other operations in TensorFlow 2
CONTRIB = "tensorflow.contrib"  # which TensorFlow 2 does not have


def target_at(program: Program, site: Site, path: str) -> Target:
    """Return the target for the dotted name `path` where it is used."""
    module = site.module
    return program.targets.of(module.filename).of_file(module.holds(keeps_keras_2)).of_name(path)


def may_know_the_release(context: Context) -> bool:
    """Return whether a test or a `try` around a place may choose by the release that is there."""
    return bool(context.conditions) or any(scope.kind == TRY for scope in context.scopes)


def path_in_table(call: ApiCall) -> str:
    """Return the dotted name by which the table of names knows what is called; "" if it does not.

    That of a method is the name of its class and its own.
    """
    if not call.path.startswith("?."):
        return call.path if tf_names.is_tensorflow(call.path) else ""
    cls = _class_in_table(call.receiver)
    path = f"{cls}.{call.last}" if cls else ""
    return path if is_listed(path) else ""


def _class_in_table(receiver: Value | None) -> str:
    """Return the class of an object as the table has it, or one that it is derived from."""
    if isinstance(receiver, Strategy):
        return receiver.path
    if isinstance(receiver, Instance):
        return KERAS_CLASSES.get(keras_base(receiver), "")
    if not isinstance(receiver, ExternalObject) or not tf_names.is_tensorflow(receiver.path):
        return ""
    if receiver.path in (f"{KERAS}.{receiver.last}", f"{KERAS}.models.{receiver.last}"):
        return KERAS_CLASSES.get(receiver.last, "")
    package, _, step = receiver.path.partition(".data.")
    first, _, rest = step.partition(".")
    # What is only taken for a dataset has no function that made it.
    is_made = first in tf_names.FILE_READERS or (
        first == "Dataset" and rest.partition(".")[0] in tf_names.DATASET_MAKERS
    )
    makers = tf_names.DATASET_MAKERS | tf_names.FILE_READERS
    is_one = receiver.last in makers | tf_names.DATASET_METHODS
    return f"{package}.data.Dataset" if is_made and is_one else ""


RAGGED = frozenset(["constant", "stack", "range", "boolean_mask"])  # functions of tf.ragged
# What TensorFlow builds of a ragged tensor (tensorflow/python/ops/ragged/ragged_dispatch.py), for
# which a TPU has no kernel.
OF_RAGGED = {"gather": "RaggedGather"}


def makes_ragged(call: ApiCall) -> bool:
    """Return whether a call makes a ragged tensor, as its name says."""
    owner = call.path.rpartition(".")[0].rpartition(".")[2]
    return (owner == "ragged" and call.last in RAGGED) or (
        owner == "RaggedTensor" and call.last.startswith("from_")
    )


def built_of_ragged(program: Program, call: ApiCall) -> operations.BuiltOperation | None:
    """Return what a function of TensorFlow builds where it is given a ragged tensor."""
    if call.last not in OF_RAGGED or call.path != f"tensorflow.{call.last}" or not call.arguments:
        return None
    makers = program.by_result.get(id(call.arguments[0].value), ())
    is_ragged = any(makes_ragged(maker) and maker.last != "constant" for maker in makers)
    return operations.BuiltOperation((OF_RAGGED[call.last],), True) if is_ragged else None


def operation_built(program: Program, call: ApiCall) -> operations.BuiltOperation | None:
    """Return the operation that a call builds and that is not compiled, if any.

    In TensorFlow 1, `tf.summary` is what later releases call `tf.compat.v1.summary`.
    """
    path = call.path
    if not _may_build(path):
        return None
    differs = path.startswith(V1_AND_V2) or operations.builds_in_v1(path)
    if differs and is_for_tensorflow_1(program, call.site):
        return operations.builds(path.replace("tensorflow.", operations.V1, 1))
    built = operations.builds(path)
    if built is None:
        rows = operations.builds_by_argument(path)
        built = next((row for only_if, row in rows if _is_so(call, only_if)), None)
    if built is None and operations.is_new_kernel(path):
        built = operations.builds_in(path, _releases_at(program, call.site))
    return built or built_of_ragged(program, call)


@lru_cache(maxsize=8192)
def _may_build(path: str) -> bool:
    """Return whether a call of the name may build an operation that is not compiled."""
    return (
        path.startswith(V1_AND_V2)
        or operations.builds_in_v1(path)
        or operations.builds(path) is not None
        or bool(operations.builds_by_argument(path))
        or operations.is_new_kernel(path)
        or path.rpartition(".")[2] in OF_RAGGED
    )


def _is_so(call: ApiCall, only_if: operations.OnlyIf) -> bool:
    """Return whether the argument of the call has one of the values, or may have it."""
    if call.is_starred:
        return False
    values = (call.value(only_if.argument, only_if.position) or NONE).options
    if not only_if.values:
        return NONE in values
    texts = [str(value.value) for value in values if isinstance(value, Const)]
    texts += [value.last for value in values if isinstance(value, External)]
    return any(text in only_if.values for text in texts)


def _releases_at(program: Program, site: Site) -> tuple[str, ...]:
    """Return the releases that a place is written for, the oldest first; none if any may do."""
    target = program.targets.of(site.module.filename)
    mask = target.mask
    if not target.stated:
        mask = allowed([("<", "2.0")]) if is_for_tensorflow_1(program, site) else 0
    return tuple(release for i, release in enumerate(releases()) if mask >> i & 1)


def is_written_for(program: Program, path: str, releases_mask: int) -> bool:
    """Return whether the program calls, in each run, what only these releases have under `path`."""
    return any(
        not call.context.conditions and (having(call.path) or every()) & ~releases_mask == 0
        for call in program.all_calls()
        if call.path.startswith(f"{path}.")
    )


def certainty_of_keras_3(program: Program, site: Site) -> Certainty | None:
    """Return how sure it is that Keras 3 runs what is at `site`; None where Keras 2 does."""
    target, keras_3 = target_at(program, site, KERAS), allowed([tf_names.KERAS_3])
    if target.needs_keras_2 or not target.newest & keras_3:
        return None
    if target.stated:
        return definite_if(not target.mask & ~keras_3)
    if is_for_keras_2(program, site):
        return None
    return definite_if(is_written_for(program, KERAS, keras_3))


def is_for_keras_2(program: Program, site: Site) -> bool:
    """Return whether `site` is written for Keras 2: by names, or by the Python of a notebook."""
    runs_keras_3 = program.targets.run_on(site.module.filename) & allowed([tf_names.KERAS_3])
    return not runs_keras_3 or _is_written_for_keras_2(program)


@answered_once
def _is_written_for_keras_2(program: Program) -> bool:
    """Return whether anything in the program tells that it is; each optimizer asks."""
    run_by = {it.call.last for it in program.computations} & tf_names.RUNS_ON_REPLICAS
    return (
        is_written_for(program, KERAS, ~allowed([tf_names.KERAS_3]))
        # A strategy runs steps by the older method, and by none of another name.
        or run_by == {tf_names.RUN_BEFORE_KERAS_3}
        or any(it.holds(keeps_keras_2) or it.holds(needs_keras_2) for it in program.modules)
        or any(
            call.path.startswith(OPTIMIZERS)
            and not call.context.conditions
            and any(argument.keyword == tf_names.KERAS_2_KEYWORD for argument in call.arguments)
            for call in program.all_calls()
        )
    )


def is_for_tensorflow_1(program: Program, site: Site) -> bool:
    """Return whether the module of `site` runs on TensorFlow 1 alone: by its target, or names."""
    target = program.targets.of(site.module.filename)
    if target.stated:
        # A requirement decides before the names that a file uses.
        return not target.mask & allowed([(">=", "2.0")])
    return any(f"{path}.".startswith(f"{CONTRIB}.") for path, _ in imported(site.module)) or (
        site.module.facts.names_any(frozenset(["contrib"]))
        and any(
            isinstance(node, Attribute) and dotted_path(node.base) == "tf.contrib"
            for node in site.module.nodes()
        )
    )


def imported(module: Module) -> list[tuple[str, str]]:
    """Return the dotted names that a module imports, under no `try`, with its names for them.

    Those of `import` come first. `from a import *` is `a.*`.
    """
    modules: list[tuple[str, str]] = []
    parts: list[tuple[str, str]] = []
    for statement in module.facts.body:
        match statement:
            case Import(names=names):
                modules += [(alias.name, alias.asname or alias.name) for alias in names]
            case ImportFrom(module=dotted, level=0, names=None):
                parts.append((f"{dotted}.*", "*"))
            case ImportFrom(module=dotted, level=0, names=[*names]):
                parts += [(f"{dotted}.{it.name}", it.asname or it.name) for it in names]
    return modules + parts


def follow_policy_on_tpu(program: Program) -> bool:
    """Return whether a layer that certainly is a TPU's computes in the dtype of Keras's policy."""
    for call in program.calls:
        layer, context = call.result, call.context
        if not isinstance(layer, ExternalObject) or "keras" not in layer.path:
            continue
        if call.last in tf_names.LAYERS_WITH_WEIGHTS or ".applications." in layer.path:
            strategy = scope_strategy(context)
            is_tpus = strategy is not None and strategy.kind == "tpu" and not context.is_guess
            if is_tpus and not may_have_own_dtype(layer):
                return True
    return False


def is_with_tpu(program: Program, call: ApiCall, *, certainly: bool = False) -> bool:
    """Return whether the test for a TPU's strategy leads to the call, and it `certainly` does."""
    return any(
        strategy.context.run == call.context.run
        and strategy.context.conditions
        and strategy.context.reached_whenever(call.context)
        and (not certainly or call.context.reached_whenever(strategy.context))
        for strategy in program.all_named(tf_names.TPU_STRATEGIES)
    )


def has_no_tpu(program: Program, call: ApiCall) -> bool:
    """Return whether each TPUStrategy of the same run is made in the other branch of a test."""
    is_excluded = [
        strategy.context.is_other_branch(call.context)
        for strategy in program.all_named(tf_names.TPU_STRATEGIES)
        if strategy.context.run == call.context.run
    ]
    return bool(is_excluded) and all(is_excluded)
