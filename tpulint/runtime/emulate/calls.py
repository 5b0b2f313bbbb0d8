"""The functions of TensorFlow that run or feed computations, replaced for an emulated TPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    gen_tpu_ops,
    multi_device_iterator_ops,
    tpu_replication,
)
from tpulint.runtime.tensorflow_internals.patching import patched
from tpulint.runtime.tensorflow_internals.tracebacks import builder

_TPU = "tensorflow.python.tpu"
_ITERATORS = "tensorflow.python.data.ops.multi_device_iterator_ops"


@contextlib.contextmanager
def replicate_calls(
    replicate: Callable[..., Any],
    outside_compilation: Callable[..., Any],
    map_outside_compilation: Callable[..., Any],
) -> Iterator[None]:
    """Make TensorFlow's own `tpu.*` functions, under any name, call ours in the context.

    `replicate` has the signature of `split_compile_and_replicate`, which all of them end in.
    """

    @builder
    def implementation(is_map: bool, *args: Any, **kwargs: Any) -> Any:
        return (map_outside_compilation if is_map else outside_compilation)(*args, **kwargs)

    with contextlib.ExitStack() as places:
        places.enter_context(patched(f"{_TPU}.tpu.split_compile_and_replicate", replicate))
        if hasattr(tpu_replication, "outside_compilation_impl"):
            target = f"{_TPU}.tpu_replication.outside_compilation_impl"
            places.enter_context(patched(target, implementation))
        else:  # 2.12
            for owner in (f"{_TPU}.tpu", f"{_TPU}.tpu_replication", "tensorflow.compat.v1.tpu"):
                target = f"{owner}.outside_compilation"
                places.enter_context(patched(target, outside_compilation))
        yield


@contextlib.contextmanager
def partitioned_calls() -> Iterator[None]:
    """Let TPUPartitionedCall, which runs a function on a free core, just run it in the context."""

    def tpu_partitioned_call(args: Any, device_ordinal: Any, Tout: Any, f: Any, **_: Any) -> Any:
        return tf.raw_ops.StatefulPartitionedCall(args=args, Tout=Tout, f=f)

    def tpu_ordinal_selector(name: str | None = None) -> Any:
        return tf.constant([0], name=name)

    with (
        patched(f"{_TPU}.functional.TPUPartitionedCall", tpu_partitioned_call),
        patched(f"{_TPU}.ops.tpu_ops.tpu_partitioned_call", tpu_partitioned_call),
        patched(f"{_TPU}.ops.tpu_ops.tpu_ordinal_selector", tpu_ordinal_selector),
    ):
        yield


@contextlib.contextmanager
def cross_replica_sums(in_computation: Callable[[], bool]) -> Iterator[None]:
    """Let a sum over replicas outside computations, in a graph or eager, be of one replica.

    The operation has a kernel on TPU cores only. So that is where TensorFlow places it, which
    then compiles it as a program of its own. Programs with `use_tpu=False` come here.
    """
    real = gen_tpu_ops.cross_replica_sum

    def cross_replica_sum(input: Any, group_assignment: Any, name: str | None = None) -> Any:
        is_plain = type(tf.compat.v1.get_default_graph()) is tf.Graph
        if (is_plain or tf.executing_eagerly()) and not in_computation():
            return tf.identity(input, name=name)
        return real(input, group_assignment, name=name)

    with patched("tensorflow.python.ops.gen_tpu_ops.cross_replica_sum", cross_replica_sum):
        yield


@contextlib.contextmanager
def autotune_disabled() -> Iterator[None]:
    """Let pipelines that feed several cores keep their number of threads in the context.

    The thread that tunes it sleeps up to a minute, and the pipeline's end waits for it.
    """
    kind = multi_device_iterator_ops.OwnedMultiDeviceIterator
    initialize = kind.__init__
    of_a_core = multi_device_iterator_ops._create_device_dataset

    def __init__(self: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
        initialize(self, None if dataset is None else not_tuned(dataset), *args, **kwargs)

    def create_device_dataset(*args: Any, **kwargs: Any) -> Any:
        return not_tuned(of_a_core(*args, **kwargs))

    with (
        patched(f"{_ITERATORS}.OwnedMultiDeviceIterator.__init__", __init__),
        patched(f"{_ITERATORS}._create_device_dataset", create_device_dataset),
    ):
        yield


def not_tuned(dataset: Any) -> Any:
    """Return `dataset`, without the thread that tunes it."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
