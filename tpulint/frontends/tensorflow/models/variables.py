"""State that outlives a step: who makes it, who reads it, who writes it, and by which name.

With `reuse`, `get_variable` gives the variable of that name in the graph if there is one
(tensorflow/python/ops/variable_scope.py).
"""

from __future__ import annotations

from tpulint.absint.domain import objects, structures
from tpulint.absint.domain.context import GRAPH, VARIABLE_SCOPE
from tpulint.absint.domain.events import ApiCall, Argument, Arguments, Context, Tensor, Variable
from tpulint.absint.domain.objects import Class, ExternalObject, Instance, Sequence, function_of
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Opaque, Value
from tpulint.absint.interpreter import attributes, calls, transfer
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.models.table import CALLABLE, Call, model, observe
from tpulint.frontends.tensorflow.strategy import scope_strategy

ROOT = Const("")
NAME, REUSE = "full name", "reuse"
UPDATES = ("apply_gradients", "minimize")  # how an optimizer updates variables
EVERY_N_STEPS = "record_summaries_every_n_global_steps"


# keras/src/models/model.py: a layer of a model, with its weights, was made where that was.
@model("keras.Model.get_layer")
def _get_layer(call: Call) -> Value | None:
    owner = call.receiver
    if not isinstance(owner, ExternalObject):
        return None
    return ExternalObject(f"{owner.path}.get_layer", owner.site, owner.context)


# tensorflow/python/ops/variable_scope.py
@model("tf.compat.v1.variable_scope")
def _variable_scope(call: Call) -> Value:
    outer = current(call.frame.context)
    name, reuse = call.get("name_or_scope", 0) or NONE, call.get("reuse", 5) or NONE
    if reuse == NONE and outer is not None:
        reuse = outer.attributes[REUSE]
    if isinstance(name, ExternalObject) and NAME in name.attributes:
        full = name.attributes[NAME]
    else:
        full = _nested_name(outer.attributes[NAME] if outer else ROOT, name)
    return objects.ContextManagerValue(VARIABLE_SCOPE, call.site, _scope(call, full, reuse))


@model("tf.compat.v1.get_variable_scope")
def _get_variable_scope(call: Call) -> Value:
    return current(call.frame.context) or _scope(call, ROOT, NONE)


def _scope(call: Call, name: Value, reuse: Value) -> ExternalObject:
    scope = ExternalObject(call.path, call.site, call.frame.context)
    scope.attributes[NAME], scope.attributes[REUSE] = name, reuse
    return scope


def _nested_name(outer: Value, name: Value) -> Value:
    if isinstance(outer, Const) and isinstance(name, Const) and isinstance(name.value, str):
        return Const(f"{outer.value}/{name.value}" if outer.value else name.value)
    return UNKNOWN


def current(context: Context) -> ExternalObject | None:
    """Return the innermost variable scope of the graph that is being built."""
    for scope in reversed(context.scopes):
        if scope.effect == GRAPH:
            return None
        if scope.effect == VARIABLE_SCOPE and isinstance(scope.payload, ExternalObject):
            return scope.payload
    return None


def identity(call: Call, name: Value | None) -> tuple[object, ...] | None:
    """Return what a variable made here shares with those that are the same; None if not known."""
    scope = current(call.frame.context)
    full = _nested_name(scope.attributes[NAME] if scope is not None else ROOT, name or UNKNOWN)
    if not isinstance(full, Const):
        return None
    graphs = [id(entered) for entered in call.frame.context.scopes if entered.effect == GRAPH]
    return ("named", call.frame.context.run, tuple(graphs[-1:]), full.value)


INTEGERS = ("int32", "int64")
NAMED = ("get_variable", "get_local_variable")  # what gives one variable for one name


