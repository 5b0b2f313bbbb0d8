"""Running a pure program with our API, and the same Python with plain calls."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf

from tests.runtime.oracle.building import OURS, THEIRS, build, control_flow, helpers, variable
from tests.runtime.oracle.programs import EAGER, Program


def _plain_replicate(computation: Any, inputs: Any = ((),), **_: Any) -> list[Any]:
    return [_as_returned(computation(*_as_tensors(replica))) for replica in inputs]


def _plain_split(computation: Any, inputs: Any, **_: Any) -> list[Any]:
    return [None, _plain_replicate(computation, inputs)]


def _as_tensors(replica: Any) -> Any:
    return tf.nest.map_structure(
        lambda v: v if v is None or tf.is_tensor(v) else tf.convert_to_tensor(v), tuple(replica)
    )


def _as_returned(returned: Any) -> Any:
    """Return `results` as a call does: a single tensor in a list."""
    return [returned] if tf.is_tensor(returned) else returned


PLAIN = SimpleNamespace(
    **{
        **vars(THEIRS),
        "replicate": _plain_replicate,
        "split_compile_and_replicate": _plain_split,
        "rewrite": lambda computation, inputs: _plain_replicate(computation, [inputs])[0],
        "outside_compilation": lambda f, *args, **kwargs: f(*args, **kwargs),
        "core": lambda number: "/device:CPU:0",
        "cross_replica_sum": lambda x, groups: x,
    }
)


def values(program: Program, tpu: Any) -> list[Any]:
    """Return the values of all outputs of all calls, in a session or in a tf.function."""
    names = helpers(tpu)
    exec(compile(program.source, f"program_{program.seed}.py", "exec"), names)
    with control_flow(program.mode):
        if program.mode == "function":
            return _in_function(names)
        if program.mode == EAGER:
            names["program"]()
            return [tensor.numpy() for tensor in tensors(names["outputs"])]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            names["variable"] = variable()
            names["program"]()
            session.run(tf.compat.v1.global_variables_initializer())
            result: list[Any] = session.run(tensors(names["outputs"]))
            return result


def _in_function(names: dict[str, Any]) -> list[Any]:
    names["variable"] = variable()

    @tf.function(autograph=False)
    def step() -> Any:
        names["program"]()
        return tensors(names["outputs"])

    return [tensor.numpy() for tensor in step()]


def tensors(outputs: Any) -> list[Any]:
    return [v for v in tf.nest.flatten(outputs) if v is not None]


def difference_of_values(program: Program) -> str | None:
    """Return the difference between running `program` and calling its functions plainly, or None.

    Nothing differs where TensorFlow itself cannot build the program.
    """
    without_tpu = replace(program, mode="function") if program.mode == EAGER else program
    if build(without_tpu, THEIRS).error:
        return None
    plain = values(without_tpu, PLAIN)
    ours = values(program, OURS)
    if len(ours) != len(plain):
        return f"plain: {plain}\nours: {ours}"
    for value, other in zip(ours, plain, strict=True):
        if not np.allclose(value, other, rtol=1e-4, atol=1e-4, equal_nan=True):
            return f"plain: {plain}\nours: {ours}"
    return None
