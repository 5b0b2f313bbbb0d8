"""What TensorFlow and Keras mean to Python code beside their calls: the interpreter's hooks."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import replace

from tpulint.absint.domain import context as scopes
from tpulint.absint.domain import events, values
from tpulint.absint.domain.context import BaseContext, ConditionKey, Scope
from tpulint.absint.domain.events import ApiCall, Arguments, Computation, Context, Tensor, Variable
from tpulint.absint.domain.objects import Class, ExternalObject, Function, Instance, Sequence, mro
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, Const, External, Opaque, Text, Value
from tpulint.absint.interpreter import attributes, definitions, module_linking, transfer
from tpulint.absint.interpreter.calls import call, traced
from tpulint.absint.interpreter.frame import BUILTINS, Frame, Library, Options
from tpulint.absint.resolver.project import Project
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow import arity, branch_tests, keras_models, prefilter, shapes
from tpulint.frontends.tensorflow.deferred import complete, force, is_in_program
from tpulint.frontends.tensorflow.keras_models import CLASSES, is_dataset, is_model, keras_base
from tpulint.frontends.tensorflow.knowledge import names, naming, strategies, tf_names
from tpulint.frontends.tensorflow.strategy import Strategy, is_of_tpu, scope_strategy
from tpulint.syntax.nodes import Expression


class Hooks(Library):
    """The hooks of TensorFlow; `settings` are the user's."""

    packages = frozenset(tf_names.TENSORFLOW_ROOTS)
    context_queries = tf_names.CONTEXT_STATE
    passing_calls = tf_names.CONTROL_TAKERS | {tf_names.SENT}
    outer_errors = tf_names.OUTER_ERRORS
    feed_calls = tf_names.READS_RECORDS
    traced_function = "tf.function"

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.has_policy = False  # whether a policy of Keras was met under which layers cast

    # Calls

    def call_instance(self, frame: Frame, callee: Instance, args: Arguments, site: Site) -> Value:
        """Call an object of a class with the method `call`: Keras 2 converts its control flow.

        On symbolic tensors it is read for what it gives; what it does it does when the model runs.
        """
        own = (cls.names.get("call") for cls in mro(callee.cls) if isinstance(cls, Class))
        method = next((it for it in own if isinstance(it, Function)), None)
        if method is None:
            result = self.call_unknown(frame, callee, args, site, "")
            return keras_models.noted(frame, callee, args, site, result)
        attributes.run_before(frame, callee, "build")
        arguments = keras_models.with_training(frame, method, args, site)
        if self.has_policy and frame.context.computation is not None:
            arguments = keras_models.autocast(callee, arguments)
        around: AbstractContextManager[object] = frame.at(frame.context)
        if frame.context.computation is not None:
            may_convert = keras_models.may_be_keras_3(callee)
            effect = scopes.MAY_CONVERT if may_convert else scopes.CONVERTED
            around = frame.within(Scope(scopes.WITH, site, effect=effect))
        elif keras_models.is_symbolic(args):
            around = frame.without_recording()
        with around:
            result = call(frame, Bound(method, callee), arguments, site)
        return keras_models.noted(frame, callee, args, site, result)

    def note_method_call(
        self, frame: Frame, method: Function, receiver: Instance, args: Arguments, site: Site
    ) -> None:
        """Note that a class of the project with its own `apply_gradients` may be an optimizer."""
        if method.name in tf_names.OPTIMIZER_UPDATES and frame.recorded is not None:
            update = ApiCall(f"?.{method.name}", site, frame.context, args, receiver)
            frame.recorded.updates.append(update)

    def callees(self, context: Context, callees: list[Value], args: Arguments) -> list[Value]:
        """Keep the methods of the TPU's strategy, and what can take the arguments.

        That a program runs on a TPU is no doubt, but the premise of what is said of it.
        """
        left = [callee for callee in callees if arity.misfit(callee, args) is None] or callees
        left = [callee for callee in left if not _is_left_aside(callee, context)] or left
        left = [callee for callee in left if not _is_made_elsewhere(callee, context)] or left
        owners = [_strategy_of(callee) for callee in left]
        if any(map(is_of_tpu, owners)):
            rows = zip(left, owners, strict=True)
            left = [callee for callee, owner in rows if owner is None or is_of_tpu(owner)]
        models = [model for model in map(_model_of, left) if model is not None]
        tpus = [model for model in models if is_of_tpu(scope_strategy(model.context))]
        if not tpus or context.computation is not None:
            return left
        return [callee for callee in left if not _is_left_for(callee, tpus)]

    def condition_of_call(self, callee: Value) -> ConditionKey | None:
        """Return the test whether the program runs on the strategy that this is a method of."""
        strategy = _strategy_of(callee)
        if strategy is None or strategy.kind != "tpu":
            return None
        return ConditionKey(scopes.VALUE, id(strategy.used), strategy.used)

    # Values and names

    def bind(self, value: Value, name: str) -> None:
        """Name a variable that was made without a name by the first one it is bound to."""
        if isinstance(value, Variable) and value.name in tf_names.VARIABLE_MAKERS:
            value.name = name

    def element(self, iterated: ExternalObject) -> Value:
        return Opaque("an element", iterated=iterated) if is_dataset(iterated) else UNKNOWN

    def item(self, frame: Frame, base: Bound, site: Site) -> Value:
        """Return a layer of `model.layers[-1]`, as `model.get_layer` does."""
        model, named = base.receiver, base.function
        is_layer = isinstance(named, External) and named.last == "layers"
        if is_layer and isinstance(model, ExternalObject) and is_model(model):
            return ExternalObject(f"{model.path}.get_layer", model.site, model.context)
        return super().item(frame, base, site)

    def attribute(self, frame: Frame, base: Value, name: str, site: Site) -> Value | None:
        if isinstance(base, (Instance, Class)):
            cls = base.cls if isinstance(base, Instance) else base
            if not cls.is_complete and is_in_program(frame.context):
                complete(frame.session, cls)
            return _strategy_of_model(base, site) if name == DISTRIBUTE_STRATEGY else None
        if name in tf_names.CONTEXT_STATE:
            return values.ContextQuery(name)
        if isinstance(base, values.Choice):
            running = running_strategy(frame.context, base)
            if running is not None:
                return attributes.get(frame, running, name, site)
            # What a step of a pipeline gives is one step more, whatever came before.
            is_step = name in tf_names.DATASET_METHODS and is_dataset(base)
            return attributes.method(base, name) if is_step else None
        if isinstance(base, ExternalObject):
            if base.callee is not None and is_in_program(frame.context):
                forced = force(frame, base, site)
                if forced is not base:
                    return attributes.get(frame, forced, name, site)
            return _attribute_of_object(frame, base, name, site)
        if isinstance(base, (Variable, Tensor)):
            if name in strategies.OF_ONE_TENSOR:
                transfer.note_operands(frame, [base], (site,), name)
            if name == "dtype" and isinstance(base, Tensor) and base.dtype is not None:
                return External(f"tensorflow.{base.dtype}")
            if name == "shape" and isinstance(base, Tensor) and base.shape is not None:
                return shapes.shape_object(base.shape, site, frame.context)
            if name in tf_names.STATIC_ATTRIBUTES:
                return UNKNOWN
            if name in tf_names.MODEL_OUTPUTS and isinstance(base, Tensor):
                return replace(base, sort="tensor", shape=None)
            return base if isinstance(base, Tensor) and name in tf_names.REPLICA_ID else None
        if isinstance(base, Text) and name in COLUMN_LISTS:
            return attributes.method(base, name)
        if isinstance(base, Text) and name == COLUMN:
            return base
        if isinstance(base, Strategy):
            if name == tf_names.REPLICAS:
                return values.Scaled(tf_names.REPLICAS)
            return base if name == "extended" else attributes.method(base, name)
        return None

    def members(self, value: External) -> frozenset[str]:
        return tf_names.MODES if ".ModeKeys." in value.path else frozenset()

    def is_in_program(self, context: Context) -> bool:
        return is_in_program(context)

    def scope_owner(self, value: object) -> str | None:
        return value.kind if isinstance(value, Strategy) else None

    def is_preferred_owner(self, value: object) -> bool:
        return isinstance(value, Strategy) and value.kind == "tpu"

    def is_chosen_owner(self, value: object, context: BaseContext) -> bool:
        place = value.made if isinstance(value, Strategy) and value.kind == "tpu" else None
        return place is not None and not place.conditions <= context.conditions

    # Definitions

    def define(self, frame: Frame, function: Function) -> None:
        """Remember a function in a function that runs a step: nothing may ever call it here."""
        code = function.code
        if code.parent is not None and code.names_any(tf_names.STRATEGY_RUN):
            frame.session.closures.setdefault(id(code), function)

    def decorate(
        self, frame: Frame, function: Value, decorator: External, options: Options
    ) -> Value | None:
        name = decorator.last
        if name in tf_names.TRACERS:
            is_plain = ("autograph", Const(False)) in options
            return definitions.unconverted(traced(function)) if is_plain else traced(function)
        if name in tf_names.NOT_CONVERTED:
            return definitions.unconverted(function)
        if name in tf_names.OUTSIDE_COMPILATION:
            return values.Partial(decorator, (function,), ())
        return None

    def may_trace(self, decorator: str) -> bool:
        return decorator not in strategies.PLAIN_DECORATORS

    def instantiate(self, frame: Frame, cls: Class, args: Arguments, site: Site) -> Value | None:
        """Return TensorFlow's object for a class that projects copy into themselves."""
        if cls.code.name not in tf_names.FORKED or not _is_fork(cls):
            return None
        return self.call(frame, External(cls.code.name), None, args, site)

    def initialize(self, frame: Frame, instance: Instance, args: Arguments, site: Site) -> None:
        keras_models.note_dtype(instance, args)
        if keras_base(instance) in CLASSES:
            self.call(frame, External("keras.Model.__init__"), instance, args, site)

    # Branches and modules

    def device_answer(self, test: Expression) -> bool | None:
        return branch_tests.answer_on_tpu(test)

    def is_host_only(self, computation: Computation, test: Value) -> bool:
        modes, context = computation.host_modes, computation.context
        return is_host_mode(test, modes) or branch_tests.is_refused_on_tpu(context, test)

    def base_of_class(self, base: str) -> str:
        return tf_names.KERAS_MODULES.get(base, base)

    def answer_of_run(self, computation: Computation, key: ConditionKey) -> bool | None:
        made = _where_strategy_is_made(computation)
        if made is not None:
            for branch in (True, False):
                if made.excludes(Context().when(key, branch)):
                    return not branch
        return None

    def guess_of_branch(
        self, computation: Computation, key: ConditionKey, test: Value, branch: bool
    ) -> ConditionKey | None:
        """Return a guess for a branch that the strategy leaves aside, by the words of its test.

        Another is for a branch that only PREDICT reaches, if that may only be exported.
        """
        made = _where_strategy_is_made(computation)
        if made is not None and branch_tests.are_answered_differently(
            made, Context().when(key, branch)
        ):
            return ConditionKey(scopes.ALTERNATIVE, made)
        modes = computation.host_modes  # evaluations are the host's, where there are any
        if computation.predicts or not modes or not isinstance(test, Opaque):
            return None
        if test.negates is not None:
            test, branch = test.negates, not branch
        if test.compared in (tf_names.PREDICTION if branch else tf_names.TRAINING):
            return ConditionKey(scopes.ALTERNATIVE, tf_names.PREDICTION)
        return None

    def follows(self, project: Project, path: str, asking: module_linking.Importer | None) -> bool:
        """Return whether the module at `path` is read.

        It is where it matters by itself, in what a TPU program runs (device code, host
        clusters, input pipelines, a strategy's scope), where computations are built by hand in
        the module that imports it, and where it has the settings of a module that makes a
        strategy or an estimator. Elsewhere on the host it is not.
        """
        if project.holds(path, prefilter.may_matter, package=True):
            return True
        if asking is None:
            return False
        if is_in_program(asking.context) or asking.module.holds(prefilter.builds_computations):
            return True
        if asking.module.holds(prefilter.may_make_tpu_strategy):
            return project.holds(path, prefilter.makes_keras_objects) or project.holds(
                path, prefilter.holds_settings, package=False
            )
        makes_estimator = asking.module.holds(prefilter.may_make_tpu_estimator)
        return makes_estimator and project.holds(path, prefilter.holds_settings, package=False)

    def holds(self, path: str, name: str) -> bool:
        """Return whether a module of TensorFlow or Keras is known to have the public name."""
        return names.is_listed(f"{_in_tensorflow(path)}.{name}")

    def starred(self, path: str, name: str) -> External:
        """Return what `name` is after `from path import *`, where that module is not read.

        It hands on what it imports itself, and leaves the functions of Python as they are.
        """
        root = path.partition(".")[0]
        if tf_names.is_tensorflow(path):
            if name in BUILTINS and not names.having(f"{_in_tensorflow(path)}.{name}"):
                return BUILTINS[name]
        elif root not in tf_names.NAMED_LIKE_PYTHONS:
            if name in naming.HANDED_ON:
                return External(naming.HANDED_ON[name])
            if name in BUILTINS:
                return BUILTINS[name]
        return super().starred(path, name)

    def is_generated(self, project: Project, path: str) -> bool:
        """Return whether protoc made the module: it only describes messages."""
        return project.holds(path, prefilter.holds_messages, package=False)


