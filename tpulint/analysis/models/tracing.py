"""Reading the function that a TPU entry point traces."""

from __future__ import annotations

from tpulint.analysis.domain.context import COMPUTATION, Scope
from tpulint.analysis.domain.events import Argument, Computation, Tensor
from tpulint.analysis.domain.objects import Mapping, Sequence, function_of
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.structures import tensors
from tpulint.analysis.domain.values import UNKNOWN, Bound, Choice, Const, Opaque, Value, join
from tpulint.analysis.interpreter import calls, transfer
from tpulint.analysis.interpreter.frame import Frame
from tpulint.analysis.models.call import Call
from tpulint.finding import Certainty
from tpulint.knowledge import seam


def trace(
    this: Call,
    kind: str,
    callee: Value,
    arguments: list[Argument] | None,
    *,
    certainty: Certainty = Certainty.DEFINITE,
    mode: str,
    opaque: frozenset[str] = frozenset(),
    host_modes: frozenset[str] = frozenset(),
    predicts: bool = True,
    inside: tuple[Scope, ...] = (),
) -> Value:
    """Build the computation of `callee`; `arguments` None means one tensor a parameter.

    inside: what is around the callee's code in the computation.
    """
    frame = this.frame
    callee = frame.session.read_after_all(callee)
    made = Computation(kind, this.site, frame.context, callee, this.record, certainty, mode)
    made.host_modes, made.predicts = host_modes, predicts
    program = frame.session.program
    if not frame.context.muted:
        outer = frame.context.computation
        if outer is not None:
            outer.inner.append(made)
        program.computations.append(made)
    results = []
    with frame.scopes_closed():
        frame.open(Scope(COMPUTATION, this.site, made), *inside)
        for option in callee.options if isinstance(callee, Choice) else (callee,):
            args = arguments
            if args is None:
                args = tensor_arguments(frame, option, this.site, opaque)
            inputs = tuple(
                each._replace(value=as_input(frame, each.value, this.site)) for each in args
            )
            if kind in seam.STRATEGY_RUN:
                for tensor in (one for each in inputs for one in tensors(each.value)):
                    tensor.per_replica, tensor.uniform = True, False  # perhaps a PerReplica value
            made.parameters = tuple(each.value for each in inputs)
            results.append(calls.call(frame, option, inputs, this.site))
        made.result = transfer.each_tensor(
            join(results), lambda tensor: transfer.read_here(frame, tensor, this.site)
        )
    return made.result


def as_input(frame: Frame, value: Value, site: Site) -> Value:
    """Return the computation's own tensors for an input, in the same structure."""
    if isinstance(value, Choice):
        return join(as_input(frame, option, site) for option in value.options)
    if isinstance(value, Sequence) and not value.open:
        return Sequence(value.kind, [as_input(frame, each, site) for each in value.items])
    if isinstance(value, Mapping) and not value.open:
        return Mapping({key: as_input(frame, each, site) for key, each in value.items.items()})
    number = isinstance(value, Const) and value.value is not None
    if isinstance(value, (Sequence, Mapping, Opaque, Tensor)) or value is UNKNOWN or number:
        if isinstance(value, Opaque) and value.is_static:
            return Opaque(value.path)
        made = fresh_input(frame, site)
        if isinstance(value, Tensor) and value.uniform:
            made.per_replica, made.uniform = False, True
        return made
    return value


def fresh_input(frame: Frame, site: Site) -> Tensor:
    """Return a tensor (or a structure of them) that each replica has its own of."""
    return Tensor(frame.context, site, "structure", per_replica=True, data=True)


def tensor_arguments(
    frame: Frame, callee: Value, site: Site, opaque: frozenset[str]
) -> list[Argument]:
    """One argument for each required parameter; those named in `opaque` are no tensors.

    Without such names there may be more arguments, for parameters with defaults.
    """
    function = function_of(callee)
    if function is None:
        return [Argument(None, "*", UNKNOWN, site)]
    code = function.code.parameters
    rows = code.by_position
    if isinstance(callee, Bound):
        rows = rows[1:]
    found = []
    for name, default in rows:
        if name in opaque:
            found.append(Argument(name, "", Opaque(name, is_static=True), site))
        elif default is None:
            found.append(Argument(None, "", UNKNOWN, site))
    if code.star is not None or not opaque:
        found.append(Argument(None, "*", UNKNOWN, site))
    return found
