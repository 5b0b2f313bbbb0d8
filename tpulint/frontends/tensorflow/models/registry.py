"""Answer the calls that leave the project: by a model of the table, or as operations.py does."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial

from tpulint.absint.domain import objects, values
from tpulint.absint.domain.events import ApiCall, Arguments
from tpulint.absint.domain.objects import Class, ExternalObject, Mapping, Sequence, TraceTimeValue
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, DeferredName, External, Opaque, Value
from tpulint.absint.interpreter import calls, transfer
from tpulint.absint.interpreter.context_managers import is_failing_call, unrecorded
from tpulint.absint.interpreter.frame import Frame
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow import deferred, keras_models
from tpulint.frontends.tensorflow.hooks import Hooks
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.operations import may_lack_kernel
from tpulint.frontends.tensorflow.knowledge.strategies import INITIALIZES, RUNS_EAGERLY
from tpulint.frontends.tensorflow.knowledge.tables import CallFacts, call_facts
from tpulint.frontends.tensorflow.models import (
    clusters,
    control,
    entry_points,
    estimators,
    feeds,
    keras,
    operations,
    python,
    strategies,
    table,
    variables,
)
from tpulint.frontends.tensorflow.models.table import Call, Model, Table, model

WRAPPED = External("tensorflow.compat.v1.tpu.outside_compilation")
# Packages of Python of which no function builds an operation by itself.
STANDARD_LIBRARY = ("builtins.", "collections.", "contextlib.", "functools.", "os.", "typing.")

# Reading begins in functions that mention one of these.
ENTRY_NAMES = (
    tf_names.REPLICATE_FAMILY
    | tf_names.UNMISTAKABLE
    | tf_names.STRATEGY_RUN
    | tf_names.TPU_STRATEGIES
    | INITIALIZES
    | RUNS_EAGERLY
    | tf_names.DISTRIBUTES
    | feeds.FROM_FUNCTION
    | {"_outside_compilation_counter", "train_and_evaluate", "fit"}
)


class Models(Hooks):
    """The models of TensorFlow's calls, for an interpreter."""

    entry_names = ENTRY_NAMES

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._wrappers = frozenset(name.rpartition(".")[2] for name in settings.wrappers)
        configured: Table[Model] = Table()
        add_facts(settings.calls, configured)
        # What a team says of its own libraries is more specific than what all names have in common.
        self._tables = [it for it in (configured, table.PLUGIN_MODELS, table.MODELS) if it]

    def wrapper(self, named: str, callee: Value) -> External | None:
        """Return outside_compilation where a configured wrapper of it is called."""
        if not self._wrappers:
            return None
        last = callee.last if isinstance(callee, External) else named
        return WRAPPED if last in self._wrappers else None

    def call(
        self, frame: Frame, callee: External, receiver: Value | None, args: Arguments, site: Site
    ) -> Value:
        """Return the result of calling `callee`, with its meaning for the lanes written down."""
        takes_part = _as_part_of_program(frame, callee, receiver, args, site)
        if takes_part is not None:
            return calls.call(frame, takes_part, args, site)
        record = ApiCall(callee.path, site, frame.context, args, receiver, UNKNOWN)
        if is_failing_call(record.last):
            with unrecorded(frame):
                return operations.run_given(Call(frame, record))
        call = _record(frame, record)
        for note in table.OBSERVERS.candidates(call):
            note(call)
        result = self._evaluate(call) or operations.answer(call)
        if result is UNKNOWN and not isinstance(callee, DeferredName):
            result = strategies.made_by_unseen_code(call)
        if receiver is None and may_lack_kernel(callee.path):
            result = keras_models.noted(frame, callee, args, site, result)
        record.result = result
        if isinstance(callee, DeferredName):
            frame.session.skipped_calls.add((callee.base.path, callee.path))
            result = deferred.with_deferred_call(record, callee, result)
        elif isinstance(receiver, ExternalObject) and receiver.callee is not None:
            result = deferred.with_deferred_method(record, receiver, result)
        return _with_frozen_arguments(frame, record, result)

    def call_object(
        self, frame: Frame, callee: ExternalObject, args: Arguments, site: Site
    ) -> Value:
        """Return the result of calling an object of an outside class."""
        if callee.callee is not None and deferred.is_in_program(frame.context):
            forced = deferred.force(frame, callee, site)
            if not isinstance(forced, ExternalObject):
                return calls.call(frame, forced, args, site)
        return operations.call_object(frame, callee, args, site)

    def call_unknown(
        self, frame: Frame, callee: Value, args: Arguments, site: Site, named: str
    ) -> Value:
        """Return the result of calling something that is not seen."""
        receiver: Value | None = callee if isinstance(callee, objects.Instance) else None
        if isinstance(callee, Opaque):
            receiver = callee.parent
        path = callee.path if isinstance(callee, Opaque) else named or "?"
        record = ApiCall(path, site, frame.context, args, receiver, UNKNOWN)
        if is_failing_call(record.last):
            with unrecorded(frame):
                return operations.run_given(Call(frame, record))
        built = keras.call_layer(frame, callee, args, site)
        if built is not None:
            return built
        call = _record(frame, record)
        result = self._evaluate(call, is_resolved=False) or _part_of_setting(callee, args)
        if result is None:
            if callee != NONE:
                is_own = isinstance(callee, Opaque) and receiver is None
                reason, values = operations.UNRESOLVED, call.values
                transfer.note_unread(frame, path, *reason, values, site, is_parameter=is_own)
            result = operations.unseen(call)
            if result is UNKNOWN:
                result = strategies.made_by_unseen_code(call)
        else:
            record.result = result
        return _with_frozen_arguments(frame, record, result)

    def _evaluate(self, call: Call, *, is_resolved: bool = True) -> Value | None:
        """Return what the most specific model answers, None where no model does."""
        for models in self._tables:
            for candidate in models.candidates(call, is_resolved):
                value = candidate(call)
                if value is not None:
                    return value
        return None


