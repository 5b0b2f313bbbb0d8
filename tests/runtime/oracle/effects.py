"""Programs full of side effects, of which some are fetched, some awaited, and some neither.

TensorFlow's own XLA bridge is the oracle: `tf.xla.experimental.compile` puts a computation through
the passes that TensorFlow's TPU passes put it through (encapsulate_subgraphs_pass.cc,
functionalize_while.cc, functionalize_cond.cc, XlaCompiler), `jit_compile=True` a tf.function.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorflow.python.client import session as sessions

import tpulint.runtime as tpu

EFFECTS = 12
X = 1.5

v1 = tf.compat.v1
Tensor = Any
Bump = Callable[[], Any]
Computation = Callable[[Callable[[int], Any], Tensor], Tensor]


def computation(seed: int) -> Computation:
    """Return a computation that calls `effect(number)`, each number at most once, anywhere."""

    def compute(effect: Callable[[int], Any], x: Tensor) -> Tensor:
        return _Writer(random.Random(seed), effect).statements(x, 0)

    return compute


class _Writer:
    """A writer of the same operations each time, whatever the effects are."""

    def __init__(self, chance: random.Random, effect: Callable[[int], Any]) -> None:
        self._chance = chance
        self._effect = effect
        self._numbers = iter(range(EFFECTS))

    def statements(self, x: Tensor, depth: int) -> Tensor:
        for _ in range(self._chance.randint(2, 4 - depth)):
            kinds = [self._bump, self._bump, *([self._branch, self._loop] * (depth < 2))]
            y = self._chance.choice(kinds)(x, depth)
            x = y if self._chance.random() < 0.6 else x
        return x * 1.0

    def _bump(self, x: Tensor, depth: int) -> Tensor:
        number = next(self._numbers, None)
        if number is None:
            return x
        done = self._effect(number)
        if self._chance.random() < 0.5:
            return x + 1.0
        with tf.control_dependencies([done]):
            return x + 1.0

    def _branch(self, x: Tensor, depth: int) -> Tensor:
        limit = self._chance.choice([0.0, 3.0])
        seeds = [self._chance.random(), self._chance.random()]
        if self._chance.random() < 0.3:
            number = next(self._numbers, None)
            if number is not None:
                done = tf.cond(x > limit, lambda: tf.group(self._effect(number)), tf.no_op)
                with tf.control_dependencies([done]):
                    return x * 2.0

        def branch(seed: float) -> Tensor:
            outer, self._chance = self._chance, random.Random(seed)
            try:
                return self.statements(x, depth + 1)
            finally:
                self._chance = outer

        return tf.cond(x > limit, lambda: branch(seeds[0]), lambda: branch(seeds[1]))

    def _loop(self, x: Tensor, depth: int) -> Tensor:
        seed = self._chance.random()

        def body(i: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            outer, self._chance = self._chance, random.Random(seed)
            try:
                a = self.statements(a, depth + 1)
                return i + 1, a, self._bump(b, depth)
            finally:
                self._chance = outer

        return tf.while_loop(lambda i, a, b: i < 2, body, (0, x, x))[1]


def effects_and_value(compute: Computation, mode: str, side: str) -> tuple[list[float], float]:
    """Return how often each effect has happened, and the value.

    `side` is "tensorflow", or the side whose effects the runtime sees: "device" or "host".
    """
    if mode == "function":
        return _in_function(compute, side)
    ours = side != "tensorflow"
    sessions_made = nullcontext() if ours else tensorflows_sessions()
    with sessions_made, tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = [
            tf.compat.v1.get_variable(f"v{i}", initializer=0.0, use_resource=True)
            for i in range(EFFECTS)
        ]
        x = tf.compat.v1.placeholder(tf.float32, [])
        call = tpu.rewrite if ours else tf.xla.experimental.compile
        built = call(lambda a: compute(_effect(variables, side), a), [x])
        session.run(tf.compat.v1.global_variables_initializer())
        value = session.run(built, {x: X})
        return [float(variable) for variable in session.run(variables)], float(np.squeeze(value))


def _in_function(compute: Computation, side: str) -> tuple[list[float], float]:
    variables = [tf.Variable(0.0) for _ in range(EFFECTS)]
    effect = _effect(variables, side)

    @tf.function(autograph=False, jit_compile=side == "tensorflow")
    def step(x: Tensor) -> Tensor:
        if side == "tensorflow":
            return compute(effect, x)
        return tpu.rewrite(lambda a: compute(effect, a), [x])[0]

    value = step(tf.constant(X))
    return [float(variable) for variable in variables], float(value)


def _effect(variables: list[Any], side: str) -> Callable[[int], Any]:
    def effect(number: int) -> Any:
        def bump() -> Any:
            return variables[number].assign_add(1.0, read_value=False)

        return tpu.outside_compilation(bump) if side == "host" else bump()

    def done(number: int) -> Any:
        result = effect(number)
        # In a function there is nothing to wait for.
        return tf.group(result) if isinstance(result, tf.Operation) else tf.no_op()

    return done


def tensorflows_sessions() -> Any:
    """Sessions as TensorFlow makes them, with Grappler off: they give their passes the whole graph.

    Grappler would move operations between the functions of a conditional, and rename arguments.
    """
    changed = sessions.BaseSession.__init__
    original = inspect.unwrap(changed)

    def made(self: Any, target: str = "", graph: Any = None, config: Any = None) -> None:
        without_grappler = v1.ConfigProto()
        without_grappler.CopyFrom(config or v1.ConfigProto())
        without_grappler.graph_options.rewrite_options.disable_meta_optimizer = True
        original(self, target, graph, without_grappler)

    return mock.patch.object(sessions.BaseSession, "__init__", made)
