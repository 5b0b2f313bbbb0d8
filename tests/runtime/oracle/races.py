"""Programs in which nothing orders many reads and writes of a variable.

The result of a read then depends on the order in which XLA compiles operations, which in turn
depends on their names and inputs. `tf.xla.experimental.compile` compiles as a TPU does.
"""

from __future__ import annotations

import random
from contextlib import nullcontext
from typing import Any

import numpy as np
import tensorflow as tf

import tpulint.runtime as tpu
from tests.runtime.oracle.effects import tensorflows_sessions

Tensor = Any
v1 = tf.compat.v1

_SCOPES = ("", "Aa", "bb", "zz", "Zz/bb")


def value_and_variables(seed: int, side: str, crosses: bool = False) -> list[float]:
    """Return the value of the program of `seed`, then its variables at the end.

    `side` is "ours" or "tensorflow". With `crosses`, each part of the program has a host cluster.
    """
    sessions = tensorflows_sessions() if side == "tensorflow" else nullcontext()
    with sessions, tf.Graph().as_default(), v1.Session() as session:
        names = ("Weight", "m", "z")
        variables = [v1.get_variable(name, initializer=1.0, use_resource=True) for name in names]
        x = v1.placeholder(tf.float32, [], "input0")  # as `replicate` names it
        call = tpu.rewrite if side == "ours" else tf.xla.experimental.compile
        lift = (
            tpu.outside_compilation
            if crosses
            else lambda function, *arguments: function(*arguments)
        )
        built = call(lambda a: _Racy(random.Random(seed), variables, lift).part(a, 0), [x])
        session.run(v1.global_variables_initializer())
        value = session.run(built, {x: 1.5})
        return [float(np.squeeze(value)), *(float(variable) for variable in session.run(variables))]


class _Racy:
    """A builder of the same operations each time."""

    def __init__(self, chance: random.Random, variables: list[Any], lift: Any) -> None:
        self._chance = chance
        self._variables = variables
        self._lift = lift

    def part(self, x: Tensor, depth: int) -> Tensor:
        chance = self._chance
        with v1.name_scope("lifted"):
            x = self._lift(lambda a: a * 1.0, x)
        seen, operations = [x], []
        for number in range(chance.randint(3, 6)):
            with v1.name_scope(chance.choice(_SCOPES)):
                awaited = [operations[-1]] if operations and chance.random() < 0.15 else []
                with tf.control_dependencies(awaited):
                    kind = chance.random()
                    if kind < 0.4:
                        operations.append(self._write(seen))
                        continue
                    if kind < 0.8 or depth > 1:
                        seen.append(self._variable().read_value() * (2.0 + number))
                    elif kind < 0.9:
                        seen.append(self._loop(chance.choice(seen), depth))
                    else:
                        seen.append(self._branch(chance.choice(seen), depth))
                    operations.append(seen[-1].op)
        with tf.control_dependencies(operations):
            return tf.add_n(seen) * 0.25

    def _variable(self) -> Any:
        return self._chance.choice(self._variables)

    def _write(self, seen: list[Tensor]) -> Any:
        value = self._chance.choice([tf.constant(3.0), tf.sin(self._chance.choice(seen))])
        if self._chance.random() < 0.5:
            return self._variable().assign_add(value, read_value=False)
        return self._variable().assign(value, read_value=False)

    def _inside(self, seed: float, x: Tensor, depth: int) -> Tensor:
        outer, self._chance = self._chance, random.Random(seed)
        try:
            return self.part(x, depth + 1)
        finally:
            self._chance = outer

    def _loop(self, x: Tensor, depth: int) -> Tensor:
        seed = self._chance.random()

        def body(i: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
            return i + 1, self._inside(seed, a, depth)

        return v1.while_loop(lambda i, a: i < 2, body, (0, x))[1]

    def _branch(self, x: Tensor, depth: int) -> Tensor:
        seeds = [self._chance.random(), self._chance.random()]
        return v1.cond(
            x > self._chance.choice([-5.0, 3.0]),
            lambda: self._inside(seeds[0], x, depth),
            lambda: self._inside(seeds[1], x, depth),
        )
