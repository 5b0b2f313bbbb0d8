"""The operations of a TPUEmbedding, which call the engine of the emulated TPU from the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tpulint.runtime import emulator
from tpulint.runtime.embedding.engine import Engine, Starved
from tpulint.runtime.emulate.system import current_state
from tpulint.runtime.errors import DeadlockError, EmbeddingError, LostVariableError
from tpulint.runtime.execute import exchanges
from tpulint.runtime.execute.raising import after_failures, report_internal_errors, token_for
from tpulint.runtime.execute.waiting import explain_wait
from tpulint.runtime.extract.region import Operation, Tensor
from tpulint.runtime.mark.scratch_graph import ScratchGraph
from tpulint.runtime.outside import outside_compilation
from tpulint.runtime.source_location import users_place
from tpulint.runtime.tensorflow_internals import graphs
from tpulint.runtime.tensorflow_internals.operations import runs_independently

_NO_BATCH = "waits for embedding activations, and no batch is enqueued for its core"


class _EngineSlot:
    """The place of the emulated TPU for its engine, which a TPUEmbedding sets up."""

    engine: Engine | None = None


def current_engine() -> Engine | None:
    """Return the engine, lost or not, that a TPUEmbedding has set up."""
    return emulator.current_part(_EngineSlot).engine


def is_set_up() -> bool:
    """Return whether a TPUEmbedding has set up the engine."""
    engine = current_engine()
    return engine is not None and not engine.memory.is_cleared


def set_up(config: Any) -> None:
    """Set up the engine as `config`, a TPUEmbeddingConfiguration, says."""
    memory = current_state().table_memory
    emulator.current_part(_EngineSlot).engine = Engine(config, memory)


def load(variables: dict[str, dict[str, Any]]) -> None:
    """Load the tables from the host's sharded variables, by table and slot."""
    for table, slots in variables.items():
        _engine().load(table, {name: one.variables[0].numpy() for name, one in slots.items()})


def retrieve(variables: dict[str, dict[str, Any]]) -> None:
    """Store the tables in the host's sharded variables."""
    for table, slots in variables.items():
        for name, value in _engine().retrieve(table).items():
            slots[name].variables[0].assign(value)


def enqueue(
    indices: Sequence[Tensor],
    ids: Sequence[Tensor],
    weights: Sequence[Tensor],
    mode: Tensor,
    ordinal: int,
    combiners: Sequence[str],
) -> Operation | None:
    """Enqueue a batch for the core `ordinal`, or inside a computation for the replica's own."""
    engine, count, place = _engine(), len(ids), users_place()

    def put(mode: Any, *arrays: Any) -> Any:
        features = list(
            zip(arrays[:count], arrays[count : 2 * count], arrays[2 * count :], strict=True)
        )
        return np.int64(engine.enqueue(combiners, features, training=mode != b"inference"))

    core = _own_core() if ordinal < 0 else tf.constant(ordinal)
    batch = [tf.convert_to_tensor(mode), *indices, *ids, *weights]
    handle = _queue_of(engine, core) if ordinal < 0 else _queue(engine, ordinal)
    done = exchanges.enqueue(handle, [_called(engine, put, batch, tf.int64, place)])
    if done is not None:
        runs_independently(done)
    return done


def activations(shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return the activations of the replica's next batch, of `shapes`."""
    engine, place = _engine(), users_place()

    def expect(core: Any) -> bool:
        engine.expect(int(core))
        return True

    def take(core: Any, number: Any) -> list[Any]:
        return engine.activations(int(core), int(number))

    def host(core: Tensor) -> list[Tensor]:
        with tf.control_dependencies([_called(engine, expect, [core], tf.bool, place)]):
            (number,) = exchanges.dequeue(_queue_of(engine, core), [tf.int64])
        explain_wait(number.op, _NO_BATCH, "TPU709")
        found = _called(engine, take, [core, number], [tf.float32] * len(shapes), place)
        return [tf.ensure_shape(one, shape) for one, shape in zip(found, shapes, strict=True)]

    after_failures(_marked_graph(), engine.forget_failed_step)
    return list(outside_compilation(host, _own_core()))


def send_gradients(gradients: Sequence[Tensor], rates: Sequence[Tensor]) -> Operation:
    """Send the gradients of the replica's last batch, and the dynamic learning rates."""
    engine, count, place = _engine(), len(gradients), users_place()

    def send(core: Any, *given: Any) -> bool:
        engine.gradients(int(core), given[:count], given[count:])
        return True

    def host(core: Tensor, *given: Tensor) -> Tensor:
        return _called(engine, send, [core, *given], tf.bool, place)

    after_failures(_marked_graph(), engine.forget_failed_step)
    return outside_compilation(host, _own_core(), *gradients, *rates).op


def _queue(engine: Engine, core: int) -> Tensor:
    """Return the queue of the numbers of the batches for `core`."""
    return exchanges.make_queue([tf.int64], f"tpulint_embedding_{engine.number}_{core}")


def _queue_of(engine: Engine, core: Tensor) -> Tensor:
    """Return the queue of the core whose number the tensor `core` has."""
    found = tf.stack([_queue(engine, number) for number in range(max(_cores()) + 1)])
    return tf.raw_ops.Gather(params=found, indices=core)


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
    given: Sequence[Tensor],
    kinds: Any,
    place: Any,
) -> Any:
    """Return the results of `function` of the values of `given`, called when it is reached."""

    def call(*values: Any) -> Any:
        if engine.memory.is_cleared:
            raise token_for(_lost(engine))
        try:
            return function(*values)
        except Starved as error:
            raise token_for(DeadlockError(str(error), place=place, rule="TPU709")) from error
        except ValueError as error:
            raise token_for(EmbeddingError(str(error), place=place)) from error

    return tf.numpy_function(report_internal_errors(call), list(given), kinds, stateful=True)
