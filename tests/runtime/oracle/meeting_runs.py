"""Generated programs in which replicas meet, run: in a session, in a function, in a strategy."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_util
from tensorflow.python.tpu.ops import tpu_ops

import tpulint.runtime as tpu
from tests.runtime.oracle.meeting_programs import (
    Body,
    Diverged,
    Either,
    Host,
    Loop,
    Meet,
    MeetAtOnce,
    Mix,
    Program,
    Slope,
    Twice,
    expected,
    halves,
)
from tpulint.runtime.errors import DivergentCollectiveError
from tpulint.runtime.execute.compose import SegmentBuilder

Mode = Literal["session", "session of TensorFlow 1", "function", "deadline", "strategy"]
MODES: tuple[Mode, ...] = ("session", "session of TensorFlow 1", "function", "deadline", "strategy")
SECONDS = 60.0
"""The longest that a step may take: then it hangs."""

Slots = list[Any]
Step = Callable[[Any, Any], Any]


def difference(program: Program, mode: Mode, threads: int, choices: Sequence[Any]) -> str | None:
    """Return the first difference from NumPy in successive runs with `choices`, or None."""
    rows = np.random.RandomState(1).rand(program.slots, program.replicas, program.replicas)
    rows = rows.astype(np.float32)
    with forgotten_gradients(), _step(program, mode, threads) as step:
        for number, choice in enumerate(choices):
            actual = _difference(program, step, rows, choice)
            if actual:
                return f"run {number}, choices {np.asarray(choice).tolist()}: {actual}"
    return None


@contextmanager
def forgotten_gradients() -> Iterator[None]:
    """Unregister at the end the custom gradients that are made in the context.

    TensorFlow registers each under a name of its own, and never takes it back. Its function holds
    the graph, and `all_reduce` of a replica makes one: of 20,000 programs a process would keep
    gigabytes.
    """
    registered = ops.gradient_registry._registry
    before = set(registered)
    try:
        yield
    finally:
        for name in registered.keys() - before:
            if name.startswith("CustomGradient-"):
                del registered[name]


@contextmanager
def cheaply() -> Iterator[None]:
    """Save time in the context: steps neither compile the device's segments nor are optimized."""
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        with mock.patch.object(SegmentBuilder, "_build_compiled", SegmentBuilder._build_plain):
            yield
    finally:
        was = before.get("disable_meta_optimizer", False)
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": was})


def _optimizer_options() -> Any:
    """Return those of sessions, as they are set for functions."""
    options = tf.compat.v1.GraphOptions()
    actual = tf.config.optimizer.get_experimental_options()
    options.rewrite_options.disable_meta_optimizer = actual.get("disable_meta_optimizer", False)
    return options


def _difference(program: Program, step: Step, rows: Any, choices: Any) -> str | None:
    want: Any = None
    with suppress(Diverged):
        want = np.stack(expected(program, rows, choices))
    try:
        got = np.stack(step(choices, rows))
    except DivergentCollectiveError as error:
        return None if want is None else f"reported: {error}"
    if want is None:
        return "the divergence is not reported"
    if not np.allclose(got, want, rtol=1e-3, atol=1e-5):
        return f"{got.tolist()} instead of {want.tolist()}"
    return None


@contextmanager
def _step(program: Program, mode: Mode, threads: int) -> Iterator[Step]:
    if mode == "strategy":
        with _strategy(program.replicas) as strategy:
            yield _in_strategy(program, strategy)
        return
    if mode in ("function", "deadline"):
        yield _in_function(program, deadline=mode == "deadline")
        return
    config = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=threads,
        use_per_session_threads=True,
        graph_options=_optimizer_options(),
    )
    with (
        tf.Graph().as_default(),
        tf.compat.v1.Session(config=config) as session,
        mock.patch.object(control_flow_util, "ENABLE_CONTROL_FLOW_V2", mode == "session"),
    ):
        choices = tf.compat.v1.placeholder(tf.int32, [program.replicas, _count(program)])
        rows = tf.compat.v1.placeholder(tf.float32, _shape(program))
        built = tpu.replicate(_Computation(program), _inputs(program, choices, rows))
        patience = tf.compat.v1.RunOptions(timeout_in_ms=int(SECONDS * 1e3))
        yield lambda *values: _by_slot(
            session.run(built, dict(zip((choices, rows), values)), options=patience)
        )


def _in_function(program: Program, *, deadline: bool) -> Step:
    @tf.function(autograph=False)
    def step(choices: Any, rows: Any) -> Any:
        return tpu.replicate(_Computation(program), _inputs(program, choices, rows))

    def run(choices: Any, rows: Any) -> Any:
        chosen = tf.constant(choices, tf.int32, [program.replicas, _count(program)])
        with ExitStack() as stack:
            if deadline:  # Then those collectives too are followed that no replica can miss.
                stack.enter_context(tpu.options(deadline=SECONDS))
            return _by_slot(step(chosen, tf.constant(rows)))

    return run


@contextmanager
def _strategy(replicas: int) -> Iterator[Any]:
    with tpu.emulated_tpu(num_replicas=replicas):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        with mock.patch.object(gc, "collect"):  # It takes longer than all else.
            tf.tpu.experimental.initialize_tpu_system(resolver)
        yield tf.distribute.TPUStrategy(resolver)