def _in_tensorflow(path: str) -> str:
    """Return the path of a module of Keras as TensorFlow has it; any other as it is."""
    return f"tensorflow.{path}" if path.partition(".")[0] == "keras" else path


DISTRIBUTE_STRATEGY = "distribute_strategy"
# What a column of pandas has, whose strings have a known beginning.
COLUMN, COLUMN_LISTS = "values", frozenset(["tolist", "to_list", "to_numpy"])


def is_host_mode(test: Value, modes: frozenset[str]) -> bool:
    """Return whether the test asks for a mode in which nothing runs on the device."""
    return isinstance(test, Opaque) and test.compared in modes


def settings_of(frame: Frame) -> Settings:
    """Return the user's settings for what `frame` reads."""
    return next(part.settings for part in frame.library.parts if isinstance(part, Hooks))


def _strategy_of_model(model: Value, site: Site) -> Value | None:
    """Return the strategy of a Keras model: that under whose scope it was made."""
    # keras/src/trainers/trainer.py and tf_keras/engine/training.py keep it when they are made.
    if not isinstance(model, Instance) or not is_model(model):
        return None
    strategy = scope_strategy(model.context) or Strategy("unknown", site, DISTRIBUTE_STRATEGY)
    return model.attributes.setdefault(DISTRIBUTE_STRATEGY, strategy)


