"""Keras: the layers of models of outside classes, and the steps that `compile` and `fit` run."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain import objects, values
from tpulint.absint.domain.context import ConditionKey, Scope
from tpulint.absint.domain.events import Argument, Arguments, Context, LayerCall, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Instance, Mapping, Sequence, function_of
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import parts, tensors
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Const, External, Opaque, Value, join
from tpulint.absint.interpreter import attributes, calls, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow import hooks, keras_models
from tpulint.frontends.tensorflow.keras_models import LAYERS, is_model, is_sequential, keras_base
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.models import feeds, table
from tpulint.frontends.tensorflow.models.entry_points import trace
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, observe
from tpulint.frontends.tensorflow.strategy import SCOPE

Model = keras_models.Model
# An attribute of models that is no name of Python's, so that no program sets it.
RESULT = "outputs given"


# keras/src/layers/core/input_layer.py: a symbolic tensor, on which layers are called to put a
# model together.
@table.model("keras.Input", "keras.layers.Input")
def _input(call: Call) -> Value:
    tensor = Tensor(call.frame.context, call.site)
    tensor.layer = LayerCall(None, (), call.site, call.frame.context)
    return tensor


# keras/src/models/sequential.py
@table.model("keras.Sequential.add")
def _add_layer(call: Call) -> Value | None:
    """Add a layer: perhaps, if that is under a condition."""
    if not call.values:
        return None
    model, layer = _receiver_model(call), call.force(call.values[0])
    layers = _layers(model)
    if layers is None:
        layers = Sequence("list", [])
        model.attributes[LAYERS] = layers
    if model.context is not None and not call.frame.context.reached_whenever(model.context):
        layer = join([layer, NONE])
    layers.add(layer)
    return NONE


# keras/src/models/functional.py: a model of outputs replays the layers that made them.
@table.model("keras.Model.__init__")
def _initialize_model(call: Call) -> Value:
    """Remember the layers or the outputs that the class of Keras under a model is made with."""
    model = _receiver_model(call)
    if is_sequential(model):
        held = call.get("layers", 0)
        if isinstance(held, Sequence):
            model.attributes[LAYERS] = Sequence("list", list(held.items), held.open)
    elif is_model(model):
        held = call.get("outputs", 1)
        if held is not None:
            attributes.put(call.frame, model, RESULT, held)
    return NONE


def _receiver_model(call: Call) -> Model:
    assert isinstance(call.receiver, (ExternalObject, Instance))
    return call.receiver


def _layers(model: Model) -> Sequence | None:
    layers = model.attributes.get(LAYERS)
    if layers is None and isinstance(model, ExternalObject):
        passed_layers = model.argument("layers", 0)
        if isinstance(passed_layers, Sequence):
            layers = Sequence("list", list(passed_layers.items), passed_layers.open)
            model.attributes[LAYERS] = layers
    return layers if isinstance(layers, Sequence) else None


def call_layer(frame: Frame, layer: Value, args: Arguments, site: Site) -> Value | None:
    """Run what calling a layer of an outside class runs on the device; None where it is nothing.

    layer: may be an object of the project, of a class without a `call` of its own.
    """
    if frame.context.computation is None or not isinstance(layer, (ExternalObject, Instance)):
        return None
    drawn = transfer.first_trace_time_value(argument.value for argument in args[:1])
    if drawn is not None:  # the first layer computes with it
        transfer.note_effect(frame, "computes", drawn.path, site, drawn.site)
    if is_sequential(layer):
        return _sequence(frame, layer, args, site)
    if isinstance(layer, Instance):
        outputs = layer.attributes.get(RESULT)
        return None if outputs is None else replay(frame, outputs, layer.context, args, site)
    outputs = keras_models.outputs_of(layer)
    if outputs is not None:
        return replay(frame, outputs, layer.context, args, site)
    if "keras" not in layer.path or layer.last in tf_names.FUNCTIONAL:
        return None
    if layer.last == "clone_model":
        model = layer.argument("model", 0)
        return None if model is None else calls.call(frame, model, args, site)
    if layer.last == tf_names.LAMBDA:
        with frame.within(Scope(scopes.WITH, site, effect=scopes.UNCONVERTED)):
            return _function(frame, layer.argument("function", 0), args[:1], site)
    return _call_held_layers(frame, layer, args, site)


def _sequence(frame: Frame, model: Model, args: Arguments, site: Site) -> Value | None:
    """Call the layers one after the other, each with what the one before it gives."""
    layers = _layers(model)
    if layers is None or not args:
        return None
    mode = tuple(argument for argument in args if argument.keyword == tf_names.TRAINING_ARGUMENT)
    result = args[0].value
    for layer in layers.items:
        results = []
        passed = (*calls.by_position(site, result), *mode)
        for number, option in enumerate(layer.options):
            if isinstance(option, (Tensor, Const)):  # `Input(...)`, or a layer that may be missing
                results.append(result)
            elif isinstance(layer, values.Choice):
                with frame.when(ConditionKey("callee", site), number):
                    results.append(calls.call(frame, option, passed, site))
            else:
                results.append(calls.call(frame, option, passed, site))
        result = join(results)
    return result


def _function(frame: Frame, function: Value | None, args: Arguments, site: Site) -> Value | None:
    if function is None:
        return None
    callee = frame.session.force_load(function)
    callables = (*CALLABLE, objects.Class, Instance)
    if not all(isinstance(option, callables) for option in callee.options):
        return None
    return calls.call(frame, callee, args, site)


def _call_held_layers(
    frame: Frame, layer: ExternalObject, args: Arguments, site: Site
) -> Value | None:
    """Call the layers, cells and functions that a layer was made with."""
    outcome: Value | None = None
    for name in tf_names.HOLDERS.get(layer.last, ()):
        inner = layer.argument(name, tf_names.HOLDS_BY_POSITION.get(name))
        if inner is not None and inner != NONE:
            outcome = calls.call(frame, inner, args[:1], site)
    if layer.last in tf_names.CELL_HOLDERS:
        cells = layer.argument(tf_names.CELL_HOLDERS[layer.last], 0)
        for cell in cells.items if isinstance(cells, Sequence) else [cells]:
            if cell is not None and args:
                state = Tensor(frame.context, site, "structure", data=True)
                calls.call(frame, cell, (args[0], *calls.by_position(site, state)), site)
    for keyword, value in layer.arguments:
        first = layer.last == tf_names.ACTIVATION and keyword is None
        if first or keyword in tf_names.FUNCTIONS_OF_LAYERS:
            items = [argument.value for argument in args[:1]]
            computed = calls.by_position(site, transfer.result(frame, items, site))
            result = _function(frame, value, computed, site)
            if result is not None and (first or "activation" in str(keyword)):
                outcome = result
    return outcome


# keras/src/models/functional.py, `Functional.call`
def replay(
    frame: Frame, outputs: Value, built_in: Context | None, args: Arguments, site: Site
) -> Value:
    """Call the layers of a functional model, in the order in which they were put together."""
    data = [argument.value for argument in args if argument.keyword in (None, "inputs")]
    mode = tuple(argument for argument in args if argument.keyword == tf_names.TRAINING_ARGUMENT)
    inputs = _inputs(frame, data, site)
    results: dict[int, Value] = {}

    def here(tensor: Tensor) -> Value:
        result = tensor if tensor.layer is None else results.get(id(tensor.layer), inputs)
        if isinstance(result, Tensor):
            return result
        return transfer.flow(frame, tensors(result), site)  # made of all that are in it

    before = frozenset() if built_in is None else built_in.conditions
    for step in keras_models.steps(outputs):
        layer = keras_models.layer_of(frame, step)
        if layer is None:
            taken = [results.get(id(source), inputs) for source in step.sources]
            if taken:
                results[id(step)] = transfer.result(frame, taken, step.site or site)
            continue
        arguments_here = tuple(
            it._replace(value=transfer.each_tensor(it.value, here)) for it in step.arguments
        )
        has_mode = any(it.keyword == tf_names.TRAINING_ARGUMENT for it in arguments_here)
        if not has_mode and not isinstance(layer, External):  # that is a function of TensorFlow
            arguments_here = (*arguments_here, *mode)
        context = frame.context
        for key, branch in step.context.conditions - before:
            context = context.when(key, branch)
        with frame.at(context):
            results[id(step)] = calls.call(frame, layer, arguments_here, step.site or site)
    return transfer.each_tensor(outputs, here)


def _inputs(frame: Frame, data: list[Value], site: Site) -> Tensor:
    """Return what each input of the model is given: one of `data`, as it is."""
    received = [tensor for value in data for tensor in tensors(value)]
    if len(received) == 1:
        return received[0]
    tensor = transfer.flow(frame, received, site)
    tensor.computed = any(source.computed for source in received)
    return tensor


# Steps: `fit` of a model made under a TPUStrategy's scope runs its step by `strategy.run`

# Attributes of models that are no names of Python's: what `compile` was given.
COMPILED = {
    "optimizer": ("compiled optimizer", 0),
    "loss": ("compiled losses", 1),
    "metrics": ("compiled metrics", 2),
    "weighted_metrics": ("compiled weighted metrics", None),
}


# keras/src/trainers/trainer.py and keras/engine/training.py keep these as they are given: a name of
# a loss stays a string there.
GIVEN = frozenset(["optimizer", "loss"])


# keras/src/trainers/trainer.py: losses, metrics and the optimizer run in every step.
@table.observe("?.compile")
def _compile_model(call: Call) -> None:
    """Keep what `compile` was given; the call itself returns nothing that matters."""
    keras_models.note_compiled(call.receiver, call.arguments)
    if not is_model(call.receiver):
        return
    model = _receiver_model(call)
    keras_models.note_scope(model, call.frame.context)
    for keyword, (attribute, position) in COMPILED.items():
        value = call.get(keyword, position)
        if value is not None and value != NONE:
            setting = call.force(value)
            attributes.put(call.frame, model, attribute, setting)
            if keyword in GIVEN and not isinstance(setting, (Const, Mapping, Sequence)):
                attributes.put(call.frame, model, keyword, setting)


# keras/src/backend/tensorflow/trainer.py: `strategy.run(step)` in a tf.function.
@table.observe(*(f"keras.Model.{name}" for name in tf_names.STEPS))
def _run_steps(call: Call) -> None:
    """Run the steps of the model; what `fit` or `predict` returns is the host's own."""
    model = _receiver_model(call)
    strategy = keras_models.strategy_of_model(model)
    if strategy is None or strategy.kind == "other" or model.context is None:
        return
    if strategy.kind == "unknown" and not call.names_a_tpu():
        return
    blocks = model.context.with_blocks(SCOPE, "")
    is_definite = strategy.kind == "tpu" and not any(block.is_uncertain for block in blocks[:1])
    certainty = Certainty.DEFINITE if is_definite else Certainty.POSSIBLE
    name = tf_names.STEPS[call.name]
    _step(call, model, name, certainty, is_validation=False)
    if name == "train_step" and call.get("validation_data") not in (None, NONE):
        _step(call, model, tf_names.STEPS["evaluate"], certainty, is_validation=True)
    _callbacks(call, model)


