"""TPU504: a dtype that the TPU lacks, or has no units for, in device code."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.absint.domain.events import (
    ApiCall,
    Argument,
    Computation,
    Context,
    MixedOperands,
    Tensor,
)
from tpulint.absint.domain.objects import ExternalObject, Mapping, Sequence
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.structures import all_tensors, parts, with_alternatives
from tpulint.absint.domain.values import UNKNOWN, Choice, Const, External, Value
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import compiled_at, path_to, path_to_site
from tpulint.finding import Edit, Fix, Location
from tpulint.frontends.tensorflow.branch_tests import asks_about, is_for_gpu, leaves_tpu
from tpulint.frontends.tensorflow.keras_models import FITS
from tpulint.frontends.tensorflow.knowledge import names, naming
from tpulint.frontends.tensorflow.knowledge.operations import builds, dtypes, lacks
from tpulint.frontends.tensorflow.knowledge.strategies import COMPUTE_WITH_OPERATORS
from tpulint.frontends.tensorflow.knowledge.tf_names import (
    COMPUTE_DTYPE,
    KEEP_ELEMENTS,
    REFUSES_OTHERS,
    SETS_POLICY,
)
from tpulint.frontends.tensorflow.shapes import mixable
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries import device_code, environment
from tpulint.queries.certainty import (
    compiled_if,
    definite_if,
    doubt_about,
    doubt_about_guess,
    is_compiled_for_tpu,
    on_tpu_if,
)
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.entry_calls import element_made, keeps_dtypes, returned_values, sent_dtypes
from tpulint.queries.input_pipelines import data_of, steps
from tpulint.rules.base import Applicability, Certainty, Program, Report, Rule, Severity, register

# Dtypes that a TPU computes in another way than is meant: the reason, and the one to use.
SLOW = {
    "float16": (
        "float16 on a TPU has neither the range nor the hardware units of `bfloat16`",
        "bfloat16",
    ),
    "float64": ("a TPU has no float64 units and emulates it slowly", "float32"),
}
HALF = {"half": "float16", "double": "float64"}
# Functions whose names say the dtype.
CASTS = {"to_double": "float64", "to_complex128": "complex128"}
# The keyword, and its position, in which operations take the dtype of what they make.
TAKES = {
    "cast": 1,
    "saturate_cast": 1,
    "zeros": 1,
    "ones": 1,
    "zeros_like": 1,
    "ones_like": 1,
    "convert_to_tensor": 1,
    "eye": None,
    "range": None,
    "one_hot": None,
    "uniform": None,
    "normal": None,
    "truncated_normal": None,
    "random_uniform": None,
    "random_normal": None,
    "constant": 1,
    "get_variable": 2,
    "Variable": None,
}
POLICIES = SETS_POLICY | {"Policy", "DTypePolicy"}
MIXED = "mixed_float16"
OF_GPUS = ("MirroredStrategy", "MultiWorkerMirroredStrategy")
FLOATS = frozenset(["bfloat16", "float16", "float32", "float64"])
SIGNS = COMPUTE_WITH_OPERATORS | {"Modulo": "%", "Equal": "==", "NotEqual": "!="}
HALVES = ("bfloat16", "float16")  # a mixture without one of these fails on every device
PROMOTES = frozenset(["experimental_enable_numpy_behavior", "enable_numpy_behavior"])
NOT_FED = ("string", "complex128", "float64", "float16")  # what no infeed takes
NO_TPU_HAS = ("string", "complex128")
LAST_WITHOUT_INT64 = "2.4"  # extract_outside_compilation_pass.cc: "not supported yet: b/120809951"


@register
class UnsupportedDtype(Rule):
    code = "TPU504"
    name = "unsupported-dtype"
    severity = Severity.ERROR
    summary = "a dtype that the TPU lacks"
    fixes = (Applicability.UNSAFE,)

    def check(self, program: Program, report: Report) -> None:
        _check_calls(program, report)
        _check_kernels(program, report)
        _check_inputs(program, report)
        _check_results(program, report)
        _check_ragged(program, report)
        _check_infeeds(program, report)
        check_transfers(program, report)
        check_policies(program, report)
        _check_mixed(program, report)


# tensorflow/python/framework/op_def_library.py: "has type float32 that does not match type
# bfloat16 of argument 'x'". What NumPy's rules or Keras promote is no fault.
def _check_mixed(program: Program, report: Report) -> None:
    """Check operations that take tensors of two floating-point dtypes."""
    if program.all_named(PROMOTES):
        return
    policy_dtype, is_for_all = _set_policy(program)
    for computation, mixed in _mixtures(program):
        of_policy = COMPUTE_DTYPE in mixed.dtypes
        dtypes = mixed.dtypes - {COMPUTE_DTYPE}
        if of_policy and policy_dtype is not None:
            dtypes |= {policy_dtype}
        if not dtypes <= FLOATS or len(dtypes) < 2 or dtypes.isdisjoint(HALVES):
            continue
        takes = f"takes a {' and a '.join(sorted(dtypes))}"
        is_certain = not of_policy or is_for_all
        doubt = doubt_about(program, computation, mixed.context)
        doubt = doubt or "if the layer computes in the dtype of the policy"
        report(
            mixed.site.span,
            f"`{mixed.operator}` {takes}, which TensorFlow refuses: cast one to the dtype of the"
            " other, with `tf.cast(x, y.dtype)`",
            **compiled_at(program, computation, mixed, takes, is_certain, doubt=doubt),
        )


def _mixtures(program: Program) -> Iterator[tuple[Computation, MixedOperands]]:
    """Yield the operators and operations on the device that take tensors of several dtypes."""
    for computation in program.computations:
        for mixed in computation.mixed:
            if device_code.is_compiled(mixed.context):
                yield computation, mixed._replace(operator=SIGNS[mixed.operator])
    for computation, call in device_code.device_calls(program):
        is_tensorflows = call.last in REFUSES_OTHERS and call.path.startswith("tensorflow.")
        if is_tensorflows and ".keras." not in call.path and ".numpy." not in call.path:
            taken = [value.dtype for value in mixable(call) if isinstance(value, Tensor)]
            dtypes = frozenset(filter(None, taken))
            if len(dtypes) > 1:
                yield computation, MixedOperands(call.last, dtypes, call.site, call.context)


def _set_policy(program: Program) -> tuple[str | None, bool]:
    """Return the dtype of the one policy for all layers, and whether all certainly have that.

    A program that sets it under a condition may cast under the same one.
    """
    calls = program.all_named(SETS_POLICY)
    dtypes = {_compute_dtype(call) for call in calls}
    if len(dtypes) != 1 or any(call.context.conditions or call.context.is_guess for call in calls):
        return None, False
    trainings = {start for _, start in environment.entry_modules(program.computations)}
    places = {start for _, start in environment.entry_modules(calls)}
    return dtypes.pop(), trainings == places


def _compute_dtype(call: ApiCall) -> str | None:
    policy = _policy(call)
    value = policy.value if policy is not None else None
    if isinstance(value, ExternalObject) and value.last in ("Policy", "DTypePolicy"):
        value = value.argument("name", 0)
    dtype = str(value.value).removeprefix("mixed_") if isinstance(value, Const) else None
    return dtype if dtype in FLOATS else None


def _check_calls(program: Program, report: Report) -> None:
    for computation, call in device_code.compiled_calls(program):
        for argument, dtype in asked_dtypes(call):
            lacking = dtype not in dtypes()
            # `if params.dtype == "float16":` around the call: the author chose that dtype there.
            if not lacking and (
                asks_about(call.context, naming.DTYPE) or tells_time(computation, call)
            ):
                continue
            site = call.site if argument is None else argument.site
            does = f"makes a {dtype} on the device"
            why = ", which no TPU supports" if lacking else f": {SLOW[dtype][0]}"
            report(
                site.span,
                f"`{call.last}` {does}{why}; {advice(dtype)}",
                certainty=_certainty(program, computation, call, lacking=lacking),
                trace=path_to(computation, call, does),
                doubt=doubt_about(program, computation, call.context),
                fix=_fix(argument, dtype) if argument is not None else None,
            )


# Seconds since 1970 have more digits than a float32.
def tells_time(computation: Computation, call: ApiCall) -> bool:
    """Return whether the function that makes this call takes the time, too."""
    chain = call.context.call_chain
    return any(
        other.last == "timestamp" and other.context.call_chain == chain
        for other in computation.calls
    )


def _certainty(
    program: Program, computation: Computation, call: ApiCall, *, lacking: bool
) -> Certainty:
    """Return how sure a fault is; what is only slow is none where a TPU may never run it."""
    is_certain = not call.context.is_guess and is_compiled_for_tpu(
        program, computation, call.context
    )
    if not lacking and not is_certain:
        return Certainty.UNLIKELY
    return definite_if(lacking, is_certain)


def _check_kernels(program: Program, report: Report) -> None:
    """Tensors whose dtype is seen, given to what has a kernel for others only."""
    for computation, call in device_code.compiled_calls(program):
        missing = lacks(call.path)
        for argument in call.arguments[:1] if missing else ():
            for tensor, is_alternative in with_alternatives(argument.value):
                if tensor.dtype in missing:
                    what = f"`{call.last}` has no TPU kernel for {tensor.dtype}"
                    report(
                        call.site.span,
                        f"{what}: {advice(tensor.dtype)}",
                        **compiled_at(program, computation, call, what, not is_alternative),
                    )


def _check_inputs(program: Program, report: Report) -> None:
    """Check the values given to the computation whose dtype is seen."""
    for computation in program.computations:
        if device_code.is_softly_placed(program, computation):
            continue
        context = computation.context
        for site, dtype, is_alternative in refused_inputs(program, computation):
            report(
                site.span,
                f"a {dtype} is given to the computation: no TPU supports that dtype;"
                f" {advice(dtype)}",
                certainty=compiled_if(program, computation, context, not is_alternative),
                trace=path_to_site(computation, context, site, f"a {dtype} enters the device"),
            )


def _check_results(program: Program, report: Report) -> None:
    """Check what computations return for strings that they make themselves."""
    for computation in program.computations:
        if not may_be_tpus(computation) or device_code.is_softly_placed(program, computation):
            continue
        is_single = not isinstance(computation.result, Choice)
        for returned in returned_values(computation):
            for text in texts_in(program, returned.value):
                report(
                    traces.in_argument(returned, text).span,
                    f"the function given to `{computation.kind}` returns a string, which no TPU"
                    " supports: remove it from the results",
                    certainty=on_tpu_if(computation, computation.context, is_single),
                    trace=(traces.entry(computation),),
                    doubt=doubt_about_guess(computation.context) or "if the strategy is a TPU's",
                )


def texts_in(program: Program, value: Value) -> Iterator[Value]:
    """Yield the strings in a result: Python's, and those of the device."""
    if isinstance(value, (Sequence, Mapping)):
        for item in parts(value):
            yield from texts_in(program, item)
    elif device_code.is_text_of_device(program, value):
        yield value