# tensorflow/python/training/training_util.py: there is one global step in a graph. Orbit has its
# own maker.
@model(
    "tf.train.get_global_step",
    "tf.train.get_or_create_global_step",
    "tf.train.create_global_step",
    "orbit.utils.common.create_global_step",
)
def _step(call: Call) -> Variable:
    """Return the global step, which is one for the whole program."""
    return call.frame.session.only_variable("global_step", "step")


# tensorflow/python/ops/summary_ops_v2.py: without a step these take the global step.
@observe(
    *(
        f"{module}.{name}"
        for module in ("tf.contrib.summary", "?.contrib_summary", "?.summary_ops_v2")
        for name in ("scalar", "generic", "histogram", "image", "audio", EVERY_N_STEPS)
    )
)
def _note_step_read(call: Call) -> None:
    step = call.get("step", 3 if call.name in ("scalar", "generic", "histogram") else None)
    if call.name == EVERY_N_STEPS:
        step = call.get("global_step", 1)
    if step is None or step == NONE:
        transfer.access(call.frame, _step(call), "read", call.name, call.site)


# tensorflow/python/ops/variables.py, variable_scope.py, lookup_ops.py, data_flow_ops.py and
# critical_section_ops.py: what outlives a step, and so is shared by host and device.
@model(*(name for names in tf_names.VARIABLES.values() for name in sorted(names)))
def _make(call: Call) -> Value:
    frame = call.frame
    own_name = call.get("name", 0 if call.name in (*NAMED, "add_weight") else None)
    name, sort = call.name, tf_names.VARIABLE_MAKERS[call.name]
    if isinstance(own_name, Const) and isinstance(own_name.value, str):
        name = own_name.value
    # TensorFlow finds the global step by call name.
    sort = "step" if (name, sort) == ("global_step", "variable") else sort
    named = identity(call, own_name) if call.name in NAMED else None
    scope = current(frame.context)
    reuse = scope.attributes[REUSE] if scope is not None else NONE
    reuses = reuse == Const(True) or (isinstance(reuse, External) and reuse.last == "AUTO_REUSE")
    variable = frame.session.variable(name, sort, call.site, frame.context, named, reuse=reuses)
    variable.counts = _counts_steps(call)
    transfer.access(frame, variable, "create", call.name, call.site)
    tensors = [value for value in call.values if isinstance(value, Tensor)]
    transfer.touch(frame, tensors, call.site, call.name)
    return variable


def _counts_steps(call: Call) -> bool:
    """Return whether a graph's computation makes an integer of its own, which no training changes.

    A strategy's replicas may not meet under a condition on one, whatever it holds.
    """
    computation = call.frame.context.computation
    dtype = call.get("dtype", 2 if call.name in NAMED else None)
    if computation is None or computation.mode != "graph" or dtype is None:
        return False
    return all(isinstance(it, External) and it.last in INTEGERS for it in dtype.options)


# tensorflow/python/ops/resource_variable_ops.py. Tables and queues have methods of their own names,
# so one model serves all that outlives a step.
@model(
    "tf.Variable.*",
    # A method that only variables have says that its receiver is one.
    *(f"?.{name}" for name in sorted(tf_names.VARIABLE_METHODS)),
)
def _method(call: Call) -> Value | None:
    """Call a method of a variable: a read, a write, or nothing that matters."""
    frame, variable = call.frame, _receiver_variable(call)
    if variable is None:
        return None
    if call.name in tf_names.WRITES:
        transfer.touch(frame, call.values, call.site, call.name)
        transfer.access(frame, variable, "write", call.name, call.site)
        if call.name == "execute" and call.arguments:
            return calls.call(frame, call.values[0], (), call.site)
    elif call.name in tf_names.READS:
        transfer.touch(frame, call.values, call.site, call.name)
        transfer.access(frame, variable, "read", call.name, call.site)
    else:
        transfer.touch(frame, [variable, *call.values], call.site, call.name)
    return _assign_result(call, variable, transfer.result(frame, call.values, call.site))


