"""TensorFlow's operations of a TPUEmbedding, replaced by calls of the emulated TPU's engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.embedding.engine import Engine, EngineDeadlock
from tpulint.runtime.emulate.system import current_state
from tpulint.runtime.errors import DeadlockError, EmbeddingError, LostVariableError
from tpulint.runtime.execute import exchanges
from tpulint.runtime.execute.raising import after_failures, report_internal_errors, token_for
from tpulint.runtime.execute.waiting import explain_wait
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.mark.scratch_graph import ScratchGraph
from tpulint.runtime.outside import outside_compilation
from tpulint.runtime.pods.devices import current_pod
from tpulint.runtime.source_location import user_location
from tpulint.runtime.tensorflow_internals import graphs
from tpulint.runtime.tensorflow_internals.modules import (
    tpu_embedding_configuration_pb2,
    tpu_embedding_v2_utils,
)
from tpulint.runtime.tensorflow_internals.operations import runs_independently
from tpulint.runtime.tensorflow_internals.patching import emulated_patch

_TPU = "tensorflow.python.tpu"
_OFFERED = ("SGD", "Adagrad", "Adam", "FTRL")
_IN_MEMORY = "the embedding tables are in the host's memory: the operations have no kernel on a CPU"
_NO_BATCH = "waits for embedding activations, and no batch is enqueued for its core"


class _EngineSlot:
    """The place of the emulated TPU for its engine, which a TPUEmbedding sets up."""

    engine: Engine | None = None


def current_engine() -> Engine | None:
    """Return the engine, lost or not, that a TPUEmbedding has set up."""
    return emulator.current_part(_EngineSlot).engine


@emulated_patch(f"{_TPU}.ops.tpu_ops.is_tpu_embedding_initialized", why=_IN_MEMORY)
def _is_set_up(_: Any) -> bool:
    engine = current_engine()
    return engine is not None and not engine.memory.is_cleared


@emulated_patch(f"{_TPU}.tpu.initialize_system_for_tpu_embedding", why=_IN_MEMORY)
def _set_up(_: Any, config: Any = None, *args: Any, **kwargs: Any) -> None:
    """Set up the engine as `config`, a TPUEmbeddingConfiguration, says."""
    del args, kwargs
    memory = current_state().table_memory
    emulator.current_part(_EngineSlot).engine = Engine(config, memory)


@emulated_patch(f"{_TPU}.tpu_embedding_v2._load_variables_impl", why=_IN_MEMORY)
def _load(_: Any, config: Any, hosts: Any, variables: Any, tables: Any) -> None:
    """Load the tables from the host's sharded variables, by table and slot."""
    del config, hosts, tables
    with tf.init_scope():
        for table, slots in variables.items():
            values = {name: variable.variables[0].numpy() for name, variable in slots.items()}
            _engine().load(table, values)


@emulated_patch(f"{_TPU}.tpu_embedding_v2._retrieve_variables_impl", why=_IN_MEMORY)
def _retrieve(_: Any, config: Any, hosts: Any, variables: Any, tables: Any) -> None:
    """Store the tables in the host's sharded variables."""
    del config, hosts, tables
    with tf.init_scope():
        for table, slots in variables.items():
            for name, value in _engine().retrieve(table).items():
                slots[name].variables[0].assign(value)


@emulated_patch(f"{_TPU}.ops.tpu_ops.enqueue_tpu_embedding_arbitrary_tensor_batch", why=_IN_MEMORY)
def _enqueue(
    _: Any,
    sample_indices_or_row_splits: Sequence[Tensor],
    embedding_indices: Sequence[Tensor],
    aggregation_weights: Sequence[Tensor],
    mode_override: Any,
    device_ordinal: int = -1,
    combiners: Sequence[str] = (),
    name: Any = None,
) -> Operation | None:
    """Enqueue a batch for the core of that ordinal, or inside a computation for its own."""
    del name
    engine, count, place = _engine(), len(embedding_indices), user_location()

    def put(mode: Any, *arrays: Any) -> Any:
        features = list(
            zip(arrays[:count], arrays[count : 2 * count], arrays[2 * count :], strict=True)
        )
        return np.int64(engine.enqueue(combiners, features, training=mode != b"inference"))

    batch = [*sample_indices_or_row_splits, *embedding_indices, *aggregation_weights]
    # In a computation the ordinal is unknown: each replica feeds its own core.
    is_inside = device_ordinal < 0
    handle = _queue_of(engine, _own_core()) if is_inside else _queue(engine, device_ordinal)
    mode = tf.convert_to_tensor(mode_override)
    done = exchanges.enqueue(handle, [_called(engine, put, [mode, *batch], tf.int64, place)])
    if done is not None:
        runs_independently(done)
    return done


@emulated_patch(f"{_TPU}.ops.tpu_ops.recv_tpu_embedding_activations", why=_IN_MEMORY)
def _receive_activations(_: Any, config: bytes, **kwargs: Any) -> list[Tensor]:
    """Return the activations of the replica's next batch."""
    del kwargs
    engine, place = _engine(), user_location()
    settings = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.FromString(config)
    shapes = [
        [*feature.input_shape, settings.table_descriptor[feature.table_id].dimension]
        for feature in settings.feature_descriptor
    ]

    def expect(core: Any) -> bool:
        engine.expect(int(core))
        return True

    def take(core: Any, number: Any) -> list[Any]:
        return engine.activations(int(core), int(number))

    def host(core: Tensor) -> list[Tensor]:
        with tf.control_dependencies([_called(engine, expect, [core], tf.bool, place)]):
            (number,) = exchanges.dequeue(_queue_of(engine, core), [tf.int64])
        explain_wait(number.op, _NO_BATCH, "TPU709")
        tensors = _called(engine, take, [core, number], [tf.float32] * len(shapes), place)
        return [
            tf.ensure_shape(tensor, shape) for tensor, shape in zip(tensors, shapes, strict=True)
        ]

    # A step that fails may owe gradients, for which the next batch would wait.
    after_failures(_marked_graph(), engine.forget_failed_step)
    return list(outside_compilation(host, _own_core()))