def _strategy_of(callee: Value) -> Strategy | None:
    receiver = callee.receiver if isinstance(callee, Bound) else None
    return receiver if isinstance(receiver, Strategy) else None


def _where_strategy_is_made(computation: Computation) -> BaseContext | None:
    """Return where the strategy is made that a TPU runs `computation` by, if that is seen."""
    strategy = computation.call.receiver
    return strategy.made if isinstance(strategy, Strategy) and strategy.kind == "tpu" else None


def _is_left_aside(callee: Value, context: Context) -> bool:
    """Return whether this is a method of a TPU's strategy, and the way here leaves that aside."""
    strategy = _strategy_of(callee)
    return (
        strategy is not None
        and strategy.kind == "tpu"
        and branch_tests.is_for_another(context, strategy)
    )


def _model_of(callee: Value) -> ExternalObject | Instance | None:
    """Return the model of Keras that this is a method of."""
    owner = callee.receiver if isinstance(callee, Bound) else None
    return owner if isinstance(owner, (ExternalObject, Instance)) and is_model(owner) else None


def _is_made_elsewhere(callee: Value, context: Context) -> bool:
    """Return whether the tests on the way to `context` are those that leave a model unmade."""
    model = _model_of(callee)
    if model is None or model.context is None:
        return False
    return branch_tests.are_answered_differently(model.context, context)


