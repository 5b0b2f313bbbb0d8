"""TensorFlow's classes and operations of embeddings, replaced for an emulated TPU."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tpulint.runtime.pods.devices import current_pod
from tpulint.runtime.tensorflow_internals.modules import (
    tpu_embedding,
    tpu_embedding_configuration_pb2,
    tpu_embedding_v2,
    tpu_embedding_v2_utils,
    tpu_embedding_v3,
)
from tpulint.runtime.tensorflow_internals.patching import patched

_TPU = "tensorflow.python.tpu"
_CLASS = tpu_embedding_v2.TPUEmbedding
_OFFERED = ("SGD", "Adagrad", "Adam", "FTRL")


@dataclass(frozen=True)
class EmbeddingOperations:
    """The operations of a TPUEmbedding."""

    is_set_up: Callable[[], bool]
    set_up: Callable[[Any], None]
    load: Callable[[Any], None]
    retrieve: Callable[[Any], None]
    enqueue: Callable[..., Any]
    activations: Callable[..., Any]
    send_gradients: Callable[..., Any]


@contextlib.contextmanager
def embeddings_emulated(do: EmbeddingOperations) -> Iterator[None]:
    """Let the `TPUEmbedding` of strategies call `do` in the context; refuse all others."""
    initialize = _CLASS.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        initialize(self, *args, **kwargs)
        if self._using_tpu:
            _refuse_what_is_not_offered(self)

    def load(_: Any, __: Any, variables: Any, ___: Any) -> None:
        with tf.init_scope():
            do.load(variables)

    def retrieve(_: Any, __: Any, variables: Any, ___: Any) -> None:
        with tf.init_scope():
            do.retrieve(variables)

    def set_up(config: Any = None, *_: Any, **__: Any) -> None:
        do.set_up(config)

    def enqueue(
        sample_indices_or_row_splits: Any,
        embedding_indices: Any,
        aggregation_weights: Any,
        mode_override: Any,
        device_ordinal: int = -1,
        combiners: Any = (),
        name: Any = None,
    ) -> Any:
        given = (sample_indices_or_row_splits, embedding_indices, aggregation_weights)
        return do.enqueue(*given, mode_override, device_ordinal, combiners)

    def activations(config: bytes, **_: Any) -> Any:
        return do.activations(_shapes(config))

    def send_gradients(inputs: Any, learning_rates: Any, config: Any, **_: Any) -> Any:
        return do.send_gradients(inputs, learning_rates)

    with contextlib.ExitStack() as places:
        for target, new in {
            "tpu_embedding_v2.TPUEmbedding.__init__": functools.wraps(initialize)(__init__),
            "tpu_embedding_v2._load_variables_impl": load,
            "tpu_embedding_v2._retrieve_variables_impl": retrieve,
            "ops.tpu_ops.is_tpu_embedding_initialized": do.is_set_up,
            "tpu.initialize_system_for_tpu_embedding": set_up,
            "ops.tpu_ops.enqueue_tpu_embedding_arbitrary_tensor_batch": enqueue,
            "ops.tpu_ops.recv_tpu_embedding_activations": activations,
            "ops.tpu_ops.send_tpu_embedding_gradients": send_gradients,
        }.items():
            places.enter_context(patched(f"{_TPU}.{target}", new))
        if tpu_embedding is not None:
            target = f"{_TPU}.tpu_embedding.TPUEmbedding.__init__"
            places.enter_context(patched(target, _refusing(_OF_SESSIONS)))
        if tpu_embedding_v3 is not None:
            target = f"{_TPU}.tpu_embedding_v3.TPUEmbeddingV2.__init__"
            places.enter_context(patched(target, _refusing(_OF_SPARSE_CORES)))
        yield


def _refuse_what_is_not_offered(embedding: Any) -> None:
    """Raise an error if the emulated engine cannot do what `embedding` is to do."""
    if current_pod().is_remote:
        _refuse("a pod of several hosts")
    offered = tuple(getattr(tpu_embedding_v2_utils, name) for name in _OFFERED)
    if embedding._pipeline_execution_with_tensor_core:
        _refuse("pipeline_execution_with_tensor_core=True")
    if getattr(embedding, "_num_cores_per_replica", None) not in (None, 1):
        _refuse("several cores a replica")
    for table in embedding._table_config:
        if not isinstance(table.optimizer, offered):
            _refuse(f"the optimizer {type(table.optimizer).__name__}")
        if getattr(table, "quantization_config", None) is not None:
            _refuse("quantization_config")
        if not isinstance(table.combiner, str):
            _refuse("a combiner of one's own")
        if hasattr(table.optimizer, "low_dimensional_packing_status"):
            # TensorFlow puts this bool into a protocol buffer's enum, which newer ones refuse.
            is_packed = table.optimizer.low_dimensional_packing_status
            table.optimizer.low_dimensional_packing_status = int(is_packed)


def _refuse(what: str) -> None:
    raise NotImplementedError(f"the embedding engine of the emulated TPU does not offer {what}")


_OF_SESSIONS = (
    "the emulated TPU has no embedding hardware for sessions: this TPUEmbedding, and so "
    "TPUEstimator's embedding_config_spec, needs a TPU, or use_tpu=False, with which the tables "
    "are plain variables"
)
_OF_SPARSE_CORES = (
    "the emulated TPU has no SparseCore: use tf.tpu.experimental.embedding.TPUEmbedding or "
    "TPUEmbeddingV0"
)


def _refusing(why: str) -> Callable[..., None]:
    def __init__(self: Any, *_: Any, **__: Any) -> None:
        raise NotImplementedError(why)

    return __init__


def _shapes(config: bytes) -> list[list[int]]:
    """Return the shape of each feature's activations."""
    found = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.FromString(config)
    return [
        [*feature.input_shape, found.table_descriptor[feature.table_id].dimension]
        for feature in found.feature_descriptor
    ]
