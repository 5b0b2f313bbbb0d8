"""The functions of TensorFlow that run or feed computations, replaced for an emulated TPU."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from tpulint.runtime.tensorflow_internals.modules import (
    gen_tpu_ops,
    multi_device_iterator_ops,
    tensorflow_tpu,
    tpu_embedding,
    tpu_functional,
    tpu_ops,
    tpu_replication,
)
from tpulint.runtime.tensorflow_internals.replacing import replaced


@contextlib.contextmanager
def computations_go_to(
    replicate: Callable[..., Any],
    outside_compilation: Callable[..., Any],
    map_outside_compilation: Callable[..., Any],
) -> Iterator[None]:
    """Make TensorFlow's own `tpu.*` functions, under any name, call ours in the context.

    `replicate` has the signature of `split_compile_and_replicate`, which all of them end in.
    """

    def implementation(is_map: bool, *args: Any, **kwargs: Any) -> Any:
        return (map_outside_compilation if is_map else outside_compilation)(*args, **kwargs)

    with contextlib.ExitStack() as places:
        places.enter_context(replaced(tensorflow_tpu, "split_compile_and_replicate", replicate))
        if hasattr(tpu_replication, "outside_compilation_impl"):
            places.enter_context(
                replaced(tpu_replication, "outside_compilation_impl", implementation)
            )
        else:  # 2.12
            for owner in (tensorflow_tpu, tpu_replication, tf.compat.v1.tpu):
                places.enter_context(replaced(owner, "outside_compilation", outside_compilation))
        yield


@contextlib.contextmanager
def called_on_any_core() -> Iterator[None]:
    """Let TPUPartitionedCall, which runs a function on a free core, just run it in the context."""

    def tpu_partitioned_call(args: Any, device_ordinal: Any, Tout: Any, f: Any, **_: Any) -> Any:
        return tf.raw_ops.StatefulPartitionedCall(args=args, Tout=Tout, f=f)

    def tpu_ordinal_selector(name: str | None = None) -> Any:
        return tf.constant([0], name=name)

    with (
        replaced(tpu_functional, "TPUPartitionedCall", tpu_partitioned_call),
        replaced(tpu_ops, "tpu_partitioned_call", tpu_partitioned_call),
        replaced(tpu_ops, "tpu_ordinal_selector", tpu_ordinal_selector),
    ):
        yield


@contextlib.contextmanager
def summed_alone(in_computation: Callable[[], bool]) -> Iterator[None]:
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

    with replaced(gen_tpu_ops, "cross_replica_sum", cross_replica_sum):
        yield


@contextlib.contextmanager
def no_embedding_hardware() -> Iterator[None]:
    """Refuse a `TPUEmbedding` of a session, which TPUEstimator makes, in the context."""

    def __init__(self: Any, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            "the emulated TPU has no embedding hardware: TPUEmbedding, and so TPUEstimator's "
            "embedding_config_spec, needs a TPU, or use_tpu=False, with which the tables are "
            "plain variables"
        )

    with contextlib.ExitStack() as places:
        if tpu_embedding is not None:
            places.enter_context(replaced(tpu_embedding.TPUEmbedding, "__init__", __init__))
        yield


@contextlib.contextmanager
def pipelines_not_tuned() -> Iterator[None]:
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
        replaced(kind, "__init__", __init__),
        replaced(multi_device_iterator_ops, "_create_device_dataset", create_device_dataset),
    ):
        yield


def not_tuned(dataset: Any) -> Any:
    """Return `dataset`, without the thread that tunes it."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
