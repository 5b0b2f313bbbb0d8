"""What the calls were given that start TPU programs, by TensorFlow's own signatures.

Of the replicate family, the signatures are those of tensorflow/python/tpu/tpu.py; older releases
have fewer parameters at the end, in the same order. Of a `TPUEstimator` (its configuration, its
replicas, its host functions) they are those of tensorflow_estimator/python/estimator/tpu, in
tpu_estimator.py and tpu_config.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tpulint.absint.domain.events import ApiCall, Argument, Cluster, Computation, Context, Tensor
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence, function_of
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.site import Module, Site
from tpulint.absint.domain.structures import with_alternatives
from tpulint.absint.domain.values import NONE, UNKNOWN, Const, External, Number, Opaque, Value
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.branch_tests import NO_TPU, may_be_without_tpu
from tpulint.frontends.tensorflow.knowledge.tf_names import (
    COMMAND_LINE,
    HOST_FUNCTIONS,
    KEEP_DTYPES,
    is_tensorflow,
)
from tpulint.frontends.tensorflow.program import Program, answered_once
from tpulint.frontends.tensorflow.shapes import described
from tpulint.ordering import Truth
from tpulint.queries.strategies import is_run
from tpulint.syntax.nodes import Constant, Return, first_place, walk

_SHARD = """
    computation inputs num_shards input_shard_axes outputs_from_all_shards output_shard_axes
    infeed_queue device_assignment name xla_options
"""
SIGNATURES = {
    name: tuple(parameters.split())
    for name, parameters in {
        "replicate": """
            computation inputs infeed_queue device_assignment name maximum_shapes padding_spec
            xla_options
        """,
        "split_compile_and_replicate": """
            computation inputs infeed_queue device_assignment name use_tpu maximum_shapes
            padding_spec xla_options
        """,
        "shard": _SHARD,
        "split_compile_and_shard": _SHARD,
        "batch_parallel": """
            computation inputs num_shards infeed_queue device_assignment name xla_options
        """,
        "rewrite": "computation inputs infeed_queue device_assignment name xla_options",
    }.items()
}
REPLICATES = ("replicate", "split_compile_and_replicate")


def replicate_calls(
    program: Program, kinds: tuple[str, ...] = tuple(SIGNATURES)
) -> Iterator[Computation]:
    """Return the computations that a call of one of `kinds` builds."""
    return (computation for computation in program.computations if computation.kind in kinds)


def is_replicated(computation: Computation) -> bool:
    """Return whether a function of TensorFlow's `tpu` module builds it."""
    return computation.kind in SIGNATURES and is_from_tensorflow(computation)


def returned_values(computation: Computation) -> Iterator[Argument]:
    """Yield what its function returns, where that is written, as if they were arguments."""
    if computation.result is not None and (is_run(computation) or is_replicated(computation)):
        for returned in computation.result.options:
            if isinstance(returned, (Sequence, Mapping)):
                place = returned.site
            else:
                place = _only_returned(computation.callee)
            if place is not None:
                yield Argument(None, "", returned, place)


def _only_returned(callee: Value) -> Site | None:
    """Return the place of what a function returns, if it has one `return`."""
    function = function_of(callee)
    nodes = () if function is None else walk(*function.code.body)
    returns = [node for node in nodes if isinstance(node, Return)]
    if function is None or len(returns) != 1 or returns[0].value is None:
        return None
    value = returns[0].value
    # A literal has no place of its own.
    place = returns[0].place if isinstance(value, Constant) else first_place(value)
    return Site(function.module, place)


def argument(entry: Computation, name: str) -> Argument | None:
    """Return the argument `name` of the entry call, by keyword or by position."""
    return entry.call.argument(name, SIGNATURES[entry.kind].index(name))


def argument_value(entry: Computation, name: str) -> Value:
    """Return the value of an argument: None if it is not given, UNKNOWN if it may be."""
    passed = argument(entry, name)
    if passed is None:
        return UNKNOWN if entry.call.is_starred else NONE
    return passed.value