def _receiver_variable(call: Call) -> Variable | None:
    """Return the variable that a method is called on; an opaque receiver is always the same one."""
    receiver = call.receiver
    if isinstance(receiver, Variable) or not isinstance(receiver, Opaque):
        return receiver if isinstance(receiver, Variable) else None
    variable = receiver.inferred_as.get(Variable)
    if not isinstance(variable, Variable):
        variable = Variable(receiver.path, "variable", call.site, None, assumed=True)
        receiver.inferred_as[Variable] = variable
    return variable


def _assign_result(call: Call, variable: Variable, result: Tensor) -> Tensor:
    """Return the result of a method: `v.assign(x)` gives the variable, which others may read."""
    if call.name not in tf_names.ASSIGNS:
        return result
    if result.operation is not None:
        result.operation.sources = ()  # it waits for the write, and takes no data
    if call.get("read_value") != Const(False):
        result.unread = variable if scope_strategy(variable.made) is None else None
        result.uniform = structures.is_counter(variable) and structures.uniform(call.values)
    return result


@model(
    *(f"tf.compat.v1.{name}" for name in sorted(tf_names.ASSIGN_FUNCTIONS)),
    "mesh_tensorflow.assign",
    "mesh_tensorflow.ops_with_redefined_builtins.assign",
)
def _assign(call: Call) -> Value | None:
    """Model `tf.compat.v1.assign(v, x)` and its kin."""
    target = call.get("ref", 0)
    variables = [option for option in (target or UNKNOWN).options if isinstance(option, Variable)]
    if not variables:
        return None
    rest = [argument.value for argument in call.arguments[1:]]
    transfer.touch(call.frame, rest, call.site, call.name)
    for variable in variables:
        transfer.access(call.frame, variable, "write", call.name, call.site)
    result = transfer.result(call.frame, rest, call.site)
    return _assign_result(call, variables[0], result) if len(variables) == 1 else result


# tensorflow/python/training/optimizer.py, keras/src/optimizers/base_optimizer.py. A wrapper of an
# optimizer has the same methods, whatever its class.
@model(*(f"?.{name}" for name in sorted(tf_names.OPTIMIZER_UPDATES)))
def _update(call: Call) -> Value | None:
    """Write the variables that an optimizer's update is given, and the step it counts."""
    frame, values, optimizer = call.frame, call.values, call.receiver
    if isinstance(optimizer, Opaque):  # it takes its arguments, and counts its own iterations
        _count(call, call.get("global_step", 1))
        transfer.touch(frame, values, call.site, call.name, Certainty.DEFINITE, "unknown")
        return transfer.result(frame, values, call.site, "operation")
    if not isinstance(optimizer, ExternalObject):
        return None
    taken = [value for value in values if not isinstance(value, Variable)]
    transfer.touch(frame, [*taken, *_constructor_arguments(optimizer)], call.site, call.name)
    loss = call.get("loss", 0) if call.name == "minimize" else None
    if loss is not None and function_of(loss) is not None:
        # keras/optimizers/optimizer_v2/optimizer_v2.py and tensorflow/python/training/optimizer.py
        # call a loss under a tape of their own.
        result = calls.call(frame, loss, (), call.site, "")
        _note_minimized(call, calls.by_position(call.site, result), optimizer, call.site)
    # TensorFlow 1's optimizers count the step that they are given, Keras' their `iterations`.
    _count(call, call.get("global_step", 1))
    counts = isinstance(optimizer.attributes.get("iterations"), Variable)
    if counts or "keras" in optimizer.path or ".optimizers." in f".{optimizer.path}.":
        iterations = attributes.get(frame, optimizer, "iterations", call.site)
        assert isinstance(iterations, Variable)
        transfer.access(frame, iterations, "write", call.name, call.site)
    written = call.get("var_list", 1) if call.name == "minimize" else None
    for variable in transfer.variables(written if written is not None else UNKNOWN):
        transfer.access(frame, variable, "write", call.name, call.site)
    return transfer.result(frame, values, call.site, "operation")


