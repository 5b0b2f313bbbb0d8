"""What a program launches on a TPU one by one: the steps that a loop of Python runs.

Each call of a compiled function from Python is a launch. Steps in a loop inside of the function are
one launch together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

from tpulint.absint.domain.context import COMPUTATION, FUNCTION, LOOP, ROUND, WHILE, Scope
from tpulint.absint.domain.events import Computation, Context, Tensor
from tpulint.absint.domain.objects import Sequence
from tpulint.absint.domain.program import Feed
from tpulint.absint.domain.values import NONE, Value
from tpulint.file_facts import is_test
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.tf_names import STEPS
from tpulint.frontends.tensorflow.program import Program
from tpulint.frontends.tensorflow.strategy import Strategy
from tpulint.queries.eager_calls import may_be_tpus
from tpulint.queries.entry_calls import (
    constant_int,
    estimator_of,
    may_use_tpu,
    range_of,
    surely_uses_tpu,
)
from tpulint.queries.input_pipelines import amounts, keeps_remainder, last_batches, trains_on
from tpulint.syntax import nodes
from tpulint.syntax.nodes import walk

# Fewer steps than these are an example or a test: nobody waits for them.
FEW_STEPS = 20
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "Modulo": operator.mod,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "LessThan": operator.lt,
    "LessThanEqual": operator.le,
    "GreaterThan": operator.gt,
    "GreaterThanEqual": operator.ge,
}
# tensorflow_estimator/python/estimator/estimator.py: the arguments that say how many steps.
STEPS_ARGUMENTS = {"train": (("steps", 2), ("max_steps", 3)), "evaluate": (("steps", 1),)}
LOOPS = (LOOP, ROUND, WHILE)
LEAVES_LOOP = (nodes.Jump, nodes.Raise, nodes.Return, nodes.Yield, nodes.YieldFrom)
UPDATES = frozenset(["apply_gradients", "minimize"])
KERAS_TRAINING = frozenset(name for name, step in STEPS.items() if step == "train_step")


def is_few(steps: int | None) -> bool:
    """Return whether so many steps are over before their launches matter."""
    return steps is not None and steps < FEW_STEPS


@dataclass(frozen=True)
class StepLoop:
    """A loop of Python, the call in it that launches a step, and the number of its rounds."""

    computation: Computation
    loop: Scope
    launch: Scope
    rounds: int | None

    @property
    def is_sure(self) -> bool:
        """Whether a TPU certainly trains, and the rounds are counted."""
        return self.computation.certainty is Certainty.DEFINITE and self.rounds is not None


def step_loops(program: Program) -> Iterator[StepLoop]:
    """Yield the loops of many rounds that launch one step of training for a TPU in each."""
    for computation in program.computations:
        if not is_training_on_tpu(computation) or computation.call.last == "fit":
            continue
        scopes = computation.context.scopes
        kinds = [scope.kind for scope in scopes]
        if FUNCTION not in kinds or LOOP not in kinds[: kinds.index(FUNCTION)]:
            continue
        first = kinds.index(FUNCTION)
        if _loops_on_device(computation) or repeats_steps(computation):
            continue
        # A program that has the loop on the device too chooses: this may be for another device.
        if computation.context.is_guess or any(
            _loops_on_device(other)
            for other in program.computations
            if other.callee is computation.callee or other.site == computation.site
        ):
            continue
        loop = [scope for scope in scopes[:first] if scope.kind == LOOP][-1]
        rounds = rounds_of(program, loop)
        if not is_few(rounds):
            yield StepLoop(computation, loop, scopes[first], rounds)


def _loops_on_device(computation: Computation) -> bool:
    """Return whether the step is run in a loop inside of a compiled function."""
    kinds = [scope.kind for scope in computation.context.scopes]
    inside = kinds[kinds.index(FUNCTION) :] if FUNCTION in kinds else []
    return any(kind in LOOPS for kind in inside)


def is_training_on_tpu(computation: Computation) -> bool:
    """Return whether this is the step of a strategy that is, or may be, a TPU's, and trains."""
    if computation.kind not in tf_names.STRATEGY_RUN or not may_be_tpus(computation):
        return False
    return not is_test(computation.site.module.path) and updates_weights(computation)


def is_training_feed(program: Program, feed: Feed) -> bool | None:
    """Return whether a TPU certainly trains on the feed; None if it does not, as far as seen."""
    if is_test(feed.site.module.path) or not trains_on(program, feed):
        return None
    if isinstance(feed.owner, Strategy):
        steps = [step for step in program.computations if step.site == feed.site]
        are_certain = all(step.certainty is Certainty.DEFINITE for step in steps)
        return are_certain and not feed.context.is_guess
    estimator = estimator_of(program, feed)
    if estimator is None or not may_use_tpu(estimator):
        return None
    return surely_uses_tpu(estimator) and not feed.context.is_guess