# keras/src/backend/tensorflow/trainer.py: a step of the project's own calls `super()`.
@table.model(*(f"keras.Model.{name}" for name in sorted(set(tf_names.STEPS.values()))))
def _run_default_step(call: Call) -> Value | None:
    """Model `train_step`, `test_step` and `predict_step` as Keras writes them."""
    frame, site, model = call.frame, call.site, _receiver_model(call)
    if frame.context.computation is None:
        return None
    batch = call.values[0] if call.values else UNKNOWN
    pair = batch.items if isinstance(batch, Sequence) and not batch.open else []
    inputs = pair[0] if pair else _element(call, batch)
    labels = pair[1] if len(pair) > 1 else _element(call, batch)
    training = Argument(tf_names.TRAINING_ARGUMENT, "", Const(call.name == "train_step"), site)
    model_outputs = calls.call(frame, model, (*calls.by_position(site, inputs), training), site)
    if call.name == "predict_step":
        return model_outputs
    outputs = model_outputs if model_outputs is not UNKNOWN else _element(call, batch)
    loss = _call_own_method(call, model, "compute_loss", (inputs, labels, outputs))
    if loss is None:
        loss = _losses(call, model, labels, outputs)
    if call.name == "train_step":
        _update(call, model, loss)
    if _call_own_method(call, model, "compute_metrics", (inputs, labels, outputs, NONE)) is None:
        _metrics(call, model, labels, outputs)
    logged = transfer.result(frame, [loss], site)
    logged.shape, logged.data = (), True
    return Mapping({"loss": logged}, True)