def _is_left_for(callee: Value, tpus: list[ExternalObject | Instance]) -> bool:
    """Return whether this is a method of a model that is made where those of a TPU are not."""
    model = _model_of(callee)
    if model is None or model.context is None or is_of_tpu(scope_strategy(model.context)):
        return False
    place = model.context
    return all(tpu.context is not None and place.is_other_branch(tpu.context) for tpu in tpus)


def running_strategy(context: Context, choice: values.Choice) -> Strategy | None:
    """Return the one of several strategies whose `run` builds the computation around `context`."""
    computation = context.computation
    running = computation.call.receiver if computation is not None else None
    if isinstance(running, Strategy) and any(option is running for option in choice.options):
        return running
    return None


def answer_of_isinstance(context: Context, classes: Value, verdict: bool | None) -> Value:
    """Return what `isinstance` answers: in a computation, an unseen class only may lead further."""
    if verdict is not None:
        return Const(verdict)
    listed = classes.items if isinstance(classes, Sequence) else [classes]
    is_unseen = context.computation is not None and any(map(_is_unseen_class, listed))
    return Opaque("isinstance", default=NONE) if is_unseen else UNKNOWN


def _is_unseen_class(cls: Value) -> bool:
    if not isinstance(cls, External):
        return cls is UNKNOWN
    package = cls.path.partition(".")[0]
    is_seen = package == "numpy" or package in sys.stdlib_module_names
    return not (is_seen or tf_names.is_tensorflow(cls.path))