def _as_part_of_program(
    frame: Frame, callee: External, receiver: Value | None, args: Arguments, site: Site
) -> Value | None:
    """Return what is called, where its module was passed by and it takes part in the program."""
    deferred_callee: Value
    if isinstance(callee, DeferredName):
        deferred_callee = callee
    elif isinstance(receiver, ExternalObject) and receiver.callee is not None:
        deferred_callee = values.Bound(callee, receiver)
    else:
        return None
    called = (call.last for call in frame.session.program.calls)
    if not (
        deferred.is_in_program(frame.context)
        or any(
            deferred.is_of_program(option) for argument in args for option in argument.value.options
        )
        # On a strategy for a TPU that the program has made, a model may be trained.
        or (callee.last == "fit" and not tf_names.TPU_STRATEGIES.isdisjoint(called))
    ):
        return None
    forced = deferred.force(frame, deferred_callee, site)
    return None if isinstance(forced, External) or forced is deferred_callee else forced


def _with_frozen_arguments(frame: Frame, record: ApiCall, result: Value) -> Value:
    """Keep for the rules what the call was given, and not what becomes of it."""
    if not frame.context.is_unrecorded:
        record.arguments = table.snapshot(record.arguments)
    return result


@lru_cache(maxsize=4096)
def _names_no_operation(path: str) -> bool:
    """Return whether the call itself builds no operation: Python, logging, scopes."""
    last = path.rpartition(".")[2]
    return path.startswith(STANDARD_LIBRARY) or last in tf_names.SCOPES or "logging" in path


def _record(frame: Frame, record: ApiCall) -> Call:
    """Note a call for the rules and the order of operations."""
    context = frame.context
    if not context.is_unrecorded:
        computation = context.computation
        (computation.calls if computation else frame.session.program.calls).append(record)
        of_python = isinstance(record.receiver, (Sequence, Mapping, Const))
        if not (of_python or _names_no_operation(record.path)):
            frame.count_possible_operation()
    return Call(frame, record)