@emulated_patch(f"{_TPU}.ops.tpu_ops.send_tpu_embedding_gradients", why=_IN_MEMORY)
def _send_gradients(
    _: Any, inputs: Sequence[Tensor], learning_rates: Sequence[Tensor], config: Any, **kwargs: Any
) -> Operation:
    """Send the gradients of the replica's last batch, and the dynamic learning rates."""
    del config, kwargs
    engine, count, place = _engine(), len(inputs), user_location()

    def send(core: Any, *arrays: Any) -> bool:
        engine.gradients(int(core), arrays[:count], arrays[count:])
        return True

    def host(core: Tensor, *tensors: Tensor) -> Tensor:
        return _called(engine, send, [core, *tensors], tf.bool, place)

    after_failures(_marked_graph(), engine.forget_failed_step)
    return outside_compilation(host, _own_core(), *inputs, *learning_rates).op


def _queue(engine: Engine, core: int) -> Tensor:
    """Return the queue of the numbers of the batches for `core`."""
    return exchanges.make_queue([tf.int64], f"tpulint_embedding_{engine.number}_{core}")


def _queue_of(engine: Engine, core: Tensor) -> Tensor:
    """Return the queue of the core whose number the tensor `core` has."""
    queues = tf.stack([_queue(engine, number) for number in range(max(_cores()) + 1)])
    return tf.raw_ops.Gather(params=queues, indices=core)


def _engine() -> Engine:
    engine = current_engine()
    if engine is None:
        raise tf.errors.FailedPreconditionError(
            None, None, "the TPU is not initialized for embeddings: create the TPUEmbedding again"
        )
    if engine.memory.is_cleared:
        raise _lost(engine)
    return engine


def _lost(engine: Engine) -> LostVariableError:
    return LostVariableError(
        "Could not find the embedding tables on the TPU: they were lost when the TPU system was "
        "initialized again",
        place=engine.memory.cleared_at,
    )


def _marked_graph() -> Any:
    """Return the graph in which the computation that is being built is marked."""
    around = list(graphs.graphs_outwards(graphs.default_graph()))
    return next((graph for graph in around if isinstance(graph, ScratchGraph)), around[-1])


def _own_core() -> Tensor:
    """Return the number of the core of the replica whose computation is being built."""
    context = tf.distribute.get_replica_context()
    if context is None:
        raise RuntimeError("dequeue and apply_gradients run on the TPU: call them in strategy.run")
    return tf.gather(tf.constant(_cores()), context.replica_id_in_sync_group)


def _cores() -> list[int]:
    """Return the number of each replica's core."""
    devices = tf.distribute.get_strategy().extended.worker_devices
    return [tf.DeviceSpec.from_string(device).device_index for device in devices]


def _called(
    engine: Engine,
    function: Callable[..., Any],
    arguments: Sequence[Tensor],
    kinds: Any,
    place: Any,
) -> Any:
    """Return the results of `function` of the values of `arguments`, called when it is reached."""

    def call(*values: Any) -> Any:
        if engine.memory.is_cleared:
            raise token_for(_lost(engine))
        try:
            return function(*values)
        except EngineDeadlock as error:
            raise token_for(DeadlockError(str(error), place=place, rule="TPU709")) from error
        except ValueError as error:
            raise token_for(EmbeddingError(str(error), place=place)) from error

    return tf.numpy_function(report_internal_errors(call), list(arguments), kinds, stateful=True)


@emulated_patch(
    f"{_TPU}.tpu_embedding_v2.TPUEmbedding.__init__",
    why="what the emulated embedding engine does not offer is refused at once",
)
def _initialize(original: Callable[..., None], self: Any, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    if not self._using_tpu:
        return
    if current_pod().is_remote:
        _refuse("a pod of several hosts")
    offered = tuple(getattr(tpu_embedding_v2_utils, name) for name in _OFFERED)
    if self._pipeline_execution_with_tensor_core:
        _refuse("pipeline_execution_with_tensor_core=True")
    if getattr(self, "_num_cores_per_replica", None) not in (None, 1):
        _refuse("several cores a replica")
    for table in self._table_config:
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


@emulated_patch(
    f"{_TPU}.tpu_embedding.TPUEmbedding.__init__",
    why="there is no embedding hardware for sessions, and the error says so",
    until="2.15",
)
def _refuse_sessions(*_: Any, **__: Any) -> None:
    raise NotImplementedError(
        "the emulated TPU has no embedding hardware for sessions: this TPUEmbedding, and so "
        "TPUEstimator's embedding_config_spec, needs a TPU, or use_tpu=False, with which the "
        "tables are plain variables"
    )


@emulated_patch(
    f"{_TPU}.tpu_embedding_v3.TPUEmbeddingV2.__init__",
    why="there is no SparseCore, and the error says so",
    since="2.17",
)
def _refuse_sparse_cores(*_: Any, **__: Any) -> None:
    raise NotImplementedError(
        "the emulated TPU has no SparseCore: use tf.tpu.experimental.embedding.TPUEmbedding or "
        "TPUEmbeddingV0"
    )