def is_of_contrib(program: Program, step: Context) -> bool:
    """Return whether a strategy where a step runs is of TensorFlow 1's `contrib`."""
    strategies = program.named.get("TPUStrategy", ())
    return any(".contrib." in call.path and call.context.run == step.run for call in strategies)


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
        rounds = range_of(constant_int(argument.value) for argument in call.arguments)
        if call.path == "builtins.range" and rounds is not None:
            return len(rounds)
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


def steps_asked_for(program: Program, feed: Feed) -> Value | None:
    """Return how many steps an estimator is asked for; None if that is not said, or not seen.

    `train_and_evaluate` trains in several parts, each with the input from its beginning.
    """
    call = next((call for call in program.at.get(feed.site, ()) if call.last == feed.kind), None)
    values = [call.value(*place) for place in STEPS_ARGUMENTS[feed.kind]] if call else []
    return next((value for value in values if value not in (None, NONE)), None)


def least_rounds(program: Program, loop: Scope, place: Context | None = None) -> int:
    """Return how many rounds a loop surely has, or how many of them reach `place`.

    0 where it is not known, or the loop may be left early.
    """
    del place  # who asks knows that it is reached in each
    node = _statement(loop)
    if node is None or any(isinstance(part, LEAVES_LOOP) for part in walk(*node.body)):
        return 0
    return len(_items(program, loop) or ())


def most_rounds(program: Program, loop: Scope, place: Context | None = None) -> float:
    """Return how many rounds of a loop there are at most, or how many of them reach `place`."""
    items = _items(program, loop)
    if items is None:
        return inf
    node = _statement(loop)
    if place is None or node is None or not isinstance(node.target, nodes.Name):
        return len(items)
    if node.target.id in _assigned_in(node.body):
        return len(items)
    inside = {id(part) for part in walk(*node.body)}
    tests = [
        (key.test, branch)
        for key, branch in place.conditions
        if key.test is not None and id(key.test) in inside
    ]
    rounds = 0
    for item in items:
        answers = [(_evaluate(test, {node.target.id: item}), branch) for test, branch in tests]
        rounds += all(answer is None or bool(answer) is branch for answer, branch in answers)
    return rounds


def _statement(loop: Scope) -> nodes.For | None:
    """Return the `for` of a loop, if it is one."""
    return loop.site.module.node_at(loop.site.place, nodes.For)


def _assigned_in(body: list[nodes.Statement]) -> set[str]:
    """Return the names that a loop's body sets."""
    targets: list[nodes.Expression] = []
    for node in walk(*body):
        if isinstance(node, nodes.Assign):
            targets += node.targets
        elif isinstance(node, (nodes.AugmentedAssign, nodes.AnnotatedAssign, nodes.For)):
            targets.append(node.target)
    return {node.id for node in walk(*targets) if isinstance(node, nodes.Name)}


def _evaluate(expression: nodes.Expression, names: Mapping[str, int | None]) -> int | None:
    """Return a whole number, or the answer of a test on some, for these values of its names."""
    match expression:
        case nodes.Constant(value=value):
            return value if type(value) is int else None
        case nodes.Name(id=name):
            return names.get(name)
        case nodes.Not(operand=operand):
            answer = _evaluate(operand, names)
            return None if answer is None else not answer
        case (
            nodes.BinaryOperation(op=op, left=first, right=second)
            | nodes.Compare(left=first, comparisons=[nodes.Comparison(op=op, right=second)])
        ):
            left, right = _evaluate(first, names), _evaluate(second, names)
            if left is not None and right is not None and (op != "Modulo" or right):
                return _OPERATORS[op](left, right) if op in _OPERATORS else None
    return None


def _items(program: Program, loop: Scope) -> list[int | None] | range | None:
    """Return the items that a loop runs over, of which those that are no whole numbers are None."""
    if isinstance(loop.payload, Sequence) and not loop.payload.open:
        return [constant_int(item) for item in loop.payload.items]
    for call in program.by_result.get(id(loop.payload), ()):
        items = range_of(_number(program, argument.value) for argument in call.arguments)
        if call.last == "range" and items is not None:
            return items
    return None


def _number(program: Program, value: Value) -> int | None:
    """Return the whole number that a value is, if it is one, or `tf.constant` of one."""
    for call in program.by_result.get(id(value), ()) if isinstance(value, Tensor) else ():
        if call.path == "tensorflow.constant" and call.arguments:
            return constant_int(call.arguments[0].value)
    return constant_int(value)