def _in_strategy(program: Program, strategy: Any) -> Step:
    """Return a step with TensorFlow's own names, in its own strategy."""

    @tf.function(autograph=False)
    def step(choices: Any, rows: Any) -> Any:
        result = strategy.run(_ComputationOfStrategy(program), args=(choices, rows))
        return [
            tf.stack(strategy.experimental_local_results(result_part)) for result_part in result
        ]

    def run(choices: Any, rows: Any) -> Any:
        def of(values: Any) -> Any:
            return strategy.experimental_distribute_values_from_function(
                lambda context: tf.constant(values[context.replica_id_in_sync_group])
            )

        chosen = np.array(choices, np.int32).reshape(program.replicas, _count(program))
        return step(of(chosen), of(np.swapaxes(rows, 0, 1)))

    return run


def _inputs(program: Program, choices: Any, rows: Any) -> list[list[Any]]:
    """Return the inputs of each replica: its choices, and its vector of each slot."""
    return [
        [choices[replica], *(rows[slot, replica] for slot in range(program.slots))]
        for replica in range(program.replicas)
    ]


def _by_slot(results: Any) -> Any:
    return np.swapaxes(np.array(results), 0, 1)


def _shape(program: Program) -> list[int]:
    return [program.slots, program.replicas, program.replicas]


def _count(program: Program) -> int:
    return len(program.constants)


class _Computation:
    """The computation of one replica."""

    host = staticmethod(tpu.outside_compilation)

    def __init__(self, program: Program) -> None:
        self._program = program
        self._count = program.replicas

    def mean(self, value: Any) -> Any:
        """Return the mean of the replicas' values."""
        return tpu_ops.cross_replica_sum(value) / self._count

    def __call__(self, choices: Any, *slots: Any) -> Slots:
        self._choices = choices
        return self._body(self._program.body, list(slots))

    def _body(self, statements: Body, slots: Slots) -> Slots:
        slots = list(slots)
        for statement in statements:
            if isinstance(statement, Meet):
                met = self._met(statement.kind, slots[statement.source])
                slots[statement.target] = slots[statement.target] * 0.5 + met * 0.5
            elif isinstance(statement, MeetAtOnce):
                for slot in statement.slots:
                    slots[slot] = slots[slot] * 0.5 + self._met(statement.kind, slots[slot]) * 0.5
            elif isinstance(statement, Slope):
                slots[statement.slot] = self._slope(slots[statement.slot])
            elif isinstance(statement, Host):
                slots[statement.slot] = self.host(lambda x: x * 0.5 + 0.25, slots[statement.slot])
            elif isinstance(statement, Mix):
                slots[statement.target] = (
                    slots[statement.target] * 0.5 + slots[statement.source] * 0.25
                )
            elif isinstance(statement, Twice):
                slots = self._twice(statement, slots)
            elif isinstance(statement, Loop):
                slots = self._loop(statement, slots)
            else:
                slots = self._either(statement, slots)
        return slots

    def _met(self, kind: str, value: Any) -> Any:
        count = self._count
        if kind == "exchange":
            return tpu_ops.all_to_all(
                value, concat_dimension=0, split_dimension=0, split_count=count
            )
        if kind == "around":
            pairs = [(replica, (replica + 1) % count) for replica in range(count)]
            return tpu_ops.collective_permute(value, pairs)
        if kind == "mean":
            return self.mean(value)
        groups = halves(count)
        return tpu_ops.cross_replica_sum(value, group_assignment=groups) / len(groups[0])

    def _slope(self, value: Any) -> Any:
        mean = self.mean(value)
        (slope,) = tf.gradients(tf.reduce_sum(mean * mean), value)
        return (value + slope) * 0.25

    def _twice(self, statement: Twice, slots: Slots) -> Slots:
        function = tf.function(
            lambda *arguments: self._body(statement.body, list(arguments)), autograph=False
        )
        return list(function(*function(*slots)))

    def _choice(self, statement: Either | Loop) -> Any:
        if statement.source == "constant":
            return tf.constant(self._program.constants[statement.choice])
        chosen = self._choices[statement.choice]
        return chosen if statement.source == "given" else tpu_ops.cross_replica_sum(chosen) % 4

    def _loop(self, statement: Loop, slots: Slots) -> Slots:
        times = self._choice(statement)
        actual = tf.while_loop(
            lambda number, *_: number < times,
            lambda number, *arguments: [number + 1, *self._body(statement.body, list(arguments))],
            [tf.constant(0), *slots],
        )
        return list(actual[1:])

    def _either(self, statement: Either, slots: Slots) -> Slots:
        choice = self._choice(statement)
        branches = [lambda body=body: self._body(body, slots) for body in statement.branches]
        if len(branches) == 2:
            return list(tf.cond(choice > 0, branches[1], branches[0]))
        return list(tf.switch_case(choice, branches))


class _ComputationOfStrategy(_Computation):
    """The computation of one replica in a strategy, which gets its slots in one tensor."""

    def __call__(self, choices: Any, slots: Any) -> Slots:
        return super().__call__(choices, *tf.unstack(slots))

    def mean(self, value: Any) -> Any:
        return tf.distribute.get_replica_context().all_reduce("MEAN", value)

    def host(self, function: Any, value: Any) -> Any:
        return tf.compat.v1.tpu.outside_compilation(function, value)
