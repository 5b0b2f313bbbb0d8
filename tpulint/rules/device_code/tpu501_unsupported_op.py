"""TPU501: an operation with no TPU kernel in device code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from tpulint.absint.domain.context import COMPUTATION, DATA
from tpulint.absint.domain.events import FOR, ApiCall, Computation, Tensor
from tpulint.absint.domain.objects import ExternalObject
from tpulint.absint.domain.site import Site, start_of
from tpulint.absint.domain.values import Const
from tpulint.diagnostics import traces
from tpulint.diagnostics.traces import compiled_at
from tpulint.frontends.tensorflow.branch_tests import asks_about, is_for, is_for_gpu
from tpulint.frontends.tensorflow.knowledge import naming
from tpulint.frontends.tensorflow.knowledge.operations import BuiltOperation
from tpulint.frontends.tensorflow.knowledge.tf_names import MODEL_FN, is_tensorflow, words
from tpulint.frontends.tensorflow.program import Program, answered_once
from tpulint.queries.certainty import compiled_if
from tpulint.queries.device_code import compiled_calls, is_compiled, is_softly_placed, iterated_by
from tpulint.queries.environment import is_for_tensorflow_1, operation_built
from tpulint.rules.base import Report, Rule, Severity, register
from tpulint.syntax.nodes import CallNode, ExpressionStatement, With, walk

# The operations of a table or a queue are never compiled: its state lives on the host.
HOST_STATE = {"table": "a lookup table", "queue": "a queue"}
BY_RELEASE = "unless TensorFlow 1 runs it, which drops what nothing takes"
CALL = "__call__"
DATA_MODULE = "tensorflow.data."
READS_WHOLE = frozenset(["get_single_element", "reduce"])  # methods of datasets
IF_ON = "if this is on where a TPU runs it"
# Functions that a model_fn calls to drop the summaries that its helpers made.
EMPTIES = frozenset(["clear_collection", "get_collection_ref", "remove_summaries"])
V1_SUMMARIES = words("ScalarSummary HistogramSummary ImageSummary AudioSummaryV2 TensorSummaryV2")


@register
class UnsupportedOp(Rule):
    code = "TPU501"
    name = "unsupported-op"
    severity = Severity.ERROR
    summary = "an operation with no TPU kernel in device code"

    def check(self, program: Program, report: Report) -> None:
        # A model_fn and the helper that empties its collection are in one package by habit.
        emptied = set(map(_folder, program.all_named(EMPTIES)))
        for computation, call in compiled_calls(program):
            built = operation_built(program, call)
            if built is None or is_for_gpu(call.context) or is_for(call.context, naming.SPARSE):
                continue
            is_conditional = not call.context.conditions <= computation.context.conditions
            if "Placeholder" in built.operations and is_conditional:
                continue  # models make placeholders for what runs an exported graph, on no TPU
            is_dropped = is_dropped_by_1(built, call, computation)
            is_built, doubt = _is_built(program, computation, call, built)
            if is_dropped:
                is_built, doubt = False, BY_RELEASE
            sites = (call.site, computation.call.site)
            # An Estimator merges the summaries of TensorFlow 1, and runs them.
            is_merged = computation.kind == MODEL_FN and _folder(call) not in emptied
            if (
                (not is_merged and V1_SUMMARIES.issuperset(built.operations))
                or (is_dropped and any(is_for_tensorflow_1(program, site) for site in sites))
                or (built.writer and not is_built and asks_about(call.context, naming.SUMMARIES))
            ):
                continue
            layer = called_layer(call)
            name = layer.last if layer else call.last
            what = " or ".join(f"`{operation}`" for operation in built.operations)
            release = f" in TensorFlow {built.release}" if built.release else ""
            step = f"builds {what} on the device"
            report(
                call.site.span,
                f"`{name}` builds {what}, which has no TPU kernel{release}:"
                f" {advice(call, built, computation)}",
                **compiled_at(program, computation, call, step, is_built, doubt=doubt),
            )
        for computation, call in compiled_calls(program):
            read = read_of_dataset(call)
            if read is not None:
                report(
                    read.site.span,
                    f"`{call.last}` reads a dataset on the host, whose operations have no TPU"
                    " kernel: read the batch before the step, and pass it",
                    **compiled_at(program, computation, read, "reads the dataset"),
                )
        check_numerics(program, report)
        _check_host_state(program, report)


def _check_host_state(program: Program, report: Report) -> None:
    """Report the uses of what lives on the host."""
    for computation in program.computations:
        if is_softly_placed(program, computation):
            continue
        for access in computation.accesses:
            kind = HOST_STATE.get(access.variable.sort)
            if kind and access.mode != "create" and is_compiled(access.context):
                report(
                    access.site.span,
                    f"`{access.how}` uses {kind} on the host, whose operations have no TPU kernel:"
                    " use it in the input pipeline",
                    **compiled_at(program, computation, access, f"uses {kind} on the device"),
                )


# tensorflow/tensorflow#40796; tensorflow/python/debug/lib/check_numerics_callback.py
def check_numerics(program: Program, report: Report) -> None:
    """Report what puts a check behind each operation that is built later."""
    if program.named.get("disable_check_numerics"):
        return
    for call in program.named.get("enable_check_numerics", ()):
        built = [
            computation
            for computation in program.computations
            if computation.context.run == call.context.run
            and is_tensorflow(call.path)
            and not is_softly_placed(program, computation)
        ]
        later = [computation for computation in built if is_built_after(computation, call)]
        for computation in (later or built)[:1]:
            is_sure = bool(later) and not (call.context.is_guess or call.context.conditions)
            report(
                call.site.span,
                "`enable_check_numerics` puts `CheckNumericsV2` behind each operation, which has no"
                " TPU kernel: use `tf.debugging.check_numerics` where you need it",
                certainty=compiled_if(program, computation, computation.context, is_sure),
                trace=(
                    traces.host_step(call.site, "has all operations checked"),
                    traces.entry(computation),
                ),
                doubt=IF_ON,
            )


def is_built_after(computation: Computation, call: ApiCall) -> bool:
    """Return whether a module makes the call, and builds the computation further down."""
    start = start_of(computation.context.call_chain, computation.site)
    is_below = start.span.start.row > call.site.span.start.row
    return not call.context.call_chain and start.module is call.site.module and is_below


def called_layer(call: ApiCall) -> ExternalObject | None:
    """Return the layer of Keras that is called, if one is."""
    receiver = call.receiver
    return receiver if call.last == CALL and isinstance(receiver, ExternalObject) else None


def advice(call: ApiCall, built: BuiltOperation, computation: Computation) -> str:
    """Return what to do instead of the operation on the device."""
    # A summary needs the step's value, so the host has to be given it.
    if built.writer or V1_SUMMARIES.issuperset(built.operations):
        in_estimator = computation.kind == MODEL_FN
        return "write it in `host_call`" if in_estimator else "write it outside the computation"
    if called_layer(call) is not None or naming.PREPARES_INPUT.is_in(call.path):
        return "do it in the input pipeline"
    return "send it to the host with `outside_compilation`"


def _is_built(
    program: Program, computation: Computation, call: ApiCall, built: BuiltOperation
) -> tuple[bool, str | None]:
    """Return whether the operation is certainly there, without a kernel, and what settles it.

    The second is None where all that is open is whether a TPU compiles it.
    """
    if is_for(call.context, naming.DEBUGGING):
        return False, IF_ON
    if built.writer and not has_writer(program, computation):
        # Without a default writer a summary builds nothing.
        return False, "if a summary writer is the default one there"
    if not (built.lacks_kernel or built.release):
        return False, "unless the TPU's release of TensorFlow has a kernel"
    # TensorFlow computes an operation on constants while it builds the graph, but prints later.
    is_folded = bool(call.arguments) and all(isinstance(a.value, Const) for a in call.arguments)
    is_built = built.lacks_kernel and (not is_folded or call.last in ("print", "Print"))
    return is_built, None


def read_of_dataset(call: ApiCall) -> ApiCall | None:
    """Return a call or loop that reads a dataset, with the place of the dataset in a loop.

    TPU705 has those of all replicas.
    """
    iterated, site = iterated_by(call)
    if call.path == FOR and any(scope.kind == DATA for scope in call.context.since(COMPUTATION)):
        return None  # a function of another dataset
    is_read = is_of_host(iterated) or (call.last in READS_WHOLE and is_of_host(call.receiver))
    return replace(call, site=site) if is_read else None


def is_of_host(value: object) -> bool:
    """Return whether this is a dataset of TensorFlow's, or an iterator over one."""
    if not isinstance(value, ExternalObject) or not value.path.startswith(DATA_MODULE):
        return False
    return value.path.removeprefix(DATA_MODULE).partition(".")[0].endswith("Dataset")


