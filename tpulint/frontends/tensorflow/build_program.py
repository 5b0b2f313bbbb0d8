"""Build a program: find its entry points, read what they lead to, drop what is never compiled.

Entry points are the modules that name the TPU API, and functions that nothing read calls. What
these leave open, those who call them may know: so their callers are read, too, in any module.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tpulint.absint.domain.context import NO_KNOWN_CALLER, Scope
from tpulint.absint.domain.events import ApiCall, Computation
from tpulint.absint.domain.objects import Class, Env, Function, decorated, function_of
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.structures import MAX_STRUCTURE_DEPTH, STRUCTURES, parts
from tpulint.absint.domain.values import NONE, UNKNOWN, Bound, External, ModuleValue, Partial, Value
from tpulint.absint.interpreter import calls, context_managers
from tpulint.absint.interpreter.frame import Frame, Observer, combine
from tpulint.absint.interpreter.interpreter import Interpreter, call_with_deep_stack
from tpulint.absint.resolver.import_graph import Files, importers
from tpulint.absint.resolver.project import Callers, Project
from tpulint.disk import Disk
from tpulint.file_facts import home_of, is_script, is_test
from tpulint.finding import Certainty
from tpulint.frontends import used_by
from tpulint.frontends.settings import Settings
from tpulint.frontends.tensorflow import branch_tests, deferred, prefilter
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.models import estimators, feeds
from tpulint.frontends.tensorflow.models.entry_points import trace
from tpulint.frontends.tensorflow.models.table import Call
from tpulint.frontends.tensorflow.program import Checkpoint, Program, Unreached
from tpulint.ordering import reachable
from tpulint.syntax.lazy_module import Store
from tpulint.syntax.nodes import Conditional, If, Match, Name, dotted_path, walk

PASSED = "on the host, in a module without TPU code"  # why a function was not followed


class Summarized(NamedTuple):
    """A file and its module; None where the file cannot be parsed."""

    filename: str
    module: Module | None


def build_program(
    summarized: Sequence[Summarized],
    filenames: Sequence[str],
    files: Files,
    settings: Settings,
    store: Store,
    observer: Observer | None = None,
    callers: Sequence[str] = (),
) -> Program:
    """Return the program that begins in the modules `summarized`, which are among `filenames`.

    `files` finds the others; `callers` are files that may call what is defined in these.
    """
    project = Project(store.one, files, filenames)
    for summary in summarized:
        project.add(summary.filename, summary.module)
    modules = [summary.module for summary in summarized if summary.module is not None]
    program = Program()
    used = used_by(module.text for module in modules)
    library = combine([front_end.load(settings) for front_end in used])
    interpreter = Interpreter(project, library, observer, program)
    wrappers, leading = settings.boundary_names, Callers(project, callers)
    call_with_deep_stack(read_all, interpreter, modules, wrappers, leading)
    drop_disabled_estimators(program, files.disk)
    drop_plain_estimators(program, project, callers)
    estimators.drop_refused_branches(program)
    drop_runs_on_other_devices(program, project, callers)
    program.unreached = list(unreached(interpreter, program))
    store.release()
    program.failures = interpreter.failures
    skipped = interpreter.skipped()
    program.skipped = {PASSED: len(skipped)} if skipped else {}
    program.unfollowed = interpreter.unfollowed
    paths = [module.path for module in program.modules]
    program.find_importers = functools.partial(importers, project.imports, paths)
    return program


def unreached(interpreter: Interpreter, program: Program) -> Iterator[Unreached]:
    """Yield the functions that use TensorFlow in the modules, and that nothing that was read calls.

    A class whose base is not seen may be Keras'. Functions in such functions are not listed.
    """
    for module in program.modules:
        bound = interpreter.module_names(module)
        names = frozenset(name for name, value in bound.items() if _is_tensorflows(value))
        of_keras = {
            value.code.index
            for value in bound.values()
            if isinstance(value, Class)
            and (any(map(_is_tensorflows, value.outer_bases)) or (names and UNKNOWN in value.bases))
        }
        listed: set[int] = set()
        for code in module.facts.functions if names or of_keras else ():
            if code.parent in listed:
                listed.add(code.index)
            elif id(code) in interpreter.called or code.is_lambda:
                continue
            elif code.mentions_any(names) or (
                code.class_index in of_keras and code.name in RUN_BY_KERAS
            ):
                listed.add(code.index)
                yield Unreached(code.name, Site(module, code.place))


def _is_tensorflows(value: Value) -> bool:
    return isinstance(value, External) and tf_names.is_tensorflow(value.path)


# Methods that the device runs, though they may name nothing of TensorFlow.
RUN_BY_KERAS = tf_names.OPTIMIZER_STEPS | tf_names.words(
    "__call__ call compute_loss train_step test_step update_state _resource_apply_sparse"
)
MAKES_ESTIMATOR = frozenset(["TPUEstimator"])
SPEC = "TPUEstimatorSpec"
MAIN = "main"  # what is called so is run as a script: by itself, or by absl and tf.app
CURRENT_STRATEGY = ".distribute.get_strategy"  # TensorFlow's own, whatever helpers are called
CALLERS = 2  # how often the callers of functions that left something open are read


def read_all(
    interpreter: Interpreter, modules: list[Module], wrappers: Sequence[str], callers: Callers
) -> None:
    """Read what names the TPU API, then the callers of what depends on its arguments.

    At last come closures that nothing read calls: they were passed to something that does.
    """
    names = interpreter.library.entry_names | {wrapper.rpartition(".")[2] for wrapper in wrappers}
    sources = [module.text.encode() for module in modules]
    interpreter.opens_clusters = any(prefilter.opens_clusters(it, wrappers) for it in sources)
    left: list[UncalledMethod] = []
    for module in modules:
        read(interpreter, module, names, wrappers, left)
    _read_methods(interpreter, left)
    for _ in range(CALLERS):
        wanted, interpreter.wanted = interpreter.wanted, {}
        if not wanted:
            break
        wanted_names = frozenset(wanted)
        leading = callers.naming(wanted, interpreter.left_to_callers)
        interpreter.leading.update(module.path for module in leading)
        modules = modules + leading
        for module in modules:
            if module.facts.names_any(wanted_names):
                read(interpreter, module, wanted_names, wrappers, left)
        _read_methods(interpreter, left)
    for function in list(interpreter.closures.values()):
        if not makes_spec(function):
            _read_function(interpreter, function, None, names)
    feeds.read_uncalled_input_fns(interpreter, modules)


class UncalledMethod(NamedTuple):
    """A method of a class with a base that is not seen, which may call it."""

    owner: Class
    function: Function
    names: frozenset[str]
    follow_all: bool


def read(
    interpreter: Interpreter,
    module: Module,
    names: frozenset[str],
    wrappers: Sequence[str],
    left: list[UncalledMethod],
) -> None:
    """Read the module's body, then each function that mentions `names` and is still unread.

    Methods that an unseen base may call are added to those `left`.
    """
    interpreter.follow_all = prefilter.opens_clusters(module.text.encode(), wrappers)
    with interpreter.guarded(module.filename):
        interpreter.module_env(module)
    seen: set[int] = set()
    for value in sorted(interpreter.module_env(module).names.values(), key=_names_no_estimator):
        _read_value(interpreter, module, value, names, seen, left)


def _read_methods(interpreter: Interpreter, left: list[UncalledMethod]) -> None:
    """Read the methods that are left, each with an object of its class that the program makes."""
    while left:
        owner, function, names, interpreter.follow_all = left.pop(0)
        real = (
            instance
            for instance in interpreter.made(owner)
            if instance.site and not is_test(instance.site.module.path)
        )
        instance = next(real, None) or interpreter.generic_instance(owner)
        _read_function(interpreter, function, instance, names)


def _names_no_estimator(value: Value) -> bool:
    """Return whether `value` makes no TPUEstimator: makers, which know model_fns, sort first."""
    return not (isinstance(value, Function) and value.code.names_any(MAKES_ESTIMATOR))


def _read_value(
    interpreter: Interpreter,
    module: Module,
    value: Value,
    names: frozenset[str],
    seen: set[int],
    left: list[UncalledMethod],
) -> None:
    """Read a function, or the methods of a class: each class once, for some hold themselves."""
    function = value.function if isinstance(value, (Bound, Partial)) else value
    if isinstance(function, Function) and function.module is module:
        _read_function(interpreter, function, None, names)
    elif isinstance(value, Class) and value.module is module and id(value) not in seen:
        seen.add(id(value))
        instance = interpreter.generic_instance(value)
        if any(base.last in MAKES_ESTIMATOR for base in value.outer_bases):
            names = names | {"__init__"}
        is_called_back = bool(value.outer_bases)
        for method in list(value.names.values()):
            inner = method.function if isinstance(method, (Bound, Partial)) else method
            hidden = decorated(inner, value) if isinstance(inner, Function) else None
            if isinstance(inner, Function) and hidden is not None:
                entry_names = interpreter.library.entry_names
                _read_function(interpreter, inner, instance, entry_names, hidden)
            elif not isinstance(inner, Function) or inner.module is not module:
                pass
            elif is_called_back and inner.hints.isdisjoint(("classmethod", "staticmethod")):
                left.append(UncalledMethod(value, inner, names, interpreter.follow_all))
            else:
                owner = value if "classmethod" in inner.hints else instance
                receiver = None if "staticmethod" in inner.hints else owner
                _read_function(interpreter, inner, receiver, names)
            if isinstance(inner, Class):
                _read_value(interpreter, module, inner, names, seen, left)


def _read_function(
    interpreter: Interpreter,
    function: Function,
    receiver: Value | None,
    names: frozenset[str],
    hidden: Function | None = None,
) -> None:
    """Read one root with opaque arguments, unless it cannot matter or was read already.

    Where it opens host clusters although not everything on the way was read, it is read
    again with everything: only then does every access count.

    hidden: the method that a decorator has replaced by `function`, a wrapper made for it.
    """
    code = function.code
    if id((hidden or function).code) in interpreter.called:
        # Other callers may get another device than those read.
        if code.names_any(function.module.written(tf_names.TPU_STRATEGIES)):
            _want(interpreter, function)
            if _chooses_device(function):
                interpreter.chooses_device.add(function.name)
        elif _hands_device_on(function, interpreter.chooses_device - tf_names.STRATEGY_RUN):
            _want(interpreter, function)
            interpreter.left_to_callers.add(function.module.path)
        return
    if not code.names_any(function.module.written(names)) and not _leads_to_spec(function):
        return
    if context_managers.is_marked_to_fail(code.decorators):
        return
    with interpreter.guarded(f"{function.module.filename}: {function.name}"):
        before = Checkpoint(interpreter.program)
        interpreter.skipped_module = False
        result = _read_once(interpreter, function, receiver, names)
        if interpreter.skipped_module and before.opened_clusters() and not interpreter.follow_all:
            before.roll_back()
            interpreter.follow_all = True
            result = _read_once(interpreter, function, receiver, names)
            interpreter.follow_all = False
        if not makes_spec(function) and _leads_to_spec(function) and not before.has_call(SPEC):
            before.roll_back()  # it specifies what no TPU runs
        if before.left_open():
            _want(interpreter, function)
        handed_on = receiver if function.name == "__init__" else result
        is_for_callers = before.set_strategy() or deferred.is_for_callers(handed_on)
        if is_for_callers or before.left_argument_open():
            _want(interpreter, function)
            if not is_test(function.module.path):  # what tests choose by parameters is not seen
                interpreter.left_to_callers.add(function.module.path)


def _chooses_device(function: Function) -> bool:
    """Return whether a function that makes a strategy tests a parameter: not all make another."""
    parameters = {parameter.name for parameter in function.code.parameters.named}
    tests = [
        node.subject if isinstance(node, Match) else node.test
        for node in walk(*function.code.body)
        if isinstance(node, (Conditional, If, Match))
    ]
    return any(isinstance(node, Name) and node.id in parameters for node in walk(*tests))


def _hands_device_on(function: Function, choosers: set[str]) -> bool:
    """Return whether a function with parameters names one that chooses the device by its own."""
    code = function.code
    return (
        bool(code.parameters.named)
        and code.names_any(frozenset(choosers))
        and any(
            path.rpartition(".")[2] in choosers and not path.endswith(CURRENT_STRATEGY)
            for node in walk(*code.body)
            if (path := dotted_path(node))
        )
    )


def _want(interpreter: Interpreter, function: Function) -> None:
    """Ask for the callers of a function, and of the class that it is a method of."""
    owner = function.owner
    for name in (function.name, *(() if owner is None else (owner.code.name,))):
        interpreter.wanted.setdefault(name, set()).add(function.module.path)


def _read_once(
    interpreter: Interpreter, function: Function, receiver: Value | None, names: frozenset[str]
) -> Value:
    """Return what the root returns; NONE of a model_fn."""
    site = Site(function.module, function.code.place)
    context = interpreter.new_run()
    if function.name != MAIN and id(function.code) not in interpreter.mains:
        context = context.inside(Scope(NO_KNOWN_CALLER, site))
    frame = interpreter.frame(function.module, Env({}), context)
    if makes_spec(function) or _leads_to_spec(function):
        _read_model_fn(frame, function, receiver, site)
        return NONE
    result = calls.call_function(frame, function, calls.opaque_arguments(function, receiver), site)
    _read_escaped(frame, result, site, names)
    return result


# Only an Estimator's model_fn makes one, so it needs no caller to be known for what it is.
def makes_spec(function: Function) -> bool:
    """Return whether this function itself builds a TPUEstimatorSpec: then it is a model_fn."""
    return function.code.names_any(frozenset([SPEC])) and not any(
        inner.parent == function.code.index and SPEC in inner.mentions
        for inner in function.module.facts.functions
    )


def _leads_to_spec(function: Function) -> bool:
    """Return whether this is a model_fn by its parameters, whose module names the specification."""
    taken = {parameter.name for parameter in function.code.parameters.named}
    return (
        function.name.endswith(tf_names.MODEL_FN)
        and taken.issuperset(("features", "mode", "params"))
        and function.module.facts.names_any(frozenset([SPEC]))
    )


def _read_model_fn(frame: Frame, function: Function, receiver: Value | None, site: Site) -> None:
    """No estimator that takes it was seen: one with `use_tpu=False` makes it no TPU code."""
    callee = Bound(function, receiver) if receiver is not None else function
    call = Call(frame, ApiCall("tensorflow.estimator.tpu.TPUEstimator", site, frame.context, ()))
    names = {parameter.name for parameter in function.code.parameters.named}
    # What no Estimator passes is not known.
    no_tensors = estimators.NOT_TENSORS | (names - estimators.OF_MODEL_FNS)
    trace(call, tf_names.MODEL_FN, callee, None, no_tensors, certainty=Certainty.POSSIBLE)


# A root may return its step for the caller to run.
def _read_escaped(frame: Frame, result: Value, site: Site, names: frozenset[str]) -> None:
    """Read the functions that a root returns: the caller of the root may call them.

    Those that callers of this root return, too, are read again for what these put into them.
    """
    for value in _parts(result):
        function = function_of(value)
        if function is None or isinstance(value, (ModuleValue, Class)):
            continue
        is_step = function.traced or function.code.names_any(names) or _calls_step(function)
        code, escaped = id(function.code), frame.session.escaped
        if not is_step or (code in frame.session.called and code not in escaped):
            continue
        escaped ^= {code}
        if makes_spec(function):
            _read_model_fn(frame, function, None, site)
        else:
            receiver = value.receiver if isinstance(value, Bound) else None
            calls.call_function(frame, function, calls.opaque_arguments(function, receiver), site)


def _calls_step(function: Function) -> bool:
    """Return whether the function calls a traced function that was made beside it."""
    beside = {} if function.env is None or function.env.function is None else function.env.names
    return any(
        isinstance(option, Function) and option.traced
        for name, value in beside.items()
        if function.code.names_any(frozenset([name]))
        for option in value.options
    )


def _parts(result: Value, depth: int = 0) -> Iterator[Value]:
    """Yield what is returned, the items of tuples, lists and dicts one by one."""
    if not isinstance(result, STRUCTURES):
        yield result
    elif depth < MAX_STRUCTURE_DEPTH:
        for part in parts(result):
            yield from _parts(part, depth + 1)


# A model_fn that no seen estimator takes is guessed at, by the specification that it makes.
def drop_disabled_estimators(program: Program, disk: Disk) -> None:
    """Take the guesses away: what makes a TPUEstimatorSpec there is never compiled for a TPU."""
    says: dict[str, set[bool]] = {}
    for call in program.all_calls():
        if call.last == "TPUEstimator":
            use_tpu = call.argument("use_tpu", 4)
            is_refused = use_tpu is not None and use_tpu.value in branch_tests.NO_TPU
            says.setdefault(home_of(call.site.module.path, disk), set()).add(is_refused)
    without = {home for home, answers in says.items() if answers == {True}}
    if without:
        program.computations = [
            it
            for it in program.computations
            if not (_is_guess(it) and home_of(it.site.module.path, disk) in without)
        ]


def _is_guess(computation: Computation) -> bool:
    """Return whether no estimator was seen that takes the model_fn: users make one elsewhere."""
    return computation.kind == "model_fn" and not computation.call.arguments


def drop_plain_estimators(program: Program, project: Project, callers: Sequence[str]) -> None:
    """Take away the guesses that lead only to estimators which are no TPUEstimators.

    callers: files that may call what is defined in the modules of the program.
    """
    paths = {it.site.module.path for it in program.computations if _is_guess(it)}
    above = _importers_of_program(program, project, callers) if paths else {}
    plain = set()
    for path in paths:
        using = _all_above(path, above)
        if any(project.holds(file, prefilter.makes_plain_estimator) for file in using):
            reached = project.imports.reached(path, *using)
            if not any(project.holds(file, prefilter.may_make_tpu_estimator) for file in reached):
                plain.add(path)
    program.computations = [
        it for it in program.computations if not (_is_guess(it) and it.site.module.path in plain)
    ]


def _importers_of_program(
    program: Program, project: Project, callers: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    """Return who imports what, from the modules of a program and from those that may call them."""
    leading = [*map(os.path.abspath, callers), *(module.path for module in program.modules)]
    return importers(project.imports, leading)


def _all_above(path: str, above: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the files that import the module at `path`, themselves or by others, but for tests."""
    files = reachable([path], lambda file: (f for f in above.get(file, ()) if not is_test(f)))
    return set(files) - {path}