def _constructor_arguments(optimizer: ExternalObject) -> list[Value]:
    """Return the arguments of the optimizer and of one it wraps: the rate may be a tensor."""
    arguments: list[Value] = []
    for _, value in optimizer.arguments:
        arguments += _constructor_arguments(value) if isinstance(value, ExternalObject) else [value]
    return arguments


def _count(call: Call, step: Value | None) -> None:
    """Count the global step, if this is one."""
    if isinstance(step, Variable) and step.sort == "step":
        transfer.access(call.frame, step, "write", call.name, call.site)


# tensorflow/python/tpu/tpu_optimizer.py: the wrapper sums the gradients, and hands them on.
@observe(*(f"tf.tpu.CrossShardOptimizer.{name}" for name in UPDATES))
def _update_by_wrapped(call: Call) -> None:
    """Call the `apply_gradients` of an optimizer of the project in a wrapper."""
    if not isinstance(call.receiver, ExternalObject):
        return
    for optimizer in (call.receiver.argument("opt", 0) or UNKNOWN).options:
        method = attributes.get(call.frame, optimizer, UPDATES[0], call.site)
        if not isinstance(optimizer, Instance) or function_of(method) is None:
            continue
        arguments = call.arguments
        if call.name != UPDATES[0]:
            pair = [transfer.result(call.frame, call.values, call.site) for _ in range(2)]
            pairs = Sequence("list", [Sequence("tuple", [*pair])], True)
            arguments = calls.by_position(call.site, pairs)
        calls.call(call.frame, method, arguments, call.site)


TRAIN = "tensorflow.compat.v1.train"


# tensorflow/python/training/experimental/mixed_precision.py: what it returns holds the optimizer.
@model("?.enable_mixed_precision_graph_rewrite")
def _with_loss_scale(call: Call) -> Value | None:
    """Wrap an optimizer that is seen."""
    optimizer = call.get("opt", 0) or call.get("optimizer", 0)
    if not isinstance(optimizer, (ExternalObject, Instance)):
        return None
    return call.new_object(f"{TRAIN}.experimental.MixedPrecisionLossScaleOptimizer")


# `optimize_loss` of tf_slim and tf.contrib.layers applies gradients by what it is given
# (tf_slim/layers/optimizers.py): an optimizer, its class, a function that makes one, or a name.

MAKERS = (*CALLABLE, Class, External)


@model("?.optimize_loss")
def _optimize_loss(call: Call) -> Value | None:
    optimizer = call.get("optimizer", 3)
    if optimizer is None:
        return None
    if call.get("increment_global_step", 13) != Const(False):
        step = call.get("global_step", 1)
        _count(call, _step(call) if step == NONE else step)
    train_op = call.operation()
    for option in optimizer.options:
        if option != NONE:  # which it refuses
            _note_minimized(call, call.arguments[:1], _make_optimizer(call, option), call.site)
    return train_op


# tf_slim/training/training.py, tensorflow_gan/python/train.py, and the private head of canned
# estimators: the optimizer is an object, or a function that makes one.
OPTIMIZER_TAKERS = {
    "create_train_op": {"optimizer": 1},
    "gan_train_ops": {"generator_optimizer": 2, "discriminator_optimizer": 3},
    "_create_tpu_estimator_spec": {"optimizer": 4},
}


@model(*(f"?.{name}" for name in OPTIMIZER_TAKERS))
def _apply_by_given(call: Call) -> Value | None:
    rows = OPTIMIZER_TAKERS[call.name].items()
    taken = [call.record.argument(*row) for row in rows if not _is_left_out(call, row[0])]
    optimizers = [argument for argument in taken if argument is not None]
    if not optimizers:
        return None
    train_op = call.operation("operation")
    for argument in optimizers:
        site = call.site if len(rows) == 1 else argument.site
        for option in argument.value.options:
            if option != NONE:
                is_maker = isinstance(option, MAKERS)
                optimizer = calls.call(call.frame, option, (), call.site) if is_maker else option
                _note_minimized(call, call.arguments[:1], optimizer, site)
    return train_op