# keras/src/trainers/trainer.py, `compute_loss`; older releases call `compiled_loss`.
@table.model(*(f"keras.Model.{name}" for name in tf_names.RUNS_COMPILED))
def _run_compiled(call: Call) -> Value | None:
    if call.frame.context.computation is None:
        return None
    labels, outputs = _pair(call, *tf_names.RUNS_COMPILED[call.name])
    if call.name != tf_names.RUNS_METRICS:
        return _losses(call, _receiver_model(call), labels, outputs)
    _metrics(call, _receiver_model(call), labels, outputs)
    return Mapping({}, True)


# Keras 2 (keras/engine/training.py): an object that holds all metrics of a model.
@table.model("types.MethodType.update_state")
def _update_compiled_metrics(call: Call) -> Value | None:
    """Model `self.compiled_metrics.update_state(y, y_pred)`."""
    receiver = call.receiver
    assert isinstance(receiver, Bound)
    owner, name = receiver.receiver, receiver.function
    if not isinstance(owner, (ExternalObject, Instance)) or not is_model(owner):
        return None
    if not isinstance(name, External) or name.last != "compiled_metrics":
        return None
    _metrics(call, owner, *_pair(call, 0, 1))
    return UNKNOWN


def _step(
    call: Call, model: Model, name: str, certainty: Certainty, *, is_validation: bool
) -> None:
    """Keras traces the step in a tf.function of its own, and gives it one batch.

    That converts no control flow of Python's: Keras is a module that autograph leaves alone.
    """
    frame = call.frame
    step: Value = Bound(External(f"keras.Model.{name}"), model)
    if isinstance(model, Instance):
        own = attributes.get(frame, model, name, call.site)
        step = own if function_of(own) is not None else step
    pipeline = call.get("validation_data" if is_validation else "x", None if is_validation else 0)
    data = UNKNOWN if pipeline is None else call.force(pipeline)
    rows = feeds.batch_of_fit(call, data, is_validation=is_validation)
    batch = [Argument(None, "", rows, call.site)]
    with frame.within(Scope(scopes.FUNCTION, call.site)):
        plain = (Scope(scopes.WITH, call.site, effect=scopes.UNCONVERTED),)
        trace(call, "run", step, batch, certainty=certainty, mode="function", inside=plain)


