"""The objects of Keras and TensorFlow: models, losses, datasets, and what calling a layer gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpulint.absint.domain import events, values
from tpulint.absint.domain.context import BaseContext
from tpulint.absint.domain.events import AVERAGES, Argument, Arguments, LayerCall, Tensor, Variable
from tpulint.absint.domain.objects import ExternalObject, Function, Instance, Mapping, Sequence, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import parts, tensors
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Opaque, Text, Value
from tpulint.absint.interpreter import expressions, transfer
from tpulint.absint.interpreter.frame import Frame
from tpulint.frontends.tensorflow import deferred
from tpulint.frontends.tensorflow.knowledge import naming, strategies, tf_names
from tpulint.frontends.tensorflow.knowledge.tf_names import SEQUENTIAL, TRAINING_ARGUMENT
from tpulint.frontends.tensorflow.strategy import SCOPE, Strategy, is_of_tpu, scope_strategy

CLASSES = tf_names.FUNCTIONAL | {SEQUENTIAL}
MODELS = strategies.MODELS_WITH_VARIABLES | CLASSES | tf_names.PREMADE
# An attribute of an object of another library, which `compile` has shown to be a model.
IS_MODEL = "compiled as a model"
COMPILED_UNDER = "compiled under"
CALLED = "()"  # follows a layer's name where what it is called with is noted
# The calls that run a model over a pipeline, with the parameters that take one.
FITS = {"fit": ("x", "validation_data"), "evaluate": ("x",), "predict": ("x",)}
COMPILES = frozenset(["optimizer", "loss", "metrics"])

Model = ExternalObject | Instance


def is_model(value: Value | None) -> bool:
    """Return whether this is a Keras model, or an object of a class that is one."""
    if isinstance(value, ExternalObject):
        named = value.last in MODELS or ".applications." in value.path
        return ("keras" in value.path and named) or IS_MODEL in value.attributes
    return isinstance(value, Instance) and keras_base(value) in CLASSES


PRETRAINED = ("from_pretrained", "from_preset")


def is_pretrained(path: str) -> bool:
    """Return whether a call makes a model of Keras, in another library, and loads its weights."""
    # transformers/modeling_tf_utils.py: classes whose names begin so are models of Keras.
    # keras_hub/src/models/task.py: so are those that have presets.
    home, _, last = path.rpartition(".")
    package, name = home.partition(".")[0], home.rpartition(".")[2]
    if last not in PRETRAINED:
        return False
    is_of_keras = last == "from_preset" and package.startswith("keras_")
    return is_of_keras or (package == "transformers" and name.startswith("TF"))


def note_compiled(value: Value | None, args: Arguments) -> None:
    """Note that an object of another library is a model of Keras, if it is compiled like one."""
    if not isinstance(value, ExternalObject) or tf_names.is_tensorflow(value.path):
        return
    if value.callee is None and _names_parts(args):
        value.attributes[IS_MODEL] = Const(True)


def note_scope(model: Model, context: BaseContext) -> None:
    """Note that a model that was made under no scope is compiled under that of a TPU.

    Keras refuses it (TPU702); what else is wrong with its steps is due all the same.
    """
    strategy = scope_strategy(context)
    if scope_strategy(model.context) is not None or strategy is None or not is_of_tpu(strategy):
        return
    if not context.with_blocks(SCOPE, "")[0].is_uncertain:
        model.attributes[COMPILED_UNDER] = strategy


def strategy_of_model(model: Model) -> Strategy | None:
    """Return the strategy under whose scope a model was made, or else compiled."""
    compiled_under = model.attributes.get(COMPILED_UNDER)
    own = scope_strategy(model.context)
    return own or (compiled_under if isinstance(compiled_under, Strategy) else None)


def compiles_model(args: Arguments) -> bool:
    """Return whether a method `compile` is called as that of a model, an optimizer first."""
    return _names_parts(args) or len(args) > 1


def _names_parts(args: Arguments) -> bool:
    return any(argument.keyword in COMPILES for argument in args)


NO_MOMENTUM = (Const(0), Const(0.0))
PLAIN_SGD = (Const("sgd"), Const("SGD"))


def is_optimizer(value: Value | None) -> bool:
    if not isinstance(value, ExternalObject):
        return False
    return ".optimizers." in value.path and "keras" in value.path and value.last[:1].isupper()


def has_slots(optimizer: Value) -> bool:
    """Return whether the optimizer makes variables beside the model's; plain SGD does not."""
    # keras/optimizers/sgd.py creates slots for momentum only.
    if isinstance(optimizer, Const):
        return optimizer not in PLAIN_SGD
    if not isinstance(optimizer, ExternalObject) or optimizer.last != "SGD":
        return isinstance(optimizer, ExternalObject)
    return dict(optimizer.arguments).get("momentum", Const(0)) not in NO_MOMENTUM