def _check_ragged(program: Program, report: Report) -> None:
    """Check datasets of ragged tensors: tpu_strategy.py, `_check_spec`."""
    for feed in program.feeds:
        # Options may say that no element is sent to the device.
        has_options = any(len(call.arguments) > 1 for call in program.at.get(feed.site, ()))
        if not isinstance(feed.owner, Strategy) or (feed.kind == "distribute" and has_options):
            continue
        data = data_of(program, feed)
        # `fit` makes a dataset of a tensor.
        source = feed.data if feed.kind in FITS and data is UNKNOWN else data
        makers = [ragged_source(program, data) for data in source.options]
        if makers and makers[0] is not None and None not in makers:
            report(
                makers[0].site.span,
                f"`{makers[0].last}` makes ragged tensors, which a TPUStrategy refuses in a"
                " dataset: make dense ones, with `to_tensor(shape=...)`",
                certainty=definite_if(not feed.context.is_guess, len(makers) == 1),
                trace=(
                    traces.host_step(makers[0].site, "makes ragged tensors"),
                    traces.host_step(feed.site, "gives them to the replicas"),
                ),
            )


# tensorflow/python/tpu/ops/tpu_ops.py, `_SUPPORTED_INFEED_DTYPES`
def _check_infeeds(program: Program, report: Report) -> None:
    """Check the dtypes of what a TPUEstimator's dataset gives."""
    for feed in program.feeds:
        owner = feed.owner
        is_estimator = isinstance(owner, ExternalObject) and owner.last == "TPUEstimator"
        if not is_estimator or feed.kind == "predict":  # which may run on the CPU
            continue
        data = data_of(program, feed)
        step = next((step for step in steps(data) if not keeps_dtypes(step)), None)
        element = None if step is None else element_made(step)
        if step is None or element is None:
            continue
        is_sure = not feed.context.is_guess and len(data.options) == 1
        for dtype, is_alternative in sent_dtypes(element):
            if dtype not in NOT_FED:
                continue
            report(
                step.site.span,
                f"`{step.last}` gives the TPU a {dtype}, which no infeed takes: remove"
                f" it from the features, or {advice(dtype)}",
                certainty=definite_if(not is_alternative, is_sure),
                trace=(
                    traces.host_step(step.site, f"gives a {dtype}"),
                    traces.host_step(feed.site, "feeds the TPU with it"),
                ),
            )
            break


