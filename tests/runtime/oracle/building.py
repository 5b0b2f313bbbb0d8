"""Building of one program twice, with TensorFlow's API and with ours, and the two results."""

from __future__ import annotations

import functools
import linecache
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops.control_flow_ops import XLAControlFlowContext
from tensorflow.python.tpu import tpu as tensorflow_tpu
from tensorflow.python.tpu import tpu_feed, tpu_function, tpu_replication, training_loop

import tpulint.runtime
from tests.runtime.oracle.programs import Program
from tests.runtime.oracle.snapshot import Snapshot, snapshot

HAS_MAP = hasattr(tpu_replication, "experimental_map_outside_compilation")  # not in 2.12
OURS = SimpleNamespace(**vars(tpulint.runtime))
if not HAS_MAP:
    OURS.experimental_map_outside_compilation = OURS.outside_compilation
THEIRS = SimpleNamespace(
    **{name: getattr(tf.compat.v1.tpu, name) for name in ("replicate", "rewrite", "shard")},
    batch_parallel=tf.compat.v1.tpu.batch_parallel,
    core=tf.compat.v1.tpu.core,
    cross_replica_sum=tf.compat.v1.tpu.cross_replica_sum,
    outside_compilation=tf.compat.v1.tpu.outside_compilation,
    experimental_map_outside_compilation=(
        tpu_replication.experimental_map_outside_compilation
        if HAS_MAP
        else tf.compat.v1.tpu.outside_compilation
    ),
    split_compile_and_replicate=tensorflow_tpu.split_compile_and_replicate,
    split_compile_and_shard=tensorflow_tpu.split_compile_and_shard,
    training_loop=training_loop,
    CrossShardOptimizer=tf.compat.v1.tpu.CrossShardOptimizer,
    PaddingSpec=tf.compat.v1.tpu.PaddingSpec,
    XLAOptions=tf.tpu.XLAOptions,
)

Pair = namedtuple("Pair", ["first", "second"])


@dataclass(frozen=True)
class Built:
    """The error that the program ended with, or the content of its graph."""

    error: Exception | None
    graph: Snapshot | None


class Owner:
    """Has a bound method, which TensorFlow's argument count gets wrong."""

    def method(self, x: Any) -> Any:
        return x


def build(program: Program, tpu: Any) -> Built:
    """Run the Python of `program` with the API `tpu`, in a fresh graph."""
    filename = f"program_{program.seed}.py"
    lines = program.source.splitlines(True)
    linecache.cache[filename] = (len(program.source), None, lines, filename)
    names = helpers(tpu)
    exec(compile(program.source, filename, "exec"), names)
    try:
        with control_flow(program.mode), tf.Graph().as_default() as around:
            if program.mode == "function":
                return _in_function(names)
            names["variable"] = variable()
            names["program"]()
            return Built(None, snapshot(around))
    except Exception as error:  # whatever the program raises is compared
        return Built(error, None)
    finally:
        del linecache.cache[filename]


def _in_function(names: dict[str, Any]) -> Built:
    """Inside a tf.function, before automatic control dependencies are added at its end."""
    actual: list[Snapshot] = []
    names["variable"] = variable()

    @tf.function(autograph=False)
    def step() -> None:
        names["program"]()
        actual.append(snapshot(ops.get_default_graph()))

    step.get_concrete_function()
    return Built(None, actual[-1])


@contextmanager
def control_flow(mode: str) -> Iterator[None]:
    """V1 or V2 control flow, as `mode` says."""
    before = tf.compat.v1.control_flow_v2_enabled()
    _switch(mode != "graph, V1 control flow")
    try:
        yield
    finally:
        _switch(before)


def _switch(v2: bool) -> None:
    if v2:
        tf.compat.v1.enable_control_flow_v2()
    else:
        tf.compat.v1.disable_control_flow_v2()


def variable() -> Any:
    return tf.Variable([1.0, 1.0], name="variable")


def helpers(tpu: Any) -> dict[str, Any]:
    """Return the names that programs use."""
    return {
        "tf": tf,
        "tpu": tpu,
        "np": np,
        "functools": functools,
        "Pair": Pair,
        "Owner": Owner,
        "XLAControlFlowContext": XLAControlFlowContext,
        "on_device_training_loop": tpu_function.on_device_training_loop,
        "twice": lambda x: x * 2,
        "zeros": lambda: tf.zeros([2]),
        "made_here": made_here,
        "reference_variable": reference_variable,
        "leave_context": leave_context,
        "assignment": assignment,
        "dynamic": dynamic,
        "queue": queue,
        "first_tensor": first_tensor,
        "alone": lambda x: tpu.cross_replica_sum(x, alone()),
        "outputs": [],
        "kept": [],
    }


def made_here(name: str) -> Any:
    """Return a variable of that name, made where it is first asked for.

    The initial value waits for nothing outside: a variable made in a
    computation in a tf.function could not be lifted then (docs/runtime.md, "Limits").
    """
    scope = tf.compat.v1.get_variable_scope()
    zeros = tf.compat.v1.zeros_initializer()
    reusing = tf.compat.v1.variable_scope(scope, reuse=tf.compat.v1.AUTO_REUSE)
    with tf.control_dependencies(None), reusing:
        return tf.compat.v1.get_variable(name, [2], initializer=zeros)


def reference_variable() -> Any:
    """Return a variable of the first kind, which is no resource."""
    with tf.control_dependencies(None):
        return tf.compat.v1.Variable([1.0, 2.0], use_resource=False)


def leave_context() -> None:
    graph = ops.get_default_graph()
    context = graph._get_control_flow_context()
    if context is not None:
        graph._set_control_flow_context(context.outer_context)


@functools.cache
def assignment(replicas: int, cores: int) -> Any:
    mesh = [1, replicas * cores, 1, 1]
    coordinates = np.array([[[0, i, 0, 0] for i in range(replicas * cores)]], np.int32)
    topology = tf.tpu.experimental.Topology(mesh_shape=mesh, device_coordinates=coordinates)
    return tf.tpu.experimental.DeviceAssignment(
        topology, coordinates[0].reshape(replicas, cores, 4)
    )


def dynamic(size: int | None) -> Any:
    if size is None:
        return tf.compat.v1.placeholder_with_default([1.0, 2.0, 3.0], [None])
    return tf.ones([size])


def queue(elements: int) -> Any:
    shapes = [[2]] * elements
    return tpu_feed.InfeedQueue(
        number_of_tuple_elements=elements, tuple_types=[tf.float32] * elements, tuple_shapes=shapes
    )


def alone() -> list[list[int]]:
    """Return groups for a collective, one of each replica."""
    context = tpu_function.get_tpu_context()
    return [[replica] for replica in range(context.number_of_shards or 1)]


def first_tensor(results: Any) -> Any:
    for value in tf.nest.flatten(results, expand_composites=True):
        if tf.is_tensor(value) and value.dtype == tf.float32:
            return value
    return None