# tensorflow/compiler/tf2xla/functionalize_while.cc copies of a loop what the next round needs, and
# an Estimator runs a model_fn in one. In TensorFlow 2 the loop's body is a function, copied whole.
def is_dropped_by_1(built: BuiltOperation, call: ApiCall, computation: Computation) -> bool:
    """Return whether nothing takes what is built, so that TensorFlow 1 never compiles it."""
    is_summary = built.writer or V1_SUMMARIES.issuperset(built.operations)
    if computation.kind != MODEL_FN or is_summary or call.context.traced or call.context.control():
        return False
    return any(
        isinstance(node, ExpressionStatement)
        and isinstance(node.value, CallNode)
        and node.value.place == call.site.place
        for node in call.site.module.nodes_around(call.site.place)
    )


@answered_once
def has_writer(program: Program, computation: Computation) -> bool:
    """Return whether a writer is the default one in the device's code: graphs have this, too."""
    # Projects wrap `create_file_writer` under names of their own.
    makers = [name for name in program.named if naming.WRITER.is_in(name)]
    writers = {call.site for name in makers for call in program.named[name]}
    makes_default = [
        call
        for call in (*computation.calls, *program.named.get("as_default", ()))
        if call.last == "as_default"
        and isinstance(call.receiver, (Tensor, ExternalObject))
        and call.receiver.site in writers
    ]
    if any(call.context.on_device for call in makes_default):
        return True
    openings = {call.site for call in makes_default}
    under = {site for opening in openings for site in calls_under(opening)}
    # The first call traces the step: none may be where there is no default.
    return all(
        not under.isdisjoint([other.site, *(step.site for step in other.context.call_chain)])
        for other in program.computations
        if other.site == computation.site
    )


def calls_under(opening: Site) -> Iterator[Site]:
    """Yield the calls in the block of the `with` statement that this call opens."""
    module = opening.module
    for node in module.nodes_around(opening.place):
        if isinstance(node, With) and any(
            isinstance(item.manager, CallNode) and item.manager.place == opening.place
            for item in node.items
        ):
            calls = (inner for inner in walk(*node.body) if isinstance(inner, CallNode))
            yield from (module.site(call.place) for call in calls)


def _folder(call: ApiCall) -> str:
    return os.path.dirname(call.site.module.path)