def is_made_with_weights(part: ExternalObject) -> bool:
    """Return whether this is a model, or a layer of a hub, that has its variables when it is made.

    Hugging Face's models for TensorFlow load theirs.
    """
    if ".applications." in part.path or part.last in strategies.MODELS_WITH_VARIABLES:
        return True
    # Packages that copy the models of keras/src/applications copy their arguments.
    has_top = any(keyword == "include_top" for keyword, _ in part.arguments)
    return has_top or is_of_hub(part) or is_pretrained(part.path)


def is_of_hub(part: ExternalObject) -> bool:
    return part.last == "KerasLayer" and "hub" in part.path


def is_preprocessor(part: ExternalObject) -> bool:
    """Return whether this is a hub's layer that prepares text: it has tables, and no variables."""
    named = (part.argument("handle", 0), part.argument("name"))
    return is_of_hub(part) and any(
        isinstance(name, (Const, Text)) and naming.PREPROCESSING.is_in(repr(name)) for name in named
    )


# keras/src/metrics: those that make their variables when they are updated first.
BUILT_LATER = frozenset(["F1Score", "FBetaScore", "R2Score"])


def is_metric(part: ExternalObject) -> bool:
    """Return whether this is a metric of Keras that makes its variables when it is made."""
    is_one = part.path.endswith(f"keras.metrics.{part.last}") and part.last[:1].isupper()
    return is_one and part.last not in BUILT_LATER and part.argument("multi_label") is None


def is_sequential(value: Value | None) -> bool:
    """Return whether the value is a model of layers that follow each other."""
    if isinstance(value, Instance):
        return keras_base(value) == SEQUENTIAL
    return is_model(value) and isinstance(value, ExternalObject) and value.last == SEQUENTIAL


def keras_base(value: Instance) -> str:
    """Return the last name of the class of Keras that an object's class is made of, or ""."""
    for base in mro(value.cls):
        if isinstance(base, External) and "keras" in base.path:
            return base.last
    return ""


# Autograph leaves the package `keras` alone (tensorflow/python/autograph/core/config.py). Keras 2
# converts `call` by itself (keras/engine/base_layer.py); Keras 3 does not.
def may_be_keras_3(value: Instance) -> bool:
    """Return whether an object's class is made of one of Keras, which may be that of Keras 3."""
    homes = [base.path for base in mro(value.cls) if isinstance(base, External)]
    return any("keras" in home and not home.startswith("tf_keras.") for home in homes)


def is_loss(value: Value | None) -> bool:
    """Return whether this is an object of one of Keras' losses."""
    if not isinstance(value, ExternalObject) or not value.last[:1].isupper():
        return False
    return "keras" in value.path and ".losses." in value.path


def reduction_of(loss: ExternalObject) -> str | None:
    """Return how the loss reduces: "none", "sum" or "mean"; None where that is not seen."""
    if any(keyword is None for keyword, _ in loss.arguments):
        return None  # where a reduction stands differs by the class
    argument = loss.argument("reduction")
    if argument is None:
        return "mean"
    reductions = {_reduction(option) for option in argument.options}
    return reductions.pop() if len(reductions) == 1 else None