# `run` on a parameter, or on `tf.distribute.get_strategy()`: whoever starts the program decides.
def drop_runs_on_other_devices(program: Program, project: Project, callers: Sequence[str]) -> None:
    """Take away what strategies of unknown kind run that no script makes for a TPU.

    callers: files that may call what is defined in the modules of the program.
    """
    paths = {it.site.module.path for it in program.computations if _may_run_elsewhere(it)}
    paths |= {feed.site.module.path for feed in program.unsure_feeds}
    if not paths:
        return
    above = _importers_of_program(program, project, callers)
    others = {path for path in paths if _is_for_other_devices(path, above, project)}
    program.computations = [
        it
        for it in program.computations
        if not (_may_run_elsewhere(it) and it.site.module.path in others)
    ]
    program.unsure_feeds = [it for it in program.unsure_feeds if it.site.module.path not in others]


def _may_run_elsewhere(computation: Computation) -> bool:
    """Return whether this is what a strategy runs, and the strategy's kind is not known."""
    return computation.kind in tf_names.STRATEGY_RUN and computation.certainty is Certainty.POSSIBLE


def _is_for_other_devices(path: str, above: Mapping[str, Sequence[str]], project: Project) -> bool:
    """Return whether scripts lead to the module at `path`, and none can make a TPU's strategy.

    Tests lead to whatever they test, on devices that are not the user's.
    """
    starts = [file for file in sorted(_all_above(path, above)) if project.holds(file, is_script)]
    return bool(starts) and not any(
        project.holds(file, prefilter.may_make_tpu_strategy)
        for file in project.imports.reached(*starts)
    )
