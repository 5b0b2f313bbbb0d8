"""Where reading starts: modules that show the seam, and the functions that nothing read calls."""

from __future__ import annotations

from tpulint.knowledge import seam
from tpulint.program.apis.call import Call
from tpulint.program.apis.estimators import NOT_TENSORS
from tpulint.program.apis.tracing import trace
from tpulint.program.evaluate import calls
from tpulint.program.evaluate.activation import Activation
from tpulint.program.evaluate.machine import Machine, opaque_arguments
from tpulint.program.model import ApiCall, Site
from tpulint.program.module import Module
from tpulint.program.prefilter import opens_clusters
from tpulint.program.values import (
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Env,
    Function,
    ModuleValue,
    Partial,
    Value,
)

ENTRY_NAMES = (
    seam.REPLICATE_FAMILY
    | seam.UNMISTAKABLE
    | seam.STRATEGY_RUN
    | seam.TPU_STRATEGIES
    | {"_outside_compilation_counter"}
)


def read(machine: Machine, module: Module) -> None:
    """Read the module's body, then each function that names the seam and is still unread."""
    machine.follow_all = opens_clusters(module.text.encode(), machine.settings.wrappers)
    with machine.guarded(module.filename):
        machine.module_env(module)
    env = machine.module_env(module)
    entry_names = ENTRY_NAMES | {each.rpartition(".")[2] for each in machine.settings.wrappers}
    for value in list(env.names.values()):
        _read_value(machine, module, value, entry_names)


def _read_value(
    machine: Machine, module: Module, value: Value, names: frozenset[str] | set[str]
) -> None:
    function = value.function if isinstance(value, (Bound, Partial)) else value
    if isinstance(function, Function) and function.module is module:
        _read_function(machine, function, None, names)
    elif isinstance(value, Class) and value.module is module:
        instance = machine.generic_instance(value)
        for method in list(value.names.values()):
            inner = method.function if isinstance(method, (Bound, Partial)) else method
            if isinstance(inner, Function) and inner.module is module:
                static = "staticmethod" in inner.hints
                receiver = None if static else instance
                _read_function(machine, inner, receiver, names)
            elif isinstance(inner, Class):
                _read_value(machine, module, inner, names)


def _read_function(
    machine: Machine,
    function: Function,
    receiver: Value | None,
    names: frozenset[str] | set[str],
) -> None:
    """Read one root with opaque arguments, unless it cannot matter or was read already."""
    code = function.code
    if id(code) in machine.called or names.isdisjoint(code.mentions):
        return
    act = Activation(machine, function.module, Env({}), machine.new_run())
    site = Site(function.module, code.place)
    with machine.guarded(f"{function.module.filename}: {function.name}"):
        if makes_spec(function):
            _read_model_fn(act, function, receiver, site)
        else:
            made = calls.call_function(act, function, opaque_arguments(function, receiver), site)
            _read_escaped(act, made, site, names)


def makes_spec(function: Function) -> bool:
    """Whether this function itself builds a TPUEstimatorSpec: then it is a model_fn."""
    if "TPUEstimatorSpec" not in function.code.mentions:
        return False
    inner = [
        each
        for each in function.module.facts.functions
        if each.parent == function.code.index and "TPUEstimatorSpec" in each.mentions
    ]
    return not inner


def _read_model_fn(act: Activation, function: Function, receiver: Value | None, site: Site) -> None:
    callee = Bound(function, receiver) if receiver is not None else function
    record = ApiCall("tensorflow.estimator.tpu.TPUEstimator", site, act.where, (), None, UNKNOWN)
    trace(Call(act, record), "model_fn", callee, None, mode="graph", opaque=NOT_TENSORS)


def _read_escaped(
    act: Activation, made: Value, site: Site, names: frozenset[str] | set[str]
) -> None:
    """A function that a root hands back may be called by whoever called the root."""
    machine = act.machine
    function = machine.function_of(made)
    if function is None or isinstance(made, (ModuleValue, Class)) or made == NONE:
        return
    if id(function.code) in machine.called or names.isdisjoint(function.code.mentions):
        return
    if makes_spec(function):
        _read_model_fn(act, function, None, site)
    else:
        receiver = made.receiver if isinstance(made, Bound) else None
        calls.call_function(act, function, opaque_arguments(function, receiver), site)