def _reduction(value: Value) -> str | None:
    if isinstance(value, External):
        return tf_names.REDUCTIONS.get(value.last.lower())
    return tf_names.REDUCTIONS.get(str(value.value).lower()) if isinstance(value, Const) else None


def is_dataset(value: Value) -> bool:
    """Return whether this is an input pipeline, as its name says."""
    return all(
        isinstance(it, ExternalObject) and naming.DATASET.is_in(it.path) for it in value.options
    )


def with_training(frame: Frame, call: Function, args: Arguments, site: Site) -> Arguments:
    """Return what the method `call` of a layer is given: Keras fills `training` in, or drops it."""
    code = call.code.parameters
    names = [parameter.name for parameter in code.named]
    if TRAINING_ARGUMENT not in names:
        if code.star_star is not None:
            return args
        return tuple(arg for arg in args if arg.keyword != TRAINING_ARGUMENT)
    plain = sum(arg.keyword is None for arg in args)
    has_training = any(arg.keyword == TRAINING_ARGUMENT or arg.star for arg in args)
    if has_training or plain >= names.index(TRAINING_ARGUMENT):  # `self` is not among `args`
        return args
    around = frame.env.names.get(TRAINING_ARGUMENT, Opaque(TRAINING_ARGUMENT, is_static=True))
    return (*args, Argument(TRAINING_ARGUMENT, "", around, site))


# keras/src/layers/layer.py: the base class of layers casts the first argument of `call` to its
# compute dtype, unless the layer is made with a dtype of its own, or told not to.
LAYER = "Layer"
OWN_DTYPE = "dtype given"  # an attribute that is no name of Python's, so that no program sets it
DTYPE_ARGUMENTS = frozenset(["dtype", "dtype_policy", "autocast"])
DTYPE_ATTRIBUTES = frozenset(["_autocast", "autocast", "_dtype_policy", "dtype_policy"])
DTYPE_ATTRIBUTES |= {"_compute_dtype", OWN_DTYPE}
CAST = frozenset([None, "bfloat16", "float16", "float32", "float64"])  # what is cast


def note_dtype(layer: Instance, args: Arguments) -> None:
    """Remember that a layer is, or may be, made with a dtype of its own."""
    if any(_may_be_dtype(it.keyword, it.value) or it.star == "*" for it in args):
        layer.attributes[OWN_DTYPE] = NONE


def may_have_own_dtype(layer: ExternalObject) -> bool:
    """Return whether a layer of Keras is, or may be, made with a dtype of its own."""
    return any(_may_be_dtype(keyword, value) for keyword, value in layer.arguments)


def _may_be_dtype(keyword: str | None, value: Value) -> bool:
    """Return whether an argument is, or as a `**` dict may hold, the dtype of a layer."""
    if keyword is not None:
        return keyword in DTYPE_ARGUMENTS
    if isinstance(value, Mapping):
        return value.open or not DTYPE_ARGUMENTS.isdisjoint(value.items)
    return value is UNKNOWN


def autocast(layer: Instance, args: Arguments) -> Arguments:
    """Return what the method `call` of a layer gets: Keras casts what is first given."""
    is_cast = keras_base(layer) == LAYER and DTYPE_ATTRIBUTES.isdisjoint(layer.attributes)
    if not is_cast or not args or args[0].keyword is not None or args[0].star:
        return args
    value = transfer.each_tensor(
        args[0].value,
        lambda tensor: (
            replace(tensor, dtype=tf_names.COMPUTE_DTYPE) if tensor.dtype in CAST else tensor
        ),
    )
    return (args[0]._replace(value=value), *args[1:])