def _attribute_of_object(frame: Frame, base: ExternalObject, name: str, site: Site) -> Value | None:
    if name in base.attributes:
        return None
    if name == "iterations":
        step = Variable(f"{base.last}.iterations", "step", base.site, base.context)
        return base.attributes.setdefault(name, step)
    if name in tf_names.WEIGHT_ATTRIBUTES:
        return Sequence("list", [weights(base)], True, base.site)
    if name in tf_names.SINGLE_WEIGHTS and base.last in tf_names.LAYERS_WITH_WEIGHTS:
        all_weights = weights(base)
        weight = replace(all_weights, name=f"{base.last}.{name}", whole=all_weights)
        return base.attributes.setdefault(name, weight)
    if name == "losses" and frame.context.computation is not None:
        _note_regularizers(frame, base, site)
    if name in keras_models.ENDS and frame.context.computation is None and "keras" in base.path:
        return base.attributes.setdefault(name, keras_models.end_of_model(frame, base, name, site))
    if name in tf_names.REPLICA_ID:
        return Tensor(frame.context, site, replica_id=True, per_replica=True)
    return None


def _note_regularizers(frame: Frame, owner: ExternalObject, site: Site) -> None:
    """Note that the losses of a layer or model read the weights that have a regularizer."""
    regularized = [layer for layer in keras_models.layers_in(owner) if _has_regularizer(layer)]
    for layer in [owner, *regularized] if regularized and owner not in regularized else regularized:
        if "weights" in layer.attributes:  # it was called
            transfer.access(frame, weights(layer), events.REGULARIZER, "losses", site)


def _has_regularizer(layer: ExternalObject) -> bool:
    return any(
        keyword in tf_names.WEIGHT_REGULARIZERS and isinstance(value, (Const, ExternalObject))
        for keyword, value in layer.arguments
        if value != NONE
    )


def weights(layer: ExternalObject) -> Variable:
    """Return the variables that a layer or a model of an outside class owns, as one."""
    variable = layer.attributes.get("weights")
    if not isinstance(variable, Variable):
        variable = Variable(f"{layer.last}.weights", "weights", layer.site, layer.context)
        layer.attributes["weights"] = variable
    return variable


def _is_fork(cls: Class) -> bool:
    """Return whether a class of the project is a copy of TensorFlow's: by name and parameters."""
    method = cls.names.get("__init__") or cls.names.get("__new__")
    if not isinstance(method, Function):
        return any(isinstance(base, External) and base.last == cls.code.name for base in mro(cls))
    code = method.code.parameters
    return tf_names.FORKED[cls.code.name] in [
        name for name, _ in (*code.positional, *code.keyword_only)
    ]
