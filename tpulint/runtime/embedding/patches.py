"""TensorFlow's classes and operations of embeddings, replaced for an emulated TPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tpulint.runtime.embedding import operations
from tpulint.runtime.pods.devices import current_pod
from tpulint.runtime.tensorflow_internals.modules import (
    tpu_embedding_configuration_pb2,
    tpu_embedding_v2_utils,
)
from tpulint.runtime.tensorflow_internals.patching import When, patch

_TPU = "tensorflow.python.tpu"
_OFFERED = ("SGD", "Adagrad", "Adam", "FTRL")
_IN_MEMORY = "the embedding tables are in the host's memory: the operations have no kernel on a CPU"


@patch(
    f"{_TPU}.tpu_embedding_v2.TPUEmbedding.__init__",
    why="what the emulated embedding engine does not offer is refused at once",
    when=When.EMULATED,
)
def _initialize(original: Callable[..., None], self: Any, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    if self._using_tpu:
        _refuse_what_is_not_offered(self)


@patch(f"{_TPU}.tpu_embedding_v2._load_variables_impl", why=_IN_MEMORY, when=When.EMULATED)
def _load(_: Any, config: Any, hosts: Any, variables: Any, tables: Any) -> None:
    del config, hosts, tables
    with tf.init_scope():
        operations.load(variables)


@patch(f"{_TPU}.tpu_embedding_v2._retrieve_variables_impl", why=_IN_MEMORY, when=When.EMULATED)
def _retrieve(_: Any, config: Any, hosts: Any, variables: Any, tables: Any) -> None:
    del config, hosts, tables
    with tf.init_scope():
        operations.retrieve(variables)


@patch(f"{_TPU}.ops.tpu_ops.is_tpu_embedding_initialized", why=_IN_MEMORY, when=When.EMULATED)
def _is_set_up(_: Any) -> bool:
    return operations.is_set_up()


@patch(f"{_TPU}.tpu.initialize_system_for_tpu_embedding", why=_IN_MEMORY, when=When.EMULATED)
def _set_up(_: Any, config: Any = None, *args: Any, **kwargs: Any) -> None:
    del args, kwargs
    operations.set_up(config)


@patch(
    f"{_TPU}.ops.tpu_ops.enqueue_tpu_embedding_arbitrary_tensor_batch",
    why=_IN_MEMORY,
    when=When.EMULATED,
)
def _enqueue(
    _: Any,
    sample_indices_or_row_splits: Any,
    embedding_indices: Any,
    aggregation_weights: Any,
    mode_override: Any,
    device_ordinal: int = -1,
    combiners: Any = (),
    name: Any = None,
) -> Any:
    del name
    features = (sample_indices_or_row_splits, embedding_indices, aggregation_weights)
    return operations.enqueue(*features, mode_override, device_ordinal, combiners)


@patch(f"{_TPU}.ops.tpu_ops.recv_tpu_embedding_activations", why=_IN_MEMORY, when=When.EMULATED)
def _receive_activations(_: Any, config: bytes, **kwargs: Any) -> Any:
    del kwargs
    return operations.activations(_shapes(config))


@patch(f"{_TPU}.ops.tpu_ops.send_tpu_embedding_gradients", why=_IN_MEMORY, when=When.EMULATED)
def _send_gradients(_: Any, inputs: Any, learning_rates: Any, config: Any, **kwargs: Any) -> Any:
    del config, kwargs
    return operations.send_gradients(inputs, learning_rates)


@patch(
    f"{_TPU}.tpu_embedding.TPUEmbedding.__init__",
    why="there is no embedding hardware for sessions, and the error says so",
    when=When.EMULATED,
    until="2.15",
)
def _refuse_sessions(*_: Any, **__: Any) -> None:
    raise NotImplementedError(
        "the emulated TPU has no embedding hardware for sessions: this TPUEmbedding, and so "
        "TPUEstimator's embedding_config_spec, needs a TPU, or use_tpu=False, with which the "
        "tables are plain variables"
    )


@patch(
    f"{_TPU}.tpu_embedding_v3.TPUEmbeddingV2.__init__",
    why="there is no SparseCore, and the error says so",
    when=When.EMULATED,
    since="2.17",
)
def _refuse_sparse_cores(*_: Any, **__: Any) -> None:
    raise NotImplementedError(
        "the emulated TPU has no SparseCore: use tf.tpu.experimental.embedding.TPUEmbedding or "
        "TPUEmbeddingV0"
    )


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


def _shapes(config: bytes) -> list[list[int]]:
    """Return the shape of each feature's activations."""
    found = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.FromString(config)
    return [
        [*feature.input_shape, found.table_descriptor[feature.table_id].dimension]
        for feature in found.feature_descriptor
    ]