def is_symbolic(args: Arguments) -> bool:
    """Return whether a layer is called with these to put a model together."""
    return any(tensor.layer is not None for argument in args for tensor in tensors(argument.value))


def noted(frame: Frame, layer: Value, args: Arguments, site: Site, result: Value) -> Value:
    """Return `result`, the result of calling `layer`, as a part of the model that is built by it.

    That is so where a symbolic tensor is given; elsewhere the result stays as it is.
    """
    if args and isinstance(layer, ExternalObject) and computes(layer):
        transfer.note_operands(frame, [args[0].value], (args[0].site,), layer.last + CALLED)
    inputs = [tensor for argument in args for tensor in tensors(argument.value)]
    sources = tuple(tensor.layer for tensor in inputs if tensor.layer is not None)
    if not sources or frame.context.computation is not None:
        return result
    note_left_out(frame, layer, args, site)
    layer_call = LayerCall(layer, args, site, frame.context, sources)
    if result is UNKNOWN or isinstance(result, Opaque):
        result = transfer.flow(frame, inputs, site)
    return transfer.each_tensor(result, lambda tensor: replace(tensor, layer=layer_call))


def note_left_out(frame: Frame, layer: Value, args: Arguments, site: Site) -> None:
    """Note that a layer may be given more results of layers than are kept apart.

    The layers that made those left out are in no step of the model.
    """
    for argument in args:
        alternatives = argument.value.options
        if UNKNOWN in alternatives and len(alternatives) >= values.MAX_ALTERNATIVES:
            name = repr(layer).removesuffix(" object").rpartition(".")[2]
            reason = f"may be given one of more than {values.MAX_ALTERNATIVES} values"
            frame.session.note_unfollowed(site, name, reason)


def computes(layer: ExternalObject) -> bool:
    """Return whether a layer or model computes with what it gets, on each release of Keras.

    Keras 2 runs its `Dropout` outside training without a look at the values.
    """
    return is_model(layer) or (
        "keras" in layer.path
        and layer.last in tf_names.COMPUTING_LAYERS
        and layer.last != "Dropout"
    )


def layer_of(frame: Frame, step: LayerCall) -> Value | None:
    """Return the layer of a step; None where it made tensors of layers and is none itself."""
    layer = step.layer
    if not (isinstance(layer, ExternalObject) and layer.callee is not None):
        return layer
    layer = deferred.force(frame, layer, layer.site)
    are_layers = all(isinstance(it, Instance) and keras_base(it) for it in layer.options)
    return layer if are_layers else None


def steps(outputs: Value) -> Iterator[LayerCall]:
    """Yield the calls of layers that made `outputs`, each after those whose results it takes."""
    stack = [(tensor.layer, False) for tensor in tensors(outputs) if tensor.layer is not None]
    seen: set[int] = set()
    while stack:
        step, is_ready = stack.pop()
        if is_ready:
            yield step
        elif id(step) not in seen:
            seen.add(id(step))
            stack.append((step, True))
            stack += [(source, False) for source in step.sources]


MAX_PARTS = 256


def parts_of(start: Value | None) -> list[ExternalObject]:
    """Return the objects of which a model is made, and those of which they are made."""
    return [value for value in reached_from(start) if isinstance(value, ExternalObject)]


def reached_from(start: Value | None) -> list[Value]:
    """Return what a model is made of, and what that is made of."""
    reached: list[Value] = _held(start) if start is not None else []
    values: dict[int, Value] = {}
    for value in reached:  # it grows meanwhile
        if len(values) >= MAX_PARTS:
            break
        if id(value) not in values:
            values[id(value)] = value
            reached += _held(value)
    return list(values.values())


def attributes_of(value: Value) -> list[Value]:
    """Return what the attributes of an object that may be another library's are."""
    match value:
        case ExternalObject(attributes=attributes) | Opaque(children=attributes):
            return list(attributes.values())
        case _:
            return []