def ragged_source(program: Program, data: Value) -> ApiCall | None:
    """Return the call that makes a ragged component of a dataset; None where none is seen.

    What maps the elements may make them dense.
    """
    tensors = [data] if isinstance(data, Tensor) else []
    if not tensors:
        step = next((step for step in steps(data) if step.last not in KEEP_ELEMENTS), None)
        if step is not None and step.last in ("from_tensors", "from_tensor_slices"):
            tensors = all_tensors(value for _, value in step.arguments)
    calls = (call for tensor in tensors for call in program.by_result.get(id(tensor), ()))
    return next(filter(environment.makes_ragged, calls), None)


def refused_inputs(program: Program, computation: Computation) -> Iterator[tuple[Site, str, bool]]:
    """Yield the place and dtype of inputs that no TPU has, and whether others may be given.

    TensorFlow leaves out what the computation leaves alone.
    """
    call = computation.call
    refused = [argument for argument in call.arguments if refused_tensors(argument.value)]
    for parameter in computation.parameters:
        for tensor, is_alternative in refused_tensors(parameter):
            if is_taken(program, computation, [tensor]):
                place = refused[0] if refused else call.argument("args", 1) or call
                yield place.site, tensor.dtype or "", is_alternative
    # Those of a graph's computation are placeholders, without the dtypes of the inputs.
    for argument in refused if computation.mode == "graph" else ():
        # `replicate` takes a list of inputs for each replica.
        items = argument.value.items if isinstance(argument.value, Sequence) else []
        items = items[0].items if items and isinstance(items[0], Sequence) else items
        for item, parameter in zip(items, computation.parameters):
            if is_taken(program, computation, all_tensors([parameter])):
                for tensor, is_alternative in refused_tensors(item):
                    yield argument.site, tensor.dtype or "", is_alternative


