"""The variables of a computation, and which side reads and writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tpulint.absint.domain.events import (
    AVERAGES,
    MAYBE_AVERAGES,
    REGULARIZER,
    TOUCHES,
    Access,
    ApiCall,
    Computation,
    Context,
    Variable,
)
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import tensors
from tpulint.absint.domain.values import Const, Value
from tpulint.finding import DEVICE_LANE, HOST_LANE
from tpulint.frontends.tensorflow import map_facts
from tpulint.frontends.tensorflow.program import Program
from tpulint.map.lanes import EventBoxes, Part
from tpulint.map.pictures import model
from tpulint.ordering import reachable

SHARED = 16  # variables that the host touches too
OWN = 6  # variables that only the device touches
MOST_TOUCHES = 8  # touches of a variable
TRAINED = ("variable", "weights")  # sorts that an optimizer writes
Row: TypeAlias = tuple[Variable, list[Access]]
# What the modes that only the map shows are to a reader.
SHOWN = {AVERAGES: "write", MAYBE_AVERAGES: "unknown", REGULARIZER: "read"}


def variables_of(
    program: Program, computation: Computation, lanes: EventBoxes, part: Part
) -> tuple[tuple[model.MapVariable, ...], Mapping[int, str], list[str]]:
    """Return the variables that the part touches, their keys by identity, and what is left out.

    First come those that both sides touch, then those of the host alone.
    """
    creations = _Creations(program, computation)
    by_variable: dict[object, Row] = {}
    inside: set[object] = set()
    for access in _touches(computation, creations, lanes):
        if part.runs(access.context):
            key = _identity(access.variable)
            by_variable.setdefault(key, (access.variable, []))[1].append(access)
            if id(access) in lanes.of_event and part.has(access.context, access.site):
                inside.add(key)
    rows = [row for key, row in by_variable.items() if key in inside]
    rows = _without_layers_of_models(rows, lanes)
    rows = _without_models_of_layers(rows, creations, lanes)
    lanes_of = {id(variable): {_lane(access) for access in touched} for variable, touched in rows}
    shared = [row for row in rows if HOST_LANE in lanes_of[id(row[0])]]
    shared.sort(key=lambda row: DEVICE_LANE not in lanes_of[id(row[0])])
    own = [row for row in rows if HOST_LANE not in lanes_of[id(row[0])]]
    keys: dict[int, str] = {}
    variables: list[model.MapVariable] = []
    for number, (variable, touched) in enumerate([*shared[:SHARED], *own[:OWN]]):
        key = f"variable {number}"
        keys |= {id(access.variable): key for access in touched}
        variables.append(_described(key, variable, touched, lanes))
    left_out = []
    if len(shared) > SHARED:
        left_out.append(f"{len(shared) - SHARED} more variables that the host touches")
    if len(own) > OWN:
        names = list(dict.fromkeys(variable.name for variable, _ in own[OWN:]))
        some = ", ".join(names[:OWN]) + (", ..." if len(names) > OWN else "")
        more = f"{len(own) - OWN} more variable{'s' if len(own) - OWN > 1 else ''}"
        left_out.append(f"{more} that only the device touches: {some}")
    return tuple(variables), keys, left_out


# What an optimizer writes: the analysis keeps what it is given, and what that was computed from.


def _touches(
    computation: Computation, creations: _Creations, lanes: EventBoxes
) -> Iterator[Access]:
    """Yield the reads and writes of variables that are there, with those of optimizers."""
    touches = []
    for access in computation.accesses:
        if creations.is_there(access.variable):
            if access.mode in SHOWN:
                touches.append(_moved(access, access.variable, SHOWN[access.mode], lanes))
            elif access.mode in TOUCHES and access.how not in map_facts.TAKEN:
                touches.append(access)
    touches += _reads_of_layer_functions(computation, lanes)
    updates = [call for call in computation.calls if map_facts.is_update(call)]
    updated = {call.site for call in updates}
    for access in touches:
        # An optimizer is given a variable in order to write it.
        is_given = (
            access.site in updated
            and access.mode == "read"
            and map_facts.is_update_name(access.how)
        )
        if is_given and creations.is_trained(access.variable):
            yield _written(access, access, lanes)
        else:
            yield access
    writers = {(access.site, access.how) for access in touches if access.variable.sort in TRAINED}
    for call in updates:
        if (call.site, call.last) not in writers:
            for access in _read_before(call, touches):
                if creations.is_trained(access.variable):
                    yield _written(access, call, lanes)


def _moved(access: Access, variable: Variable, mode: str, lanes: EventBoxes) -> Access:
    """Return the access as one of `variable` and with this mode, in the same box."""
    moved = Access(variable, mode, access.how, access.site, access.context)
    return _copy_box(access, moved, lanes)


def _copy_box(event: Access | ApiCall, access: Access, lanes: EventBoxes) -> Access:
    """Return the access, in the box of the event."""
    if id(event) in lanes.of_event:
        lanes.of_event[id(access)] = lanes.of_event[id(event)]
    return access


def _reads_of_layer_functions(computation: Computation, lanes: EventBoxes) -> Iterator[Access]:
    """Yield a read of the weights that each call of a function makes with weights of its own."""
    for call in computation.calls:
        if map_facts.has_own_weights(call):
            weights = Variable(f"{call.last}.weights", "weights", call.site, call.context)
            operation = next((tensor.operation for tensor in tensors(call.result)), None)
            read = Access(weights, "read", call.last, call.site, call.context, operation)
            yield _copy_box(call, read, lanes)


def _written(access: Access, update: Access | ApiCall, lanes: EventBoxes) -> Access:
    """Return the write of a variable by an update, in the box of that."""
    how = update.how if isinstance(update, Access) else update.last
    how = "fit" if how == "train_step" else how
    write = Access(access.variable, "write", how, update.site, update.context)
    return _copy_box(update, write, lanes)


def _read_before(update: ApiCall, touches: Iterable[Access]) -> Iterator[Access]:
    """Yield a read of each variable that is read on the way to what the optimizer is given.

    A library's whole step gives it the loss of all that the model computes.
    """
    before = _ancestors(update.result)
    yielded: set[int] = set()
    for access in touches:
        is_before = map_facts.is_whole_step(update) or id(access.operation) in before
        if is_before and access.context.cluster is None and id(access.variable) not in yielded:
            yielded.add(id(access.variable))
            yield access


def _ancestors(value: Value) -> set[int]:
    """Return the operations of a value's tensors and those that they depend on, by identity."""
    operations = [tensor.operation for tensor in tensors(value) if tensor.operation is not None]
    return set(map(id, reachable(operations, lambda operation: operation.sources, id)))


