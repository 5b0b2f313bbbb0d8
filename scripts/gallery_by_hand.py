"""Make a TPUEstimator compute on the CPU, in one graph, what its replicas compute on a TPU.

The batch is cut into as many shards as there are replicas, `model_fn` builds a tower over each
with the same variables, and `CrossShardOptimizer` adds up the towers' gradients. No tpulint here.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

v1: Any = tf.compat.v1


def train_by_hand(replicas: int) -> None:
    """Make every TPUEstimator train so from now on."""
    towers: list[Any] = []

    class CrossShardOptimizer(v1.train.Optimizer):  # type: ignore[misc]
        """An optimizer that applies the towers' gradients when the last of them is built."""

        def __init__(self, opt: Any, reduction: str = "weighted_mean", **_: Any) -> None:
            super().__init__(False, "CrossShardOptimizer")
            self._optimizer = opt
            # The mean of the losses is that of the shards, and the gradients are added up.
            self._share = 1.0 if reduction == v1.losses.Reduction.SUM else 1.0 / replicas

        def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
            return self._optimizer.compute_gradients(loss * self._share, var_list, **kwargs)

        def apply_gradients(
            self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
        ) -> Any:
            towers.append(list(grads_and_vars))
            if len(towers) < replicas:
                return tf.no_op()
            added = [_added(copies) for copies in zip(*towers, strict=True)]
            towers.clear()
            return self._optimizer.apply_gradients(added, global_step, name)

        def get_slot(self, *args: Any) -> Any:
            return self._optimizer.get_slot(*args)

        def get_slot_names(self, *args: Any) -> Any:
            return self._optimizer.get_slot_names(*args)

        def variables(self) -> Any:
            return self._optimizer.variables()

    v1.tpu.CrossShardOptimizer = CrossShardOptimizer
    estimator = v1.estimator.tpu.TPUEstimator
    construct = estimator.__init__

    def with_towers(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs["use_tpu"] = False
        construct(self, *args, **kwargs)

    estimator.__init__ = with_towers
    call = estimator._call_model_fn

    def call_model_fn(self: Any, features: Any, labels: Any, mode: str, config: Any) -> Any:
        if mode != v1.estimator.ModeKeys.TRAIN:
            return call(self, features, labels, mode, config)
        specs = []
        for shard in range(replicas):
            own = [_shard(shard, replicas, batch) for batch in (features, labels)]
            # Its name scopes are its own; the names of its variables are those of the others.
            with v1.variable_scope(v1.get_variable_scope(), reuse=v1.AUTO_REUSE):
                specs.append(call(self, *own, mode, config))
        # TPUEstimator prints the loss of its first replica.
        return specs[-1]._replace(loss=specs[0].loss)

    estimator._call_model_fn = call_model_fn


def _added(copies: Any) -> tuple[Any, Any]:
    """Return the sum of one variable's gradients over the towers, and the variable."""
    gradients = [gradient for gradient, _ in copies]
    variable = copies[0][1]
    return (None if gradients[0] is None else tf.add_n(gradients)), variable


def _shard(shard: int, replicas: int, whole: Any) -> Any:
    if whole is None:
        return None
    return tf.nest.map_structure(lambda tensor: tf.split(tensor, replicas)[shard], whole)