def is_given(value: Value) -> bool:
    """Return whether an argument certainly is something other than None and an empty structure."""
    return not any(_may_be_nothing(option) for option in value.options)


def is_empty(value: Value) -> bool:
    """Return whether `value` is an empty list: TensorFlow takes it as not given."""
    return isinstance(value, Sequence) and not value.items and not value.open


def _may_be_nothing(value: Value) -> bool:
    if isinstance(value, (Sequence, Mapping)):
        return value.open or not value.items
    # An unseen function gives a Tensor, as far as one sees.
    return value in (UNKNOWN, NONE) or isinstance(value, (Opaque, Tensor))


def replicas(entry: Computation) -> int | None:
    """Return the number of replicas that the entry call builds, where its arguments say."""
    # `rewrite` compiles for one core.
    if entry.kind == "rewrite":
        return 1
    if entry.kind in REPLICATES:
        inputs = argument_value(entry, "inputs")
        # tpu.py: without `inputs` there is one replica.
        if inputs == NONE:
            return 1
        if isinstance(inputs, Sequence) and inputs.kind == "list" and not inputs.open:
            return len(inputs.items)
        return None
    number = argument_value(entry, "num_shards")
    return 1 if number == NONE else constant_int(number)


def constant_int(value: Value | None) -> int | None:
    """Return the number that a constant is; a bool is none."""
    return value.value if isinstance(value, Const) and type(value.value) is int else None


def is_number(value: Value) -> bool:
    """Return whether `value` is a number of Python's; a bool is none."""
    return isinstance(value, Const) and type(value.value) in (int, float)


def range_of(bounds: Iterable[int | None]) -> range | None:
    """Return the range of some numbers; None where one is not known, or `range` refuses them."""
    numbers = list(bounds)
    seen = [number for number in numbers if number is not None]
    is_refused = not 1 <= len(seen) <= 3 or 0 in seen[2:]  # a step of 0 never ends
    return None if is_refused or len(seen) < len(numbers) else range(*seen)


def flag_defaults(program: Program, flag: Value, site: Site) -> Iterator[int | None]:
    """Yield the numbers that the flag has at `site` where the command line does not set it."""
    if isinstance(flag, Opaque) and flag.parent is not None and flag.parent.path == COMMAND_LINE:
        # An option of `argparse`.
        for call in program.named.get("add_argument", ()):
            default = call.argument("default")
            spellings = [argument.value for argument in call.arguments if argument.keyword is None]
            names = {str(name.value).lstrip("-") for name in spellings if isinstance(name, Const)}
            if default is not None and flag.last in {name.replace("-", "_") for name in names}:
                yield constant_int(default.value)
    if not isinstance(flag, External):
        return
    defaults = _integer_flags(program).get(Const(flag_name(flag)), {})
    # Scripts beside each other define the same flags: one that has none of its own imports it.
    if site.module in defaults or len(defaults) == 1:
        yield from defaults.get(site.module) or next(iter(defaults.values()))


@answered_once
def _integer_flags(program: Program) -> dict[Const, dict[Module, list[int | None]]]:
    """Return the defaults of flags by their names and modules: each estimator asks for some."""
    flags: dict[Const, dict[Module, list[int | None]]] = {}
    for call in program.named.get("DEFINE_integer", ()):
        name, default = call.argument("name", 0), call.argument("default", 1)
        if name and default and isinstance(name.value, Const):
            modules = flags.setdefault(name.value, {})
            modules.setdefault(call.site.module, []).append(constant_int(default.value))
    return flags


def flag_name(value: External) -> str:
    """Return the name of a flag: `tf.flags.FLAGS` and `absl.flags.FLAGS` are one object."""
    return value.path.rpartition("FLAGS.")[2] or value.path


Fault = TypeVar("Fault")