def _callbacks(call: Call, model: Model) -> None:
    """Callbacks run on the host, between the steps."""
    callbacks = call.force(call.get("callbacks") or NONE)
    for callback in callbacks.items if isinstance(callbacks, Sequence) else [callbacks]:
        if not isinstance(callback, Instance):
            continue
        callback.attributes.setdefault("model", model)
        for name in sorted(tf_names.CALLBACK_METHODS & _own_names(callback)):
            method = attributes.get(call.frame, callback, name, call.site)
            if function_of(method) is not None:
                number = Opaque("epoch" if "epoch" in name else "batch")
                is_of_all = "_batch_" not in name and name.startswith(("on_train_b", "on_train_e"))
                numbers = [] if is_of_all else [number]
                call.call_with(method, *numbers, Opaque("logs"))


def _own_names(value: Instance) -> set[str]:
    classes = [base for base in objects.mro(value.cls) if isinstance(base, objects.Class)]
    return {name for cls in classes for name in cls.names}


def _pair(call: Call, labels: int, outputs: int) -> tuple[Value, Value]:
    pair = call.get(tf_names.LABELS, labels), call.get(tf_names.OUTPUTS, outputs)
    return pair[0] or UNKNOWN, pair[1] or UNKNOWN


# keras/src/backend: it takes the value of each variable, which tracing has not.
@table.model("keras.layers.Layer.get_weights")
def _get_weights(call: Call) -> Value | None:
    owner = call.receiver
    if isinstance(owner, Instance) and not keras_base(owner):
        return None
    weight = hooks.weights(owner) if isinstance(owner, ExternalObject) else UNKNOWN
    return Sequence("list", [weight], True, call.site)


def _element(call: Call, batch: Value) -> Tensor:
    tensor = transfer.result(call.frame, [batch], call.site, "structure")
    tensor.per_replica = tensor.data = True
    return tensor


def _call_own_method(
    call: Call, model: Model, name: str, values: tuple[Value, ...]
) -> Value | None:
    """Call the model's own method `name`; None where it has none."""
    if not isinstance(model, Instance):
        return None
    method = attributes.get(call.frame, model, name, call.site)
    return None if function_of(method) is None else call.call_with(method, *values)