def refused_tensors(value: Value) -> list[tuple[Tensor, bool]]:
    """Return the tensors in a value that no TPU has, and whether it may be another one."""
    return [
        (tensor, is_alternative)
        for tensor, is_alternative in with_alternatives(value)
        if tensor.dtype in NO_TPU_HAS and (tensor.split or tensor.of_all is None)
    ]


def is_taken(program: Program, computation: Computation, tensors: list[Tensor]) -> bool:
    """Return whether the computation returns an input, or gives it to what may be compiled.

    What has no kernel is TPU501.
    """
    calls = [it for it in computation.calls if not environment.operation_built(program, it)]
    taken = [argument.value for call in calls for argument in call.arguments]
    held = set(map(id, all_tensors([computation.result or UNKNOWN, *taken])))
    return not held.isdisjoint(map(id, tensors))


def _fix(argument: Argument, dtype: str) -> Fix | None:
    """Write the dtype that is meant; a float64 is asked for on purpose, for its precision."""
    end = argument.site.span.end
    start = Location(end.row, end.column - len(dtype))
    is_spelled = isinstance(argument.value, External) and argument.value.last == dtype
    if dtype != "float16" or not is_spelled or start.column < argument.site.span.start.column:
        return None
    new = SLOW[dtype][1]
    return Fix(Applicability.UNSAFE, f"write `{new}`", (Edit(start, end, new),))


def asked_dtypes(call: ApiCall) -> Iterator[tuple[Argument | None, str]]:
    """Yield the dtypes that a call asks for, with the argument that says so."""
    if not call.path.startswith("tensorflow.") or builds(call.path) is not None:
        return
    if call.last in CASTS:
        yield None, CASTS[call.last]
    argument = call.argument("dtype", TAKES[call.last]) if call.last in TAKES else None
    name = named(argument.value) if argument is not None else None
    # A constant string is compiled: assertions hold some.
    if name is not None and not (call.last == "constant" and name == "string"):
        yield argument, name


