"""Let a Mesh TensorFlow program that knows only TPUs compute its mesh on one CPU.

Mesh TensorFlow does that with its own `PlacementMeshImpl`; its programs for pre-training ask for it
themselves where `use_tpu` is false. Nothing in these programs orders the reading of the global step
for the learning rate and its increment: XLA compiles the increment first, a CPU reads first.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import tensorflow as tf

mtf: Any = import_module("mesh_tensorflow")


def place_meshes(replicas: int) -> None:
    """Make every TPUEstimator train so from now on."""

    def placed(shape: Any, layout: Any, devices: Any, *_: Any, **__: Any) -> Any:
        return mtf.placement_mesh_impl.PlacementMeshImpl(shape, layout, devices)

    mtf.simd_mesh_impl.SimdMeshImpl = placed
    context = SimpleNamespace(
        num_hosts=1,
        num_replicas=replicas,
        device_assignment=None,
        tpu_host_placement_function=lambda host_id: "",
    )
    read_step = tf.compat.v1.train.get_or_create_global_step

    def counted_step() -> Any:
        return read_step() + 1

    estimator = tf.compat.v1.estimator.tpu.TPUEstimator
    construct = estimator.__init__

    def on_cpu(self: Any, *args: Any, model_fn: Any, **kwargs: Any) -> None:
        def with_context(features: Any, labels: Any, mode: str, params: Any) -> Any:
            with patch("tensorflow.compat.v1.train.get_or_create_global_step", counted_step):
                return model_fn(features, labels, mode, {**params, "context": context})

        construct(self, *args, **{**kwargs, "use_tpu": False}, model_fn=with_context)

    estimator.__init__ = on_cpu