# keras/src/trainers/compile_utils.py
def _compared(call: Call, labels: Value, outputs: Value) -> Arguments:
    """Return what losses and metrics get: the tensor itself, where the model has one output."""
    only = _items(outputs)
    if only is not None and len(only) == 1 and isinstance(only[0], Tensor):
        outputs = only[0]
        labels = (_items(labels) or [labels])[0]
    return calls.by_position(call.site, labels, outputs)


def _items(structure: Value) -> list[Value] | None:
    """Return the items of a list, tuple or dict that is known as a whole."""
    if not isinstance(structure, (Sequence, Mapping)) or structure.open:
        return None
    return parts(structure)


def _losses(call: Call, model: Model, labels: Value, outputs: Value) -> Value:
    args = _compared(call, labels, outputs)
    for loss in _flatten(call, model.attributes.get(COMPILED["loss"][0])):
        _call_object(call, loss, args, "call")
    loss_tensor = transfer.result(call.frame, [labels, outputs], call.site)
    loss_tensor.shape = ()
    return loss_tensor


def _metrics(call: Call, model: Model, labels: Value, outputs: Value) -> None:
    args = _compared(call, labels, outputs)
    for keyword in ("metrics", "weighted_metrics"):
        for metric in _flatten(call, model.attributes.get(COMPILED[keyword][0])):
            _call_object(call, metric, args, "update_state")
            if isinstance(metric, Instance):
                _call_object(call, metric, (), "result")


def _call_object(call: Call, value: Value, args: Arguments, name: str) -> None:
    """Call a function, or the method `name` of an object or of a class's object."""
    frame, site = call.frame, call.site
    if isinstance(value, ExternalObject) and value.last in tf_names.FUNCTION_HOLDERS:
        value = value.argument("fn", 0) or UNKNOWN
    if isinstance(value, objects.Class):
        with frame.without_recording():
            value = calls.call(frame, value, (), site)
    if isinstance(value, Instance):
        value = attributes.get(frame, value, name, site)
        value = value if function_of(value) is not None else UNKNOWN
    if isinstance(value, CALLABLE):
        with frame.within(Scope(scopes.WITH, site, effect=scopes.MAY_CONVERT)):
            calls.call(frame, value, args, site)


def _update(call: Call, model: Model, loss: Value) -> None:
    """Count a step of the optimizer; one of the project's own, and a schedule, are called."""
    frame, site = call.frame, call.site
    for optimizer in model.attributes.get(COMPILED["optimizer"][0], UNKNOWN).options:
        step = None
        if isinstance(optimizer, ExternalObject):
            step = attributes.get(frame, optimizer, "iterations", site)
            _call_schedule(call, optimizer, [loss])
        elif isinstance(optimizer, Instance):
            for name in sorted(tf_names.OPTIMIZER_STEPS & _own_names(optimizer)):
                method = attributes.get(frame, optimizer, name, site)
                pair = Sequence("tuple", [_element(call, loss), _element(call, loss)])
                taken: Iterable[Value] = pair.items
                if name == "apply_gradients":
                    taken = [Sequence("list", [pair], True)]
                call.call_with(method, *taken)
        if isinstance(step, Variable):
            transfer.access(frame, step, "write", "apply_gradients", site)


@observe(*(f"?.{name}" for name in tf_names.OPTIMIZER_UPDATES))
def _step_of_optimizer(call: Call) -> None:
    if call.frame.context.computation is not None:
        for optimizer in (call.receiver or UNKNOWN).options:
            if isinstance(optimizer, ExternalObject):
                _call_schedule(call, optimizer, call.values)


def _call_schedule(call: Call, optimizer: ExternalObject, taken: list[Value]) -> None:
    """Call the project's own schedule, which the optimizer asks for its rate in each step."""
    rate = optimizer.argument("learning_rate", 0)
    if isinstance(rate, Instance):
        count = transfer.result(call.frame, taken, call.site)
        count.shape, count.uniform = (), True
        call.call_with(rate, count)


def _flatten(call: Call, value: Value | None, depth: int = 0) -> list[Value]:
    """Return the losses or metrics in what `compile` was given: lists and dicts of them opened."""
    if value is None or depth > 3:
        return []
    leaves = []
    for option in call.force(value).options:
        if isinstance(option, (Sequence, Mapping)):
            leaves += [leaf for item in parts(option) for leaf in _flatten(call, item, depth + 1)]
        else:
            leaves.append(option)
    return leaves