def faulty_arguments(
    program: Program,
    name: str,
    fault_of: Callable[[Computation, Value], Fault | None],
    kinds: tuple[str, ...] = REPLICATES,
) -> Iterator[tuple[Computation, Argument, Certainty, Fault]]:
    """Yield each entry call whose argument `name` is, or may be, wrong, and that argument.

    With them come the certainty and the first fault that `fault_of` returns for one of its values.
    """
    for entry in replicate_calls(program, kinds):
        passed = argument(entry, name)
        faults = [fault_of(entry, option) for option in passed.value.options] if passed else []
        first = next((fault for fault in faults if fault), None)
        if passed is not None and first is not None:
            yield entry, passed, certainty_if(entry, all(faults)), first


def certainty_if(entry: Computation, *facts: bool) -> Certainty:
    """Return how sure a fault of the entry call is: as sure as the entry itself, if facts hold."""
    # A function of the same name in a project may take other arguments.
    is_certain = is_from_tensorflow(entry) and not entry.context.is_guess and all(facts)
    return entry.certainty if is_certain else Certainty.POSSIBLE


def is_from_tensorflow(entry: Computation) -> bool:
    """Return whether the called function is known to be TensorFlow's, not only named like it."""
    path = entry.call.path
    return is_tensorflow(path) or path.startswith("tpulint.runtime.")


def may_use_tpu(estimator: ApiCall) -> bool:
    """Return whether a TPU may be used: not where it has the literal `use_tpu=False`."""
    # tpu_estimator.py: `use_tpu` is True by default.
    return estimator.value("use_tpu", 4) not in NO_TPU


def surely_uses_tpu(estimator: ApiCall) -> bool:
    """Return whether a TPU is used on every run for which the program is asked to use one.

    What is not seen of `use_tpu`, a flag as a rule, asks for nothing else. But some of the uses
    are for other devices where it is the literal False.
    """
    use_tpu = estimator.value("use_tpu", 4)
    if use_tpu is None:
        return not estimator.is_starred
    return not any(option in NO_TPU for option in use_tpu.options)


def surely_used(estimator: ApiCall, use: Context) -> bool:
    """Return whether what is at `use` happens with the TPU on each run that asks for one.

    Where an estimator is made under a test and used under another, no run may do both.
    """
    may_exclude = estimator.context.choices_beyond(use) and use.choices_beyond(estimator.context)
    is_guess = estimator.context.is_guess or use.is_guess
    is_unsure = may_be_without_tpu(use) or is_guess or may_exclude
    return surely_uses_tpu(estimator) and not is_unsure


def may_evaluate_elsewhere(estimator: ApiCall) -> bool:
    """Return whether evaluations may be the host's, of an estimator that uses a TPU.

    They are not where `eval_on_tpu` is what `use_tpu` is.
    """
    use_tpu, on_tpu = estimator.value("use_tpu", 4), estimator.value("eval_on_tpu", 9)
    return on_tpu not in (None, Const(True)) and (on_tpu is UNKNOWN or on_tpu != use_tpu)


def estimator_of(program: Program, feed: Feed) -> ApiCall | None:
    """Return the call that made the TPUEstimator that `feed` feeds; None for a strategy."""
    makers = program.by_result.get(id(feed.owner), ())
    return next((call for call in reversed(makers) if call.last == "TPUEstimator"), None)


def fed_estimators(program: Program) -> Iterator[tuple[Feed, ApiCall]]:
    """Yield the feeds of TPUEstimators that may use a TPU, each with the call that made its own."""
    for feed in program.feeds:
        estimator = estimator_of(program, feed)
        if estimator is not None and may_use_tpu(estimator):
            yield feed, estimator


def run_config(estimator: ApiCall) -> Value:
    """Return the RunConfig of a TPUEstimator; UNKNOWN where the estimator is not seen."""
    return estimator.value("config", 2) or UNKNOWN


def tpu_config(estimator: ApiCall) -> Value:
    """Return the TPUConfig of a TPUEstimator; NONE without one, UNKNOWN if unseen."""
    return _inside(run_config(estimator), "tpu_config", 0)


def tpu_config_value(estimator: ApiCall, keyword: str, position: int) -> Value:
    """Return an argument of the TPUConfig; NONE if it keeps its default, UNKNOWN if unseen."""
    return _inside(tpu_config(estimator), keyword, position)


