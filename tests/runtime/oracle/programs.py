"""Whole programs: inputs, one or two computations of the replicate family, what follows them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.runtime.oracle.statements import Place, statements, tensor
from tests.runtime.oracle.writer import Writer

MODES = ("graph, V1 control flow", "graph, V2 control flow", "function")
EAGER = "eager"


@dataclass(frozen=True)
class Program:
    """`source` defines `program()`, in terms of the names that building puts beside it."""

    seed: int
    mode: str
    source: str

    def __str__(self) -> str:
        return f"# seed {self.seed}, {self.mode}\n{self.source}"


def program(seed: int, pure: bool = False) -> Program:
    """Return the program of `seed`, the same one each time; for `pure`, see `Writer`."""
    w = Writer(random.Random(seed), pure, host_reads=seed % 2 == 1)
    mode = w.one_of(MODES)
    with w.block("def program():"):
        w.line("outer_tensor = tf.constant([5., 6.], name='outer')")
        w.line("outer_op = tf.no_op(name='outer_op')")
        if w.chance(0.2):
            w.line("tf.compat.v1.set_random_seed(5)")
        names = ["outer_tensor"]
        for _ in range(w.one_of([1, 1, 1, 2])):
            with_scope = w.chance(0.25)
            if with_scope:
                w.line(f"with {w.one_of(_OUTER_SCOPES[:1] if pure else _OUTER_SCOPES)}:")
                w.depth += 1
            names.append(_call(w, names))
            if with_scope:
                w.depth -= 1
            if w.chance(0.1):
                names.append(_gradient_of_result(w, names))
        w.line("return after")
    return Program(seed, mode, w.source)


_OUTER_SCOPES = (
    "tf.name_scope('outer_scope')",
    "tf.device('/device:CPU:0')",
    "tf.device('/job:worker')",
    "tf.control_dependencies([outer_tensor])",
    "tf.control_dependencies([outer_op])",
    "tf.compat.v1.variable_scope('outer_vs')",
    "tf.compat.v1.variable_scope('part', partitioner=tf.compat.v1.fixed_size_partitioner(2))",
)


def _call(w: Writer, names: list[str]) -> str:
    """Write a computation and its call; return the name of a tensor that the call returns."""
    families = {_replicated: 9, _rewritten: 1.5, _sharded: 1, _padded: 1, _misused: 1}
    if w.pure:
        families = {_replicated: 4, _rewritten: 1}
    return w.rng.choices(list(families), list(families.values()))[0](w, names)


def _computation(w: Writer, names: list[str], parameters: list[str], signature: str) -> str:
    name = w.fresh("computation")
    if w.chance(0.05):
        w.line("@on_device_training_loop")
    with w.block(f"def {name}({signature}):"):
        place = statements(w, Place(tuple(names[-2:]) + tuple(parameters)), 1, 5)
        if w.chance(0.1):
            w.line(f"kept.append({tensor(w, place)})")
        w.line(f"return {_returned(w, place)}")
    return name


def _returned(w: Writer, place: Place) -> str:
    a, b = tensor(w, place), tensor(w, place)
    if w.pure:
        nested = f"{{'a': {a}, 'b': ({b}, None)}}"
        return w.one_of([a, f"[{a}, {b}]", nested, f"[{a}, [{b}]]", f"Pair({a}, {b})"])
    return w.rng.choices(
        [
            a,
            f"[{a}, {b}]",
            f"({a}, {b}, tf.no_op())",
            f"{{'a': {a}, 'b': ({b}, None)}}",
            f"[{a}, [{b}]]",
            "None",
            "tf.no_op()",
            "tf.group(variable.assign_add([1., 1.]))",
            f"[{a}, None]",
            f"[{a}, 3]",
            f"tf.sparse.from_dense({a})",
            "variable",
            f"(tf.no_op(), {a})",
            f"{{'a': tf.no_op(), 'b': {a}}}",
            "object()",
            "'text'",
            f"Pair({a}, {b})",
        ],
        [6, 4, 2, 3, 2, 1, 1, 1, 1, 1, 0.5, 0.5, 0.3, 0.3, 0.2, 0.2, 0.5],
    )[0]


_INPUTS = (
    "tf.constant([1., 2.])",
    "tf.compat.v1.placeholder_with_default([1., 2.], [2])",
    "[1., 2.]",
    "np.array([1., 2.], np.float32)",
    "variable",
    "tf.constant([3., 4.]) * 2.",
)


def _replicated(w: Writer, known_names: list[str]) -> str:
    replicas = w.one_of([1, 2, 2, 3, 4])
    arity = w.one_of([0, 1, 1, 2, 3])
    styles = [w.one_of(["plain", "plain", "plain", "dict", "none", "sparse"]) for _ in range(arity)]
    names = [w.fresh("in") for _ in styles]
    signature = ", ".join(names) + w.one_of(["", "", ", *rest" if names else "*rest"])
    tensors = []
    wrapper = w.fresh("computation")
    with w.block(f"def {wrapper}({signature}):"):
        for name, style in zip(names, styles, strict=True):
            if style == "dict":
                w.line(f"{name} = {name}['k'] + {name}['l'][0]")
            elif style == "sparse":
                # Its own dense shape is an argument too, and no constant.
                shape = "tf.constant([2], tf.int64)"
                w.line(f"{name} = tf.scatter_nd({name}.indices, {name}.values, {shape})")
            elif style == "none":
                w.line(f"{name} = zeros() if {name} is None else {name}")
            if style == "plain":
                w.line(f"{name} = tf.reshape({name}, [2])")
            tensors.append(name)
        inner = _computation(w, known_names, tensors, "")
        w.line(f"return {inner}()")
    rows = ["[" + ", ".join(_value(w, style) for style in styles) + "]" for _ in range(replicas)]
    if replicas == 1 and arity == 0 and w.chance(0.5):
        return _finish(w, f"tpu.replicate({wrapper}{_options(w, replicas)})", True)
    split = w.chance(0.2)
    function = "tpu.split_compile_and_replicate" if split else "tpu.replicate"
    extra = ", use_tpu=False" if split and w.chance(0.3) else ""
    call = f"{function}({wrapper}, [{', '.join(rows)}]{_options(w, replicas)}{extra})"
    return _finish(w, call + ("[1]" if split else ""), True)


def _value(w: Writer, style: str) -> str:
    a = w.one_of(_INPUTS) if style != "plain" else w.one_of(_INPUTS[:2] + _INPUTS[3:])
    if style == "dict":
        inner = f"(np.float32([3., 4.]), {w.one_of(['1', '2'])})"
        return f"{{'k': tf.constant([1., 2.]), 'l': {inner}}}"
    if style == "none":
        return "None"
    if style == "sparse":
        return "tf.sparse.from_dense([1., 2.])"
    return a


def _options(w: Writer, replicas: int) -> str:
    if w.pure:
        return ""
    return w.rng.choices(
        [
            "",
            ", name='ignored'",
            ", xla_options=tpu.XLAOptions(enable_xla_dynamic_padder=False)",
            ", xla_options=tpu.XLAOptions(use_spmd_for_xla_partitioning=False)",
            f", device_assignment=assignment({replicas}, 1)",
            f", device_assignment=assignment({replicas}, 2)",
            ", padding_spec=tpu.PaddingSpec.AUTO",
        ],
        [12, 1, 1, 1, 1, 1, 0.5],
    )[0]


def _rewritten(w: Writer, names: list[str]) -> str:
    name = w.fresh("in")
    inner = _computation(w, names, [name], name)
    return _finish(w, f"tpu.rewrite({inner}, [{w.one_of(_INPUTS[:2])}]{_options(w, 1)})", False)


def _sharded(w: Writer, names: list[str]) -> str:
    name = w.fresh("in")
    inner = _computation(w, names, [name], name)
    shards = w.one_of([1, 2, 2, 0, -1])
    wide = "tf.constant([1., 2., 3., 4.])" if shards == 2 else "tf.constant([1., 2.])"
    call = w.one_of(
        [
            f"tpu.shard({inner}, [{wide}], num_shards={shards})",
            f"tpu.shard({inner}, [{wide}], {shards}, outputs_from_all_shards=False)",
            f"tpu.shard({inner}, [{wide}], {shards}, input_shard_axes=[0], output_shard_axes=[0])",
            f"tpu.shard({inner}, [{wide}], {shards}, input_shard_axes=[0, 1])",
            f"tpu.shard({inner}, ({wide},), {shards})",
            f"tpu.shard({inner}, [{wide}], {shards}, outputs_from_all_shards=[True, False])",
            f"tpu.shard({inner}, [{wide}], {shards}, output_shard_axes=[0, 0])",
            f"tpu.batch_parallel({inner}, [{wide}], {shards})",
            f"tpu.split_compile_and_shard({inner}, [{wide}], {shards})[1]",
        ]
    )
    return _finish(w, call, False)


def _padded(w: Writer, names: list[str]) -> str:
    """Write a call with maximum_shapes over inputs of differing and unknown sizes."""
    name = w.fresh("in")
    replicas = w.one_of([1, 2, 3])
    with w.block(f"def padded_{name}({name}, *rest):"):
        w.line(f"{name} = tf.zeros([2]) + tf.reduce_sum({name})")
        inner = _computation(w, names, [name], "")
        w.line(f"return {inner}()")
    sizes = w.one_of([["2", "3", "4"], ["2", "2", "2"], ["None", "None", "3"], ["None"] * 3])
    rows = [f"[dynamic({size})]" for size in sizes[:replicas]]
    if w.chance(0.3):
        rows = [row[:-1] + ", tf.sparse.from_dense([1., 2.])]" for row in rows]
    maximum = w.one_of(["None", "8", "1", "3", "None, 2", ""])
    shapes = [f"tf.TensorShape([{maximum}])"] * (2 if "sparse" in rows[0] else 1)
    maximum_shapes = w.one_of(
        [f"[{', '.join(shapes)}]"] * 5 + ["[[8]]", "[tf.TensorShape(None)]", "[None]"]
    )
    spec = w.one_of(["", "POWER_OF_TWO", "AUTO"])
    spec = spec and f", padding_spec=tpu.PaddingSpec.{spec}"
    call = (
        f"tpu.replicate(padded_{name}, [{', '.join(rows)}], maximum_shapes={maximum_shapes}{spec}"
    )
    options = w.one_of(["", "", _options(w, replicas).split(", padding_spec")[0]])
    return _finish(w, f"{call}{options})", True)


def _misused(w: Writer, names: list[str]) -> str:
    """Write arguments that do not fit, and a few that only seem not to."""
    name = w.fresh("in")
    inner = _computation(w, names, [name], name)
    x = "tf.constant([1., 2.])"
    call = w.one_of(
        [
            f"tpu.replicate({inner}, [{x}, {x}])",
            f"tpu.replicate({inner}, ([{x}], [{x}]))",
            f"tpu.replicate({inner}, [[{x}], [{x}, {x}]])",
            f"tpu.replicate({inner}, [[{x}], ({x},)])",
            f"tpu.replicate({inner}, [[{x}], [tf.constant([1, 2])]])",
            f"tpu.replicate({inner}, [[{x}], [tf.constant([1., 2., 3.])]])",
            f"tpu.replicate({inner}, [[{x}], [None]])",
            f"tpu.replicate({inner}, [[None], [tf.constant(1)]])",
            f"tpu.replicate({inner}, [[{x}, {x}]])",
            f"tpu.replicate({inner}, [[]])",
            f"tpu.replicate({inner}, [[np.float32(1.), np.float32(1.)]])",
            f"tpu.replicate(Owner().method, [[{x}]])",
            f"tpu.replicate({inner}, [])",
            f"tpu.split_compile_and_replicate({inner}, [])",
            f"tpu.replicate(functools.partial({inner}), [[{x}]])",
            f"tpu.replicate({inner}, infeed_queue=queue(1))",
            f"tpu.replicate({inner}, infeed_queue=queue(2))",
            f"tpu.replicate({inner}, [[{x}]], infeed_queue=queue(1))",
            f"tpu.replicate({inner}, infeed_queue=queue(1), maximum_shapes=[tf.TensorShape([8])])",
            f"tpu.replicate({inner}, 'inputs')",
            f"tpu.rewrite({inner}, {x})",
            f"tpu.replicate(3, [[{x}]])",
        ]
    )
    return _finish(w, call, True)


def _gradient_of_result(w: Writer, names: list[str]) -> str:
    """Write a gradient after a call: it is refused, or None, if it goes through the results."""
    name, result = w.fresh("after"), names[-1]
    by = w.one_of(
        ["outer_tensor", "outer_tensor", "variable", result, "(kept or [outer_tensor])[-1]"]
    )
    w.line(f"{name} = tf.gradients({result} * 2., {by})[0]")
    w.line(f"after = {name} = outer_tensor if {name} is None else {name}")
    return name


def _finish(w: Writer, call: str, is_per_replica: bool) -> str:
    """Write the call and a use of one of its tensors; return the name of the use."""
    w.line(f"out = {call}")
    w.line("outputs.append(out)")
    name = w.fresh("after")
    w.line(f"{name} = first_tensor(out)")
    w.line(f"{name} = outer_tensor if {name} is None else tf.reshape({name} + 1., [-1])[:2]")
    w.line(f"after = {name}")
    return name
