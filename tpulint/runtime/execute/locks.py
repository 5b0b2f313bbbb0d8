"""What the device program's hold on its variables does to the host clusters that touch them.

The device program holds each variable that it touches from its start to its end, and waits for
every cluster whose result it takes. So a cluster that touches such a variable runs before (a head
cluster), after (nothing on the device waits for it), or never: the wait-for graph has a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tpulint.runtime.errors import DeadlockError, DeviceVariableError, StaleVariableWarning
from tpulint.runtime.execute.options import Options
from tpulint.runtime.execute.variables import Variable
from tpulint.runtime.execute.waits import Wait, WaitGraph
from tpulint.runtime.extract.effects import Touch
from tpulint.runtime.extract.region import Key, Operation, Region, Tensor, key_of
from tpulint.runtime.place import place_of_operation

DEVICE = "device"


@dataclass(frozen=True, eq=False)
class Deadlock:
    """`cycle` closes when a host operation waits for `variable`."""

    variable: Variable
    cycle: tuple[Wait, ...]

    def fault(self, replica: int) -> DeadlockError:
        """The error that tells the cycle in the program of `replica`."""
        return DeadlockError(
            f"Deadlock in replica {replica} over the variable '{self.variable.name}': "
            "its lanes wait for each other\n" + "\n".join(f"  {wait}" for wait in self.cycle),
            place=self.cycle[0].place,
            rule="TPU105" if self.variable.is_global_step else "TPU101",
        )


@dataclass(eq=False)
class Verdicts:
    """What becomes of operations of host clusters, by `key_of`."""

    before: set[Key] = field(default_factory=set)
    """They run before the device program."""
    after: set[Key] = field(default_factory=set)
    """They run after it."""
    queued: set[Key] = field(default_factory=set)
    """They stand in a body, and run after it as often as they were reached."""
    deadlocks: dict[Key, Deadlock] = field(default_factory=dict)
    """They never run."""
    warnings: list[StaleVariableWarning] = field(default_factory=list)


def judge(top: Region, variables: Iterable[Variable], options: Options) -> Verdicts:
    """The verdicts on all host accesses of what the device touches."""
    verdicts = Verdicts()
    heads = _heads(top)
    for variable in variables:
        for touch in variable.on_host:
            if variable.of_strategy:
                raise DeviceVariableError(
                    f"The variable '{variable.name}' of a TPUStrategy scope is touched "
                    "in a host cluster",
                    place=place_of_operation(touch.op),
                )
            if not variable.on_device:
                continue
            key = key_of(touch.region, touch.anchor)
            if touch.region is top and touch.anchor.name in heads:
                verdicts.before.add(key)
            elif options.host_variables == "snapshot":
                if touch.region is top and _is_tail(touch):
                    verdicts.after.update(_with_followers(touch))
                else:
                    verdicts.warnings.append(_stale(variable, touch))
            else:
                cycle = _cycle(variable, touch, is_top=touch.region is top)
                if cycle:
                    verdicts.deadlocks[key] = Deadlock(variable, cycle)
                else:
                    late = verdicts.after if touch.region is top else verdicts.queued
                    late.update(_with_followers(touch))
                    if touch.writes or not (touch.region is top and _is_tail(touch)):
                        verdicts.warnings.append(_stale(variable, touch))
    return verdicts


def _stale(variable: Variable, touch: Touch) -> StaleVariableWarning:
    does = "writes" if touch.writes else "reads"
    return StaleVariableWarning(
        f"A host cluster {does} the variable '{variable.name}', which the device program touches: "
        "neither sees in time what the other writes",
        place=place_of_operation(touch.op),
    )


def _cycle(variable: Variable, touch: Touch, *, is_top: bool) -> tuple[Wait, ...]:
    """The cycle that closes when `touch` waits for the variable, or ()."""
    graph = WaitGraph()
    lock = f"variable '{variable.name}'"
    holder = variable.on_device[0].op
    held = f"held by the {DEVICE} program, which touches it, until that ends"
    graph.add(Wait(lock, DEVICE, held, place_of_operation(holder)))
    graph.add(*_waits(touch.region, is_top=is_top))
    return graph.add(
        Wait(
            _lane(touch.region, touch.anchor),
            lock,
            f"waits for the variable '{variable.name}'",
            place_of_operation(touch.op),
        )
    )


def _waits(region: Region, *, is_top: bool) -> Iterator[Wait]:
    """Which clusters of `region` the device waits for, and which of them wait for others."""
    for op in region.ops:
        cluster = region.cluster_of(op)
        for source in [*(tensor.op for tensor in op.inputs), *op.control_inputs]:
            if source.name not in region.names or region.cluster_of(source) is None:
                continue
            lane = _lane(region, source)
            if cluster is not None and cluster != region.cluster_of(source):
                yield Wait(_lane(region, op), lane, f"waits for {lane}", place_of_operation(op))
            elif _takes_for_the_device(region, op, source, is_top=is_top):
                yield Wait(DEVICE, lane, f"waits for the result of {lane}", place_of_operation(op))
    if not is_top:
        for tensor in region.outputs:
            if tensor.op.name in region.names and region.cluster_of(tensor.op) is not None:
                lane = _lane(region, tensor.op)
                yield Wait(
                    DEVICE, lane, f"waits for the result of {lane}", place_of_operation(tensor.op)
                )


def _takes_for_the_device(
    region: Region, op: Operation, source: Operation, *, is_top: bool
) -> bool:
    """Whether `op` takes a result of `source` for the device, not only to hand it out."""
    if region.cluster_of(op) is not None or all(tensor.op is not source for tensor in op.inputs):
        return False
    return not (is_top and _hands_out(region, op))


def _hands_out(region: Region, op: Operation) -> bool:
    """Whether `op` only passes a tensor on to the outputs."""
    if op.type != "Identity":
        return False
    users = region.used_by.get(op.outputs[0].name, frozenset())
    return all(_hands_out(region, region.graph.get_operation_by_name(user)) for user in users)


def _lane(region: Region, op: Operation) -> str:
    return f"host cluster {region.cluster_of(op)}"


def _heads(region: Region) -> frozenset[str]:
    """The operations of the host clusters that need nothing of the device but its inputs.

    TensorFlow moves single operations ahead of the device program; here a cluster goes as a whole,
    as users think of it, so that the verdict does not hang on which of its operations reads first.
    """
    given: set[str] = set()
    needy: set[str] = set()
    for op in region.ops:
        cluster = region.cluster_of(op)
        sources = [*(tensor.op for tensor in op.inputs), *op.control_inputs]
        inside = [source for source in sources if source.name in region.names]
        waits = any(
            region.cluster_of(source) in needy
            if region.cluster_of(source) is not None
            else source.name not in given
            for source in inside
        )
        if cluster is not None and waits:
            needy.add(cluster)
        elif cluster is None and not waits and op.type in ("Identity", "Const"):
            given.add(op.name)
    return frozenset(
        op.name
        for op in region.ops
        if (cluster := region.cluster_of(op)) is not None and cluster not in needy
    )


def _followers(region: Region) -> Mapping[str, list[Operation]]:
    followers: dict[str, list[Operation]] = {}
    for op in region.ops:
        for source in [*(tensor.op for tensor in op.inputs), *op.control_inputs]:
            followers.setdefault(source.name, []).append(op)
    return followers


def _with_followers(touch: Touch) -> set[Key]:
    """The operations of `touch` and all host operations that need it, directly or not."""
    followers = _followers(touch.region)
    found = {touch.anchor.name}
    unread = [touch.anchor]
    while unread:
        for op in followers.get(unread.pop().name, ()):
            if op.name not in found and touch.region.cluster_of(op) is not None:
                found.add(op.name)
                unread.append(op)
    return {(id(touch.region.graph), name) for name in found}


def _is_tail(touch: Touch) -> bool:
    """Whether what `touch` reads leaves the computation, seen by nothing on the device."""
    found = {name for _, name in _with_followers(touch)}
    return any(_made_by(touch.region, tensor).name in found for tensor in touch.region.outputs)


def _made_by(region: Region, tensor: Tensor) -> Operation:
    while tensor.op.type == "Identity" and tensor.op.name in region.names:
        tensor = tensor.op.inputs[0]
    return tensor.op