def _inside(value: Value, keyword: str, position: int) -> Value:
    if isinstance(value, ExternalObject):
        return value.argument(keyword, position) or NONE
    # Without a TPUConfig all of its settings keep their defaults.
    return NONE if value == NONE else UNKNOWN


def broadcasts_input(program: Program, estimator: ApiCall) -> bool | None:
    """Return whether all cores get the same input and one core's output counts, None if unseen.

    Where the configuration of an estimator is not seen, it is one of those that the program makes.
    """
    modes = tpu_config_value(estimator, INPUT_MODE, 3).options
    if not all(map(_is_input_mode, modes)):
        configurations = program.named.get("TPUConfig", ())
        if not configurations or any(call.is_starred for call in configurations):
            return None
        arguments = [call.argument(INPUT_MODE, 3) for call in configurations]
        modes = tuple(
            option for it in arguments for option in (it.value.options if it else (NONE,))
        )
    if any(isinstance(mode, External) and mode.last == "BROADCAST" for mode in modes):
        return True
    return False if all(map(_is_input_mode, modes)) else None


INPUT_MODE = "per_host_input_for_training"


def _is_input_mode(mode: Value) -> bool:
    """Return whether `per_host_input_for_training` is a bool, or PER_SHARD_V1 and the like."""
    if isinstance(mode, External):
        return mode.last == "BROADCAST" or mode.last.startswith("PER_")
    return isinstance(mode, Const)


def has_one_replica(estimator: ApiCall) -> Truth:
    """Return whether `num_shards=1` or model parallelism is configured: one replica is enough.

    MAYBE where a flag decides on model parallelism, which spreads one replica over all cores of a
    small TPU.
    """
    if Const(1) in tpu_config_value(estimator, "num_shards", 1).options:
        return Truth.YES
    cores = tpu_config_value(estimator, "num_cores_per_replica", 2).options
    are_single = [count not in (NONE, UNKNOWN, Number(), Const(1)) for count in cores]
    return Truth.YES if all(are_single) else Truth.MAYBE if any(are_single) else Truth.NO


def host_calls(program: Program) -> Iterator[tuple[Computation, Cluster]]:
    """Each `host_call` and `eval_metrics` with the model_fn that hands it over."""
    for computation in program.computations:
        for cluster in computation.clusters:
            if cluster.kind in HOST_FUNCTIONS:
                yield computation, cluster


# tensorflow/python/data/ops: what makes the elements that a computation is fed.
MAPS = ("map", "map_and_batch", "map_and_batch_with_legacy_function")
SOURCES = ("from_tensors", "from_tensor_slices")


def element_made(step: ExternalObject) -> Value | None:
    """Return an element of what a step makes; None where it is not seen."""
    transformation = applied_by(step)
    if isinstance(transformation, ExternalObject) and transformation.last in MAPS:
        return transformation.inner
    is_source = step.last in SOURCES and len(step.arguments) == 1
    return step.arguments[0][1] if is_source else None


def applied_by(step: ExternalObject) -> Value:
    """Return the transformation that `apply` is given; every other step is one itself."""
    return step.arguments[0][1] if step.last == "apply" and step.arguments else step


def keeps_dtypes(step: ExternalObject) -> bool:
    """Return whether a step of a pipeline hands on the dtypes of the elements that it gets."""
    applied = applied_by(step)
    return isinstance(applied, ExternalObject) and applied.last in KEEP_DTYPES


def sent_dtypes(value: Value) -> Iterator[tuple[str | None, bool]]:
    """Yield the dtypes in an element, and whether it may lack them or hold others instead."""
    if isinstance(value, Mapping):
        for key, item in value.items.items():
            for dtype, is_alternative in sent_dtypes(item):
                yield dtype, is_alternative or key in value.maybe_absent
    elif isinstance(value, Sequence):
        for item in value.items:
            yield from sent_dtypes(item)
    elif isinstance(value, ExternalObject):  # an array of NumPy
        yield described(value)[0], False
    else:
        yield from ((tensor.dtype, chosen) for tensor, chosen in with_alternatives(value))
