"""What a program launches on a TPU one by one: the steps that a loop of Python runs.

Each call of a compiled function from Python is a launch. Steps in a loop inside of the function are
one launch together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tpulint.absint.domain.context import COMPUTATION, FUNCTION, LOOP, ROUND, WHILE, Scope
from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.program import Feed
from tpulint.frontends.tensorflow.file_facts import is_test
from tpulint.frontends.tensorflow.knowledge import seam
from tpulint.frontends.tensorflow.knowledge.keras import STEPS
from tpulint.frontends.tensorflow.program import Program
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.entry_calls import constant_int
from tpulint.queries.input_pipelines import amounts, keeps_remainder, last_batches

# Fewer steps than these are an example or a test: nobody waits for them.
FEW_STEPS = 20
LOOPS = (LOOP, ROUND, WHILE)
UPDATES = frozenset(["apply_gradients", "minimize"])
KERAS_TRAINING = frozenset(name for name, step in STEPS.items() if step == "train_step")


@dataclass(frozen=True)
class StepLoop:
    """A loop of Python, the call in it that launches a step, and the number of its rounds."""

    computation: Computation
    loop: Scope
    launch: Scope
    rounds: int | None


def step_loops(program: Program) -> Iterator[StepLoop]:
    """Yield the loops that launch one step of training for a TPU in each round."""
    for computation in program.computations:
        if not is_training_on_tpu(computation) or computation.call.last == "fit":
            continue
        scopes = computation.context.scopes
        kinds = [scope.kind for scope in scopes]
        if FUNCTION not in kinds or LOOP not in kinds[: kinds.index(FUNCTION)]:
            continue
        first = kinds.index(FUNCTION)
        if any(kind in LOOPS for kind in kinds[first:]) or repeats_steps(computation):
            continue
        # A program that has the loop on the device too chooses: this may be for another device.
        if computation.context.is_guess or is_also_looped(program, computation):
            continue
        loop = [scope for scope in scopes[:first] if scope.kind == LOOP][-1]
        yield StepLoop(computation, loop, scopes[first], rounds_of(program, loop))


def is_also_looped(program: Program, computation: Computation) -> bool:
    """Return whether the step is also run in a loop inside of a compiled function."""
    for other in program.computations:
        kinds = [scope.kind for scope in other.context.scopes]
        if other.callee is computation.callee or other.site == computation.site:
            inside = kinds[kinds.index(FUNCTION) :] if FUNCTION in kinds else []
            if any(kind in LOOPS for kind in inside):
                return True
    return False


def is_training_on_tpu(computation: Computation) -> bool:
    """Return whether this is the step of a strategy that is, or may be, a TPU's, and trains."""
    if computation.kind not in seam.STRATEGY_RUN or not may_be_tpus(computation):
        return False
    return not is_test(computation.site.module.path) and updates_weights(computation)


def updates_weights(computation: Computation) -> bool:
    """Return whether an optimizer certainly runs in the step."""
    if computation.call.last in KERAS_TRAINING or computation.updates:
        return True
    return any(call.last in UPDATES for call in computation.calls)


def repeats_steps(computation: Computation) -> bool:
    """Return whether the variables are updated in a loop on the device."""
    return any(
        call.last in UPDATES
        and any(scope.kind in LOOPS for scope in call.context.since(COMPUTATION))
        for call in (*computation.calls, *computation.updates)
    )


def rounds_of(program: Program, loop: Scope) -> int | None:
    """Return how often the loop runs, if it is over a `range` of constants."""
    header = loop.site.span
    for call in program.named.get("range", ()):
        span = call.site.span
        if span.filename != header.filename or not header.start <= span.start <= header.end:
            continue
        bounds = [constant_int(argument.value) for argument in call.arguments]
        numbers = [bound for bound in bounds if bound is not None]
        if call.path == "builtins.range" and len(numbers) == len(bounds) and 0 not in numbers[2:]:
            return len(range(*numbers))
    return None


def steps_of_epoch(feed: Feed) -> int | None:
    """Return how many batches the data of a feed have; None where that is not known."""
    ways, batches = amounts(feed.data), last_batches(feed.data)
    if len(ways) != 1 or len(batches) != 1 or ways[0] is None or batches[0] is None:
        return None
    size = constant_int(batches[0].argument("batch_size", 0))
    count = ways[0].count
    if size is None or size <= 0 or count is None or not ways[0].is_batched:
        return None
    return count // size if keeps_remainder(batches[0]) is False else -(-count // size)