class _Creations:
    """The calls that make variables, or the objects whose weights they are."""

    def __init__(self, program: Program, computation: Computation) -> None:
        self._results = program.by_result
        self._outside = program.at
        self._inside: dict[Site, list[ApiCall]] = {}
        for call in computation.calls:
            self._inside.setdefault(call.site, []).append(call)

    def is_trained(self, variable: Variable) -> bool:
        """Return whether an optimizer writes the variable where nobody says which ones."""
        call = self._of(variable)
        trainable = call.argument("trainable") if call is not None else None
        is_fixed = trainable is not None and trainable.value == Const(False)
        return variable.sort in TRAINED and not is_fixed

    def is_there(self, variable: Variable) -> bool:
        """Return whether there is such a variable: not all objects have weights."""
        call = self._of(variable)
        return variable.sort != "weights" or call is None or map_facts.may_have_weights(call)

    def before_outputs(self, variable: Variable) -> set[object]:
        """Return the sites and the operations of what makes a functional model's outputs.

        Outside a computation a layer is called on symbolic tensors, which know the calls that made
        them; inside, on tensors of the graph.
        """
        call = self._of(variable)
        outputs = call.argument("outputs", 1) if call is not None else None
        if outputs is None or variable.name != "Model.weights":
            return set()
        before: set[object] = {step.site for step in map_facts.steps(outputs.value)}
        return before | _ancestors(outputs.value)

    def _of(self, variable: Variable) -> ApiCall | None:
        calls = self._results.get(id(variable), [])
        if variable.site is not None:
            calls = calls or [
                call
                for by_site in (self._inside, self._outside)
                for call in by_site.get(variable.site, ())
                if f"{call.last}.weights" == variable.name
            ]
        return calls[0] if calls else None


def _without_layers_of_models(rows: Sequence[Row], lanes: EventBoxes) -> list[Row]:
    """Return the rows without the layers that only a model of this map calls.

    The model has their weights: what else writes those, such as averages, writes the model.
    """
    remaining = []
    models = [row for row in rows if row[0].name in ("Sequential.weights", "Model.weights")]
    for row in rows:
        variable, touched = row
        sites = {access.site for access in touched}
        calling = [
            other
            for other in models
            if other[0] is not variable and sites <= {access.site for access in other[1]}
        ]
        if variable.sort != "weights" or not calling:
            remaining.append(row)
            continue
        of_model, accesses = calling[0]
        accesses.extend(
            _moved(access, of_model, access.mode, lanes)
            for access in touched
            if access.mode != "read" and not map_facts.is_update_name(access.how)
        )
    return remaining


def _without_models_of_layers(
    rows: Sequence[Row], creations: _Creations, lanes: EventBoxes
) -> list[Row]:
    """Return the rows without models that are made of inputs and outputs, if their layers are here.

    Such a model has the weights of its layers: what writes it writes them.
    """
    remaining = list(rows)
    for row in rows:
        variable, touched = row
        before = creations.before_outputs(variable)
        layers = [
            layer
            for layer in remaining
            if layer is not row and layer[0].sort == "weights"
            if any({access.site, id(access.operation)} & before for access in layer[1])
        ]
        if layers:
            remaining.remove(row)
        for _, of_layer in layers:
            written = {access.site for access in of_layer if access.mode == "write"}
            of_layer += [
                _written(of_layer[0], access, lanes)
                for access in touched
                if access.mode == "write" and access.site not in written
            ]
    return remaining


# The words for a variable.


def _identity(variable: Variable) -> object:
    """Return what is one variable to a reader: one name, made at one place."""
    return (variable.name, variable.sort, variable.site) if variable.site else id(variable)


def _described(
    key: str, variable: Variable, accesses: list[Access], lanes: EventBoxes
) -> model.MapVariable:
    seen: dict[tuple[model.MapTouch, Context], None] = {}
    for access in accesses:
        if access.site.place >= 0:
            mode = "read or write" if access.mode == "unknown" else access.mode
            box, lane = lanes.of_event.get(id(access), ""), _lane(access)
            touch = model.MapTouch(box, lane, mode, access.how, access.site.span)
            seen[touch, access.context] = None
    counted = Counter(touch for touch, _ in seen)
    touches = [replace(touch, times=times) for touch, times in counted.items()]
    touches.sort(key=lambda touch: (touch.lane, touch.mode != "write"))
    some = []
    for lane in (DEVICE_LANE, HOST_LANE):
        in_lane = [touch for touch in touches if touch.lane == lane]
        some += in_lane[: MOST_TOUCHES // 2]
    span = variable.site.span if variable.site is not None and variable.site.place >= 0 else None
    return model.MapVariable(
        key, variable.name, variable.sort, span, tuple(some), len(touches) - len(some)
    )


def _lane(access: Access) -> str:
    return DEVICE_LANE if access.context.cluster is None else HOST_LANE
