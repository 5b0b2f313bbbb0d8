"""The host cluster to which the gradient of a host operation belongs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tpulint.runtime.errors import GradientColocationError
from tpulint.runtime.mark import attributes
from tpulint.runtime.mark.clusters import HostClusters
from tpulint.runtime.mark.function_cluster import OutsideCompilationV2Context
from tpulint.runtime.tensorflow_internals import graphs

_NO_UID = "__unsupported__"


class GradientColocation:
    """Colocation that puts the gradient of an operation of cluster "2" into "2.gradients/uid".

    The root and the uid of the call to gradients make the name. So the gradients that one call
    takes of one cluster are in one cluster, and those that another call takes are in another.
    A gradient of a gradient keeps the root: all operations of that second call that stem from
    cluster "2" share a cluster, else two clusters would wait for each other.

    TensorFlow calls this only under `colocate_gradients_with_ops=True`.
    """

    def __init__(self, clusters: HostClusters) -> None:
        self._clusters = clusters
        self._colocated: list[Any] = []
        self._opened_for: Any = None
        self._function_context: Any = None

    def enter(self, op: Any, uid: str) -> None:
        """Mark the operations that follow as the gradient of `op`, taken by the call `uid`.

        Raises:
            NotImplementedError: `op` is in a cluster and there is no uid, or another
                operation's gradient is open.
        """
        if op is None:
            return
        if graphs.context_of(graphs.default_graph()) is None:
            self._enter_in_function(op, uid)
            return
        self._colocated.append(op)
        if self._clusters.open:
            return
        cluster = _cluster_of(op)
        if cluster is None:
            return
        if self._opened_for:
            raise NotImplementedError(
                "Cannot nest gradient colocation operations outside compilation"
            )
        if uid == _NO_UID:
            raise NotImplementedError("No gradient_uid calling gradient within outside_compilation")
        self._opened_for = op
        self._clusters.enter(_gradient_cluster(cluster, uid))

    def exit(self, op: Any, uid: str) -> None:
        """End the gradient of `op`.

        Raises:
            GradientColocationError: another operation's gradient is open, and a function without
                a context of its own is built: TensorFlow has an assertion there
                (TPUReplicateContext.ExitGradientColocation, tpu_replication.py).
            tf.errors.InternalError: `op` is not the operation that was entered last.
        """
        if op is None:
            return
        if graphs.context_of(graphs.default_graph()) is None:
            if self._function_context is not None:
                raise GradientColocationError(
                    f"The gradient of {op.name} is taken in a function while the gradient of an"
                    " operation outside compilation is open: TensorFlow asserts that none is"
                )
            return
        if self._function_context is not None:
            self._function_context.Exit()
            self._function_context = None
            return
        if not self._colocated:
            raise tf.errors.InternalError(
                op.node_def,
                op,
                f"Badly nested gradient colocation: empty stack when popping Op {op.name}",
            )
        last = self._colocated.pop()
        if op is not last:
            raise tf.errors.InternalError(
                op.node_def,
                op,
                f"Badly nested gradient colocation, expected {last}, got {op.name}",
            )
        if op is self._opened_for:
            self._opened_for = None
            self._clusters.exit()

    def _enter_in_function(self, op: Any, uid: str) -> None:
        # A function's graph is not in the computation's context: only the mark is set there.
        cluster = _cluster_of(op)
        if cluster is None:
            return
        self._function_context = OutsideCompilationV2Context(_gradient_cluster(cluster, uid))
        self._function_context.Enter()


def _cluster_of(op: Any) -> str | None:
    try:
        value: bytes = op.get_attr(attributes.OUTSIDE)
    except ValueError:
        return None
    return value.decode("ascii")


def _gradient_cluster(cluster: str, uid: str) -> str:
    return f"{cluster.split('.')[0]}.{uid}"