def _answer_by(facts: CallFacts, call: Call) -> Value | None:
    """Return what a row of `calls.toml` says of a call."""
    first = call.values[0] if call.arguments else UNKNOWN
    if facts.calls:
        return _CALLING[facts.calls](call)
    on_device = call.frame.context.on_device
    match facts.returns:
        case "argument":
            return first
        case "function":
            is_given = len(call.values) == 1 and isinstance(first, (*table.CALLABLE, Class))
            return first if is_given else None
        case "unknown":
            return UNKNOWN
        case "operation":
            return call.operation("operation")
        case "object":
            return operations.make_object(call)
        case "array":
            return ExternalObject(call.path, call.site, call.frame.context)
        case "draw":  # outside device code it is a number like any other
            return TraceTimeValue(call.path, call.site) if on_device else None
        case "number":
            return transfer.first_trace_time_value(call.values) if on_device else None
        case "context":
            return objects.ContextManagerValue(facts.scope, call.site)
        case "setting":
            return _setting(call, first)
    tensor = operations.make_tensor(call, facts.takes_shape, facts.is_ordered)
    if facts.returns == "tensors":
        return Sequence("list", [tensor], True, call.site, call.frame.context)
    return tensor


def _setting(call: Call, first: Value) -> Value | None:
    """Return what the user sets for a whole run; None for what a program writes into a container.

    What a loop reads, or a step, is not read once.
    """
    context = call.frame.context
    for held in call.values:  # that of a defaultdict comes after what makes its values
        if isinstance(held, Opaque) and held.is_setting:
            return held
    if context.scopes.loops or context.on_device or call.name == "defaultdict":
        return None
    if not call.arguments or isinstance(first, Mapping):
        return None
    is_named = isinstance(first, Const)  # a variable of the environment
    path = f"{call.path}({first!r})"
    return call.frame.session.flag(path) if is_named else Opaque(call.path, is_setting=True)


# absl/flags/_flagvalues.py and _flagholder.py
KINDS_OF_FLAGS = (
    *("bool", "boolean", "enum", "enum_class", "float", "integer", "list", "multi_enum"),
    *("multi_float", "multi_integer", "multi_string", "spaceseplist", "string"),
)


@model(*(f"{root}.flags.DEFINE_{kind}" for root in ("absl", "tf") for kind in KINDS_OF_FLAGS))
def _define_flag(call: Call) -> Value | None:
    """Model `DEFINE_string(name, ...)`: its result holds the value that `FLAGS.name` has."""
    name = call.get("name", 0)
    if not isinstance(name, Const):
        return None
    value = External(f"{call.path.rpartition('.')[0]}.FLAGS.{name.value}")
    return ExternalObject(call.path, call.site, call.frame.context, {"value": value})


TEXT_METHODS = frozenset(["lower", "strip", "upper"])


def _part_of_setting(method: Value, args: Arguments) -> Value | None:
    """Return `settings.get(key)`, and the `lower()` of one: settings, too."""
    if not isinstance(method, Opaque) or not method.is_setting or method.parent is None:
        return None
    key = args[0].value if args else None
    if method.last == "get" and isinstance(key, Const):
        item = f"[{key.value!r}]"
        return method.parent.child(item, method.parent.path + item)
    is_text = method.last in TEXT_METHODS and not args
    return method.child("()", f"{method.path}()") if is_text else None


_CALLING: dict[str, Model] = {
    "branches": control.conditional,
    "loop": control.loop,
    "host": clusters.outside_compilation,
    "device": entry_points.run_on_device,
}
# The modules of models enter theirs when they are imported, before these rows.
MODULES = (clusters, entry_points, estimators, feeds, keras, python, strategies, variables)


def add_facts(rows: Iterable[CallFacts], models: Table[Model]) -> None:
    """Enter the facts of rows: tpulint's own, and those of a team for its helper libraries."""
    for row in rows:
        models.add(row.names, partial(_answer_by, row))


add_facts(call_facts(), table.MODELS)
