"""Statements of device code and of host clusters: arithmetic, control flow, gradients, faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.runtime.oracle.writer import Writer

DEEPEST = 3


@dataclass(frozen=True)
class Place:
    """The surroundings of a statement. `known` are the names of the tensors in reach."""

    known: tuple[str, ...]
    in_cluster: bool = False
    in_control_flow: bool = False
    deep: int = 0

    def knowing(self, *names: str) -> Place:
        return replace(self, known=self.known + names)

    def deeper(self) -> Place:
        return replace(self, deep=self.deep + 1)


def statements(w: Writer, place: Place, least: int = 1, most: int = 3) -> Place:
    """Write some statements; return the place after them, with their tensors."""
    for _ in range(w.rng.randint(least, most)):
        kinds = _HOST if place.in_cluster else _DEVICE
        if w.pure:
            kinds = [(kind, weight) for kind, weight in kinds if kind not in _IMPURE]
        if place.deep >= DEEPEST:
            kinds = [(arithmetic, 1)]
        write = w.rng.choices([k for k, _ in kinds], [weight for _, weight in kinds])[0]
        place = write(w, place)
    return place


def tensor(w: Writer, place: Place) -> str:
    """Return a tensor in reach, a later one more likely, or a constant if there is none."""
    if not place.known:
        return "tf.constant([1., 2.])"
    return w.one_of(place.known[-4:] if w.chance(0.7) else place.known)


def expression(w: Writer, place: Place) -> str:
    a, b = tensor(w, place), tensor(w, place)
    choices = [
        f"{a} + {b}",
        f"{a} * 2.",
        f"tf.sin({a})",
        f"tf.identity({a})",
        f"tf.concat([{a}[:1], {b}[1:]], 0)",
        f"tf.reduce_sum({a}) + {b}",
        f"tf.where({a} > 0., {a}, {b})",
        "tf.constant([3., 4.])",
        f"tf.cast(tf.cast({a}, tf.int32), tf.float32)",
        "tf.random.uniform([2], seed=7)",
        "tf.random.normal([2])",
    ]
    return w.one_of(choices[:8] if w.pure else choices)


def predicate(w: Writer, place: Place) -> str:
    return f"tf.reduce_sum({tensor(w, place)}) > {w.one_of(['0.', '3.'])}"


def arithmetic(w: Writer, place: Place) -> Place:
    name = w.fresh("t")
    w.line(f"{name} = {expression(w, place)}")
    return place.knowing(name)


def host_work(w: Writer, place: Place) -> Place:
    """Write statements that a TPU cannot run."""
    name, a = w.fresh("h"), tensor(w, place)
    ways = [
        f"{name} = tf.strings.to_number(tf.strings.as_string({a}))",
        f"{name} = tf.ensure_shape(tf.numpy_function(twice, [{a}], tf.float32), [2])",
        f"tf.compat.v1.summary.scalar('s', tf.reduce_sum({a})); {name} = {a} + 1.",
        f"tf.print({a}); {name} = {a} * 3.",
        f"{name} = tf.compat.v1.Print({a}, [{a}])",
        # Its gradient works only once, whatever runs it.
        f"{name} = tf.ensure_shape(tf.py_function(twice, [{a}], tf.float32), [2])",
    ]
    w.line(w.one_of(ways[:5] if w.pure else ways))
    return place.knowing(name)


def forbidden_on_device(w: Writer, place: Place) -> Place:
    name = w.fresh("p")
    w.line(
        w.one_of(
            [
                f"{name} = tf.compat.v1.placeholder(tf.float32, [2])",
                f"{name} = tf.compat.v1.placeholder_with_default([1., 2.], [2])",
                f"tf.compat.v1.summary.histogram('h', {tensor(w, place)}); {name} = zeros()",
            ]
        )
    )
    return place.knowing(name)


def device_scope(w: Writer, place: Place) -> Place:
    devices = ["tpu.core(0)", "None", "'/device:CPU:0'", "tpu.core(1)", "'/job:other'"]
    device = w.one_of(devices[:2] if w.pure else devices)
    with w.block(f"with tf.device({device}):"):
        return statements(w, place.deeper(), 1, 2)


def name_scope(w: Writer, place: Place) -> Place:
    scope = w.one_of(
        ["tf.name_scope('inner')", "tf.compat.v1.variable_scope('vs')", "tf.name_scope('inner/a')"]
    )
    with w.block(f"with {scope}:"):
        return statements(w, place.deeper(), 1, 2)


def control_dependencies(w: Writer, place: Place) -> Place:
    waited_for = w.one_of(
        [tensor(w, place), "tf.no_op()", "outer_op", "outer_tensor", f"tf.sin({tensor(w, place)})"]
    )
    waited_for = "None" if w.chance(0.1) else f"[{waited_for}]"
    with w.block(f"with tf.control_dependencies({waited_for}):"):
        return statements(w, place.deeper(), 1, 2)


def variable_use(w: Writer, place: Place) -> Place:
    name, a = w.fresh("v"), tensor(w, place)
    uses = [
        f"{name} = variable + {a}",
        f"{name} = variable.read_value()",
        f"variable.assign_add({a}); {name} = {a} - 1.",
        f"with tf.control_dependencies([variable.assign({a})]): {name} = tf.identity({a})",
        f"{name} = made_here('v') + {a}",
        f"made_here('w').assign_sub({a}); {name} = {a} / 2.",
    ]
    use = w.one_of(uses[:2] if w.pure else uses)
    w.line(f"{name} = {a} + 1." if w.pure and place.in_cluster != w.host_reads else use)
    return place.knowing(name)


def reference_variable(w: Writer, place: Place) -> Place:
    name = w.fresh("r")
    w.line(f"{name} = reference_variable() + {tensor(w, place)}")
    return place.knowing(name)


def branch(w: Writer, place: Place) -> Place:
    """Write a conditional whose two sides return one tensor each."""
    sides = []
    inside = replace(place.deeper(), in_control_flow=True)
    for stem in ("yes", "no"):
        side = w.fresh(stem)
        sides.append(side)
        with w.block(f"def {side}():"):
            after = statements(w, inside, 1, 2)
            w.line(f"return {tensor(w, after)}")
    name = w.fresh("c")
    w.line(f"{name} = tf.cond({predicate(w, place)}, {sides[0]}, {sides[1]})")
    return place.knowing(name)


def loop(w: Writer, place: Place) -> Place:
    """Write a loop of two iterations over one tensor."""
    body, name, carried = w.fresh("body"), w.fresh("l"), w.fresh("x")
    with w.block(f"def {body}(i, {carried}):"):
        inside = replace(place.deeper().knowing(carried), in_control_flow=True)
        after = statements(w, inside, 1, 2)
        w.line(f"return i + 1, {tensor(w, after)}")
    extra = w.one_of(["", ", maximum_iterations=4", ", parallel_iterations=1"])
    start = f"(tf.constant(0), {tensor(w, place)})"
    w.line(f"_, {name} = tf.while_loop(lambda i, _: i < 2, {body}, {start}{extra})")
    return place.knowing(name)


def called_function(w: Writer, place: Place) -> Place:
    """Write a tf.function, called once or twice."""
    function, name, a = w.fresh("fn"), w.fresh("f"), w.fresh("a")
    w.line("@tf.function(autograph=False)")
    with w.block(f"def {function}({a}):"):
        after = statements(w, replace(place.deeper().knowing(a), in_control_flow=True), 1, 2)
        w.line(f"return {tensor(w, after)}")
    call = f"{function}({tensor(w, place)})"
    w.line(f"{name} = {call}" + (f" + {function}({tensor(w, place)})" if w.chance(0.4) else ""))
    return place.knowing(name)


def gradient(w: Writer, place: Place) -> Place:
    """Write a gradient of one tensor by another, in one of the ways TensorFlow has."""
    name, y, x = w.fresh("g"), tensor(w, place), tensor(w, place)
    way = w.one_of(["v2", "v1", "colocated", "tape", "twice"])
    if way == "tape":
        with w.block("with tf.GradientTape() as tape:"):
            w.line(f"tape.watch({x})")
            after = statements(w, place.deeper(), 1, 2)
            w.line(f"loss = {tensor(w, after)} + {x}")
        w.line(f"{name} = tape.gradient(loss, {x})")
        return place.knowing(name)
    call = {
        "v2": f"tf.gradients({y} + 0. * {x}, {x})[0]",
        "v1": f"tf.compat.v1.gradients({y} + 0. * {x}, {x})[0]",
        "colocated": f"tf.compat.v1.gradients({y} * {x}, {x}, colocate_gradients_with_ops=True)[0]",
        "twice": f"tf.gradients(tf.gradients(tf.sin({y}) * {x} * {x}, {x})[0], {x})[0]",
    }[way]
    w.line(f"{name} = {call}")
    return place.knowing(name)


def collective(w: Writer, place: Place) -> Place:
    name = w.fresh("s")
    w.line(f"{name} = tpu.cross_replica_sum({tensor(w, place)})")
    return place.knowing(name)


def training_loop(w: Writer, place: Place) -> Place:
    body, name, carried = w.fresh("repeated"), w.fresh("l"), w.fresh("x")
    with w.block(f"def {body}({carried}):"):
        after = statements(w, replace(place.deeper().knowing(carried), in_control_flow=True), 1, 2)
        w.line(f"return {tensor(w, after)}")
    w.line(f"{name} = tpu.training_loop.repeat(2, {body}, [{tensor(w, place)}])[0]")
    return place.knowing(name)


def optimizer(w: Writer, place: Place) -> Place:
    name, a = w.fresh("o"), tensor(w, place)
    w.line("opt = tpu.CrossShardOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.1))")
    w.line(f"train = opt.minimize(tf.reduce_sum(variable * {a}), var_list=[variable])")
    w.line(f"with tf.control_dependencies([train]): {name} = tf.identity({a})")
    return place.knowing(name)


def fault(w: Writer, place: Place) -> Place:
    """Write a statement that raises, or would if it were run."""
    name = w.fresh("e")
    w.line(
        w.one_of(
            [
                "raise KeyError('of the user')",
                f"tpu.replicate(lambda: {tensor(w, place)} + 1.)",
                f"tf.add({tensor(w, place)}, 'text')",
                "context = XLAControlFlowContext(); context.Enter()",
                f"tpu.rewrite(lambda x: x, [{tensor(w, place)}])",
                "leave_context()",
            ]
        )
    )
    w.line(f"{name} = zeros()")
    return place.knowing(name)


def cleared_context(w: Writer, place: Place) -> Place:
    with w.block(f"with {w.one_of(['tf.init_scope()', 'tf.control_dependencies(None)'])}:"):
        statements(w, replace(place.deeper(), known=()), 1, 2)
    return place


def host_cluster(w: Writer, place: Place) -> Place:
    from tests.runtime.oracle.clusters import cluster

    return cluster(w, place)


Statement = Callable[[Writer, Place], Place]

_BOTH: list[tuple[Statement, float]] = [
    (arithmetic, 6),
    (device_scope, 0.6),
    (name_scope, 0.6),
    (control_dependencies, 0.8),
    (variable_use, 1),
    (branch, 0.7),
    (loop, 0.7),
    (called_function, 0.5),
    (fault, 0.08),
]
_DEVICE: list[tuple[Statement, float]] = [
    *_BOTH,
    (host_cluster, 5),
    (gradient, 1.2),
    (collective, 0.5),
    (training_loop, 0.4),
    (optimizer, 0.3),
    (forbidden_on_device, 0.2),
    (reference_variable, 0.05),
    (cleared_context, 0.1),
]
_HOST: list[tuple[Statement, float]] = [
    *_BOTH,
    (host_work, 4),
    (gradient, 0.4),
    (host_cluster, 0.25),
]
_IMPURE = (
    fault,
    collective,
    optimizer,
    forbidden_on_device,
    reference_variable,
    cleared_context,
    control_dependencies,
)