# tensorflow_gan/python/train.py, `gan_model`: it runs both networks, the second one on real data
# and on what the first one makes.
@model("?.gan_model")
def _gan_model(call: Call) -> Value | None:
    generator, discriminator, real, inputs = (
        call.get(name, at) or UNKNOWN for at, name in enumerate(GAN_MODEL)
    )
    if not (isinstance(generator, MAKERS) and isinstance(discriminator, MAKERS)):
        return None
    generated = call.call_with(generator, inputs)
    gan = ExternalObject(call.path, call.site, call.frame.context)
    gan.attributes.update(
        generator_inputs=inputs,
        generated_data=generated,
        discriminator_gen_outputs=call.call_with(discriminator, generated, inputs),
        real_data=real,
        discriminator_real_outputs=call.call_with(discriminator, real, inputs),
    )
    return gan


GAN_MODEL = ("generator_fn", "discriminator_fn", "real_data", "generator_inputs")


# `gan_loss`: a tuple of two tensors.
@model("?.gan_loss")
def _gan_loss(call: Call) -> Value:
    losses = ExternalObject(call.path, call.site, call.frame.context)
    losses.attributes.update(generator_loss=call.operation(), discriminator_loss=call.operation())
    return losses


# `gan_train_ops`: a tuple of two operations. A model_fn that trains
# one network runs one of them, and gives a placeholder as the other one's optimizer.
TRAIN_OPS = {
    "generator_optimizer": "generator_train_op",
    "discriminator_optimizer": "discriminator_train_op",
}


def _is_left_out(call: Call, keyword: str) -> bool:
    """Return whether the function only takes the operation that the other optimizer makes."""
    function = call.frame.function
    if keyword not in TRAIN_OPS or function is None:
        return False
    own = TRAIN_OPS[keyword]
    others = frozenset(TRAIN_OPS.values()) - {own}
    return function.code.names_any(others) and not function.code.names_any(frozenset([own]))


def _note_minimized(call: Call, loss: Arguments, optimizer: Value, site: Site) -> None:
    """Note that gradients are applied by an optimizer, as its `minimize` would."""
    if call.frame.recorded is not None:
        update = ApiCall("?.minimize", site, call.frame.context, loss, optimizer)
        call.frame.recorded.updates.append(update)


def _make_optimizer(call: Call, optimizer: Value) -> Value:
    if isinstance(optimizer, Const) and isinstance(optimizer.value, str):
        path = f"{TRAIN}.{optimizer.value}Optimizer"
        return ExternalObject(path, call.site, call.frame.context)
    if not isinstance(optimizer, MAKERS):
        return optimizer
    rate = call.get("learning_rate", 2)
    if rate is None or rate == NONE:
        rate = Tensor(call.frame.context, call.site)
    return call.call_with(optimizer, rate)


# keras/src/saving/serialization_lib.py: it gives the constructor what the configuration holds.
@model("?.from_config")
def _from_config(call: Call) -> Value | None:
    """Make an object of a class of Keras that a configuration describes."""
    home = call.path.rpartition(".")[0]
    is_class = home.rpartition(".")[2][:1].isupper()
    if call.receiver is not None or not (
        is_class and tf_names.is_tensorflow(home) and ".keras." in home
    ):
        return None
    config = call.get("config", 0)
    items = config.items if isinstance(config, objects.Mapping) else {}
    arguments = tuple(
        Argument(key, "", value, call.site) for key, value in items.items() if isinstance(key, str)
    )
    return calls.call(call.frame, External(home), arguments, call.site)
