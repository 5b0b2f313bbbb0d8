"""The variables that a computation touches: their owners, their names, and their treatment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import tensorflow as tf

from tpulint.runtime.emulator import Options
from tpulint.runtime.extract.bodies import Touch, touches
from tpulint.runtime.extract.collectives import uses_of_copies
from tpulint.runtime.extract.program import ReplicatedProgram
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.pods import devices
from tpulint.runtime.tensorflow_internals import graphs

_GLOBAL_STEP = re.compile(r"(^|/)(global_step|iterations?)(_\d+)?$")


@dataclass(frozen=True, eq=False)
class TouchedVariable:
    """A variable that the device program touches; `handle` names its handle in the computation."""

    handle: str
    name: str
    dtype: tf.DType
    """The dtype of its value."""
    of_strategy: bool
    """A strategy's: each replica has its own."""
    shared: bool
    """One for all replicas."""
    on_device: tuple[Touch, ...]
    on_host: tuple[Touch, ...]

    @property
    def device_writes(self) -> bool:
        """Return whether the device program may write it."""
        return any(touch.writes for touch in self.on_device)

    @property
    def is_global_step(self) -> bool:
        """Return whether it counts the steps: the global step, or an optimizer's iterations."""
        return bool(_GLOBAL_STEP.search(self.name))

    def is_copied(self, replicas: int, options: Options) -> bool:
        """Return whether each replica's device program works on a copy of its own.

        It does where it could otherwise see the writes of another replica or of a host cluster,
        and where the variable could be in another process.
        """
        if not self.shared or not self.on_device:
            return False
        # Only the first replica's copy is written back, as on a TPU
        # (distributed_tpu_rewrite_pass.cc).
        if self.device_writes and replicas > 1:
            return True
        if devices.hosts_are_remote():
            return True
        all_touches = (*self.on_device, *self.on_host)
        return options.host_variables == "snapshot" and any(touch.writes for touch in all_touches)


@dataclass(frozen=True, eq=False)
class UnsynchronizedVariable:
    """A variable of a strategy whose copies may differ after `write`; `key` is its id."""

    variable: TouchedVariable
    write: Operation
    key: str


@dataclass(frozen=True, eq=False)
class UnsynchronizedVariables:
    """The strategy's variables whose copies may differ after a step, and what it does with others.

    `summed` are the ids of those of which it only adds up all copies, `read` of those on whose
    copies more depends.
    """

    written: tuple[UnsynchronizedVariable, ...] = ()
    summed: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()


def unsynchronized_variables(
    program: ReplicatedProgram, variables: Iterable[TouchedVariable]
) -> UnsynchronizedVariables:
    """Return those of `variables` to which replicas may write different values."""
    if program.num_replicas == 1:
        return UnsynchronizedVariables()
    uses = uses_of_copies(program)
    keys = {handle: key for handle, (_, key) in program.variable_names.items()}
    written = (
        UnsynchronizedVariable(
            variable, uses.writes[variable.handle], keys.get(variable.handle, "")
        )
        for variable in variables
        if variable.handle in uses.writes and variable.handle not in uses.summed
    )
    return UnsynchronizedVariables(
        tuple(written),
        frozenset(keys[handle] for handle in uses.summed if handle in keys),
        frozenset(keys.get(handle, "") for handle in uses.read),
    )


def variables_of(program: ReplicatedProgram) -> tuple[TouchedVariable, ...]:
    """Return the variables that either side of `program` touches, in the order of their handles."""
    by_handle: dict[str, list[Touch]] = {}
    for touch in touches(program.region):
        by_handle.setdefault(touch.variable, []).append(touch)
    # The names of the variables whose handles the graph captures, by the handle's id.
    names = {
        id(variable.handle): variable.name.partition(":")[0]
        for graph in graphs.graphs_outwards(program.marked.graph)
        for variable in getattr(graph, "_watched_variables", ())
    }
    variables: list[TouchedVariable] = []
    for handle, accesses in by_handle.items():
        tensors = program.boundary[handle]
        spec = graphs.variable_spec(tensors[0])
        if spec is None:  # a table's or an iterator's
            continue
        of_strategy = handle in program.of_strategy
        variable = TouchedVariable(
            handle=handle,
            name=program.variable_names.get(handle, ("",))[0] or _name(handle, tensors[0], names),
            dtype=spec.dtype,
            of_strategy=of_strategy,
            shared=len({tensor.name for tensor in tensors}) == 1 and not of_strategy,
            on_device=tuple(touch for touch in accesses if not touch.on_host),
            on_host=tuple(touch for touch in accesses if touch.on_host),
        )
        variables.append(variable)
    return tuple(variables)


def trace_captures(tensor: Tensor) -> Iterator[Tensor]:
    """Yield `tensor`, and what it is in the graphs around that capture it, innermost first."""
    while True:
        yield tensor
        captures = getattr(getattr(tensor, "graph", None), "captures", ())
        outer = [user for user, inner in captures if inner.name == tensor.name]
        if not outer:
            return
        (tensor,) = outer


def _name(handle: str, tensor: Tensor, names: Mapping[int, str]) -> str:
    """Return the user's name for the variable, found through the graphs that capture its handle."""
    # The handle that the computation sees may be captured through several functions.
    outermost = tensor
    for outermost in trace_captures(tensor):
        if id(outermost) in names:
            return names[id(outermost)]
    has_graph = getattr(outermost, "graph", None) is not None
    op_name: str = outermost.op.name if has_graph else handle.partition(":")[0]
    return op_name.removesuffix("/handle")