def named(value: Value) -> str | None:
    """Return the dtype that `tf.float16`, `np.float16` or `"float16"` names."""
    if not isinstance(value, (External, Const)):
        return None
    name = value.last if isinstance(value, External) else value.value
    name = HALF.get(name, name)
    return name if name in SLOW or name in NO_TPU_HAS else None


def _is_in_handler(context: Context) -> bool:
    """Return whether `context` is in an `except`: it runs where what was tried has failed."""
    return any(key.kind == "except" for key, _ in context.conditions)


def check_policies(program: Program, report: Report) -> None:
    """Keras' mixed precision in float16, in a program that makes a TPU's strategy."""
    trainings = {
        start
        for computation, start in environment.entry_modules(program.computations)
        if computation.mode == "function" and computation.certainty is Certainty.DEFINITE
    }
    if not trainings:
        return
    is_followed = environment.follow_policy_on_tpu(program)
    _, is_for_all = _set_policy(program)
    # In a handler, a strategy of GPUs is for runs without a TPU.
    is_for_all = is_for_all and all(
        _is_in_handler(call.context) for call in program.named_any(OF_GPUS)
    )
    mixed = filter(_mixed_policy, program.all_named(POLICIES))
    for call, start in environment.entry_modules(mixed):
        policy, context = _mixed_policy(call), call.context
        # A policy in an `except` or behind a test is for the machine that is left.
        if (
            policy is None
            or _is_in_handler(context)
            or (asks_about(context, naming.DTYPE) and not environment.is_with_tpu(program, call))
            or is_for_gpu(context)
            or leaves_tpu(context)
            or environment.has_no_tpu(program, call)
        ):
            continue
        if any(environment.may_share_a_process(program, start, training) for training in trainings):
            is_set = is_for_all or _is_of_each_tpu(program, call)
            report(
                policy.site.span,
                f"`{MIXED}` is for GPUs: {SLOW['float16'][0]}; use `mixed_bfloat16`",
                certainty=definite_if(is_followed, _is_put_in_place(program, call), is_set),
                doubt="if a TPU runs with this policy",
            )


def _mixed_policy(call: ApiCall) -> Argument | None:
    """Return the argument that asks Keras for mixed precision in float16."""
    policy = _policy(call)
    is_keras = "mixed_precision" in call.path or "keras" in call.path
    return policy if is_keras and policy and policy.value == Const(MIXED) else None


def _policy(call: ApiCall) -> Argument | None:
    return call.argument("name", 0) or call.argument("policy", 0)


def _is_put_in_place(program: Program, call: ApiCall) -> bool:
    """Return whether a policy is Keras's, or is made to be set as that."""
    policies = [_policy(setter) for setter in program.all_named(SETS_POLICY)]
    return call.last in SETS_POLICY or call.result in [it.value for it in policies if it]


def _is_of_each_tpu(program: Program, call: ApiCall) -> bool:
    """Return whether each run that makes the TPU's strategy sets this policy and no other."""
    return environment.is_with_tpu(program, call, certainly=True) and all(
        _compute_dtype(other) == "float16" or other.context.is_other_branch(call.context)
        for other in program.all_named(SETS_POLICY)
    )


def advice(dtype: str) -> str:
    """Return the dtype to use instead of one."""
    if dtype in SLOW:
        return f"use {SLOW[dtype][1]}"
    if dtype == "string":
        return "make numbers of it on the host"
    near = {"complex128": "complex64", "int64": "int32", "uint64": "uint32"}
    return f"use {near.get(dtype, 'float32 or int32')}"


def check_transfers(program: Program, report: Report) -> None:
    """Tensors of int64 that cross to the host: TensorFlow up to 2.4 refuses them."""
    for cluster in program.clusters():
        computation, context = cluster.computation, cluster.context
        target = program.targets.of(cluster.site.module.filename)
        # Later releases accept int64.
        is_refused = not target.mask & ~names.until(LAST_WITHOUT_INT64)
        if computation is None or cluster.kind != "outside_compilation" or not is_refused:
            continue
        for use in cluster.receives:
            if use.tensor.dtype == "int64":
                report(
                    cluster.named.span,
                    "an int64 tensor is sent to the host, which TensorFlow supports only from"
                    f" {names.after(LAST_WITHOUT_INT64)} on: cast it to int32",
                    certainty=compiled_if(program, computation, context, not use.alternative),
                    trace=path_to_site(computation, context, cluster.site, "sends an int64"),
                )
