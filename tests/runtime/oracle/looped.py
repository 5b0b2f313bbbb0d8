"""Programs of loops with arrays, of several segments, and of their gradients.

XLA compiles them all: no part of an array is gathered, whose gradient has no kernel, and in
TensorFlow 1 no gradient is taken of a conditional in a loop, of a loop in a conditional, or of an
array that a loop creates.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.runtime.oracle.programs import EAGER, MODES, Program
from tests.runtime.oracle.writer import Writer

LOOPED_MODES = (*MODES, EAGER)

Write = Callable[[Writer, str], str]
"""Writes a function of one tensor; returns the name of its result."""


def looped(seed: int, mode: str) -> Program:
    """Return the program of `seed` in `mode`, the same one each time."""
    w = Writer(random.Random(f"{seed} in {mode}"), pure=True)
    with w.block("def program():"):
        with w.block("def computation(x, y):"):
            names = ["x", "y"]
            for _ in range(w.rng.randint(1, 3)):
                names.append(_statement(w, names, mode))
            w.line(f"return [{names[-1]} + 0. * x, {w.one_of(names)} * 2.]")
        rows = [f"[tf.constant({_pair(w)}), tf.constant({_pair(w)})]" for _ in _replicas(w)]
        w.line(f"outputs.append(tpu.replicate(computation, [{', '.join(rows)}]))")
    return Program(seed, mode, w.source)


def _replicas(w: Writer) -> range:
    return range(w.one_of([1, 1, 2]))


def _pair(w: Writer) -> list[float]:
    return [round(w.rng.uniform(-1.0, 1.0), 2) for _ in range(2)]


def _statement(w: Writer, names: list[str], mode: str) -> str:
    x = w.fresh("x")
    w.line(f"{x} = tf.sin({w.one_of(names)})")  # small values: gradients of large ones are chaos
    if w.chance(0.6):
        return _gradient(w, x, by_tape=mode in ("function", EAGER) and w.chance(0.5))
    return w.one_of([segments, mapped, mapped_twice, scanned, in_a_branch, counted, filled])(w, x)


def _gradient(w: Writer, source: str, by_tape: bool) -> str:
    """Write the gradient of a loop, often with a segment between the loop and its gradient."""
    x, name = w.fresh("x"), w.fresh("g")
    of = w.one_of([mapped, scanned, counted, counted_twice, filled, recomputed])
    w.line(f"{x} = tf.identity({source})")
    if by_tape:
        with w.block("with tf.GradientTape() as tape:"):
            w.line(f"tape.watch({x})")
            y = _between(w, of(w, x))
        w.line(f"{name} = tape.gradient({y}, {x})")
    else:
        y = _between(w, of(w, x))
        w.line(f"{name} = tf.gradients({y}, {x})[0]")
    return name


def _between(w: Writer, y: str) -> str:
    return segments(w, y) if w.chance(0.7) else y


def segments(w: Writer, x: str, other: str | None = None) -> str:
    """Write one to three segments in a row: device code, host clusters and collectives."""
    for _ in range(w.rng.randint(1, 3)):
        name, other = w.fresh("t"), other or x
        w.line(
            w.one_of(
                [
                    f"{name} = tf.sin({x} * 1.5) + {other} * 0.5",
                    f"{name} = tf.tanh({x} * {other})",
                    f"{name} = tpu.outside_compilation(tf.sin, {x})",
                    f"{name} = tpu.outside_compilation(lambda a: a * 0.5 - tf.cos(a), {x})",
                    f"{name} = tpu.outside_compilation(lambda a, b: a * b, {x}, {other})",
                    f"{name} = alone({x})",
                    f"{name} = alone(tf.cos({x})) + {other}",
                ]
            )
        )
        x = name
    return x


def _rows(w: Writer, x: str) -> str:
    name = w.fresh("rows")
    w.line(f"{name} = tf.stack([{x}, {x} * 0.5, tf.reverse({x}, [0])])")
    return name


def mapped(w: Writer, x: str, inner: Write = segments) -> str:
    rows, body, name, element = _rows(w, x), w.fresh("body"), w.fresh("m"), w.fresh("e")
    with w.block(f"def {body}({element}):"):
        w.line(f"return {inner(w, element)} * {w.one_of([x, element])}")
    rest = w.one_of(["", ", parallel_iterations=1"])
    w.line(f"{name} = tf.reduce_sum(tf.map_fn({body}, {rows}{rest}), 0)")
    return name


def mapped_twice(w: Writer, x: str) -> str:
    return mapped(w, x, inner=w.one_of([mapped, scanned, counted, filled]))


def scanned(w: Writer, x: str) -> str:
    rows, body, name, element = _rows(w, x), w.fresh("body"), w.fresh("s"), w.fresh("e")
    carried = w.fresh("a")
    with w.block(f"def {body}({carried}, {element}):"):
        w.line(f"return {segments(w, carried, element)}")
    scan = w.one_of(["tf.scan({}, {})[-1]", "tf.foldl({}, {})", "tf.foldr({}, {})"])
    w.line(f"{name} = {scan.format(body, rows)}")
    return name


def in_a_branch(w: Writer, x: str) -> str:
    branch, name = w.fresh("branch"), w.fresh("c")
    with w.block(f"def {branch}():"):
        w.line(f"return {w.one_of([mapped, scanned, counted, filled])(w, x)}")
    w.line(f"{name} = tf.cond({x}[0] > 0., {branch}, lambda: {x} * 2.)")
    return name


def counted(w: Writer, x: str, inner: Write | None = None) -> str:
    body, name, carried = w.fresh("body"), w.fresh("l"), w.fresh("a")
    with w.block(f"def {body}(i, {carried}):"):
        result = inner(w, carried) if inner else segments(w, carried, w.one_of([x, carried]))
        w.line(f"return i + 1, {result}")
    start = f"(tf.constant(0), {x})"
    w.line(f"_, {name} = tf.while_loop(lambda i, _: i < 3, {body}, {start}, maximum_iterations=4)")
    return name


def counted_twice(w: Writer, x: str) -> str:
    return counted(w, x, inner=counted)


def filled(w: Writer, x: str) -> str:
    """Write a loop that fills an array, and in one of several ways reads it."""
    body, name, carried, array = w.fresh("body"), w.fresh("l"), w.fresh("a"), w.fresh("array")
    with w.block(f"def {body}(i, {carried}, {array}):"):
        after = segments(w, carried, w.one_of([x, carried]))
        w.line(f"return i + 1, {after}, {array}.write(i, {w.one_of([after, carried])})")
    rest = w.one_of(["", ", clear_after_read=False", ", infer_shape=False"])
    w.line(f"{array} = tf.TensorArray(tf.float32, 3, element_shape=[2]{rest})")
    start = f"(tf.constant(0), {x}, {array})"
    w.line(f"_, {name}, {array} = tf.while_loop(")
    w.line(f"    lambda i, *_: i < 3, {body}, {start}, maximum_iterations=3)")
    read = w.one_of(
        [
            f"tf.reduce_sum({array}.stack(), 0)",
            f"tf.reshape({array}.concat(), [3, 2])[1]",
            f"{array}.read(1) + tf.cast({array}.size(), tf.float32)",
        ]
    )
    w.line(f"{name} = {name} + {read}")
    return name


def recomputed(w: Writer, x: str) -> str:
    function, name, a = w.fresh("function"), w.fresh("r"), w.fresh("a")
    w.line("@tf.recompute_grad")
    with w.block(f"def {function}({a}):"):
        w.line(f"return {segments(w, a)}")
    w.line(f"{name} = {function}({x})")
    return name