def _held(value: Value) -> list[Value]:
    """Return what a value directly holds: arguments, attributes, items, the layers behind it."""
    match value:
        case ExternalObject(last="clone_model"):  # it makes layers and weights of its own
            return []
        case ExternalObject(arguments=arguments):
            return [argument_value for _, argument_value in arguments]
        case Instance(attributes=attributes):
            return list(attributes.values())
        case Sequence() | Mapping():
            return parts(value)
        case Tensor(layer=LayerCall() as called):
            layers = [called]
            for step in layers:  # it grows meanwhile
                if len(layers) < MAX_PARTS:
                    layers += step.sources
            return [step.layer for step in layers if step.layer is not None]
    return []


# keras/src/ops/operation.py: the symbolic tensors that a layer or a model begins and ends with.
INPUTS = frozenset(["input", "inputs"])
ENDS = INPUTS | {"output", "outputs"}


def end_of_model(frame: Frame, model: ExternalObject, name: str, site: Site) -> Value:
    """Return the symbolic tensors that a model or a layer of Keras takes, or gives."""
    keyword, position = ("inputs", 0) if name in INPUTS else ("outputs", 1)
    held = model.argument(keyword, position) if model.last in tf_names.FUNCTIONAL else None
    if held is None:
        first = Tensor(frame.context, site)
        first.layer = LayerCall(None, (), site, frame.context)
        held = first
        if name not in INPUTS:
            held = noted(frame, model, (Argument(None, "", first, site),), site, UNKNOWN)
    if name.endswith("s"):
        return held if isinstance(held, Sequence) else Sequence("list", [held])
    return held.items[0] if isinstance(held, Sequence) and len(held.items) == 1 else held


def outputs_of(model: ExternalObject) -> Value | None:
    """Return the symbolic tensors that a model was made with; None where it was not made so."""
    if not is_model(model):
        return None
    held = model.argument("outputs", 1)
    is_made_of_layers = held is not None and any(tensor.layer for tensor in tensors(held))
    return held if model.last in tf_names.FUNCTIONAL or is_made_of_layers else None


LAYERS = "layers given"  # an attribute that is no name of Python's


def layers_in(owner: ExternalObject) -> Iterator[ExternalObject]:
    """Yield the layer, or those that a model of an outside class was made of."""
    yield owner
    if "keras" not in owner.path and not is_model(owner):
        return
    held: list[Value] = []
    if owner.last == SEQUENTIAL:
        layers = owner.attributes.get(LAYERS) or owner.argument("layers", 0)
        held = list(layers.items) if isinstance(layers, Sequence) else []
    elif (outputs := outputs_of(owner)) is not None:
        held += [step.layer for step in steps(outputs) if step.layer is not None]
    for layer in held:
        if isinstance(layer, ExternalObject):
            yield from layers_in(layer)


def note_averages(
    frame: Frame, layer: ExternalObject, args: Arguments, owned: Variable, site: Site
) -> None:
    """Note that a batch normalization writes its averages, as it does to train."""
    is_trainable = layer.attributes.get("trainable") or layer.argument("trainable") or Const(True)
    values = [
        arg.value
        for position, arg in enumerate(args)
        if arg.keyword == TRAINING_ARGUMENT or (position == 1 and arg.keyword is None)
    ]
    is_training = next((value for value in values if value != NONE), _training_around(frame))
    answers = [expressions.truth(is_trainable), expressions.truth(is_training)]
    if False not in answers:
        mode = events.MAYBE_AVERAGES if None in answers else AVERAGES
        transfer.access(frame, owned, mode, layer.last, site)


def _training_around(frame: Frame) -> Value:
    """Return whether the layer that is being called trains: Keras tells it to those inside."""
    caller: Frame | None = frame
    while caller is not None:
        if caller.function is not None and caller.function.name == "call":
            return caller.env.names.get(TRAINING_ARGUMENT, UNKNOWN)
        caller = caller.caller
    return Const(False)
