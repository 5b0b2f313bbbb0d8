"""TPU programs on a plain CPU: the names of `tf.compat.v1.tpu`, executed, with no TPU.

    import tpulint.runtime as tpu

    tpu.replicate(step, [[x0], [x1]])

The names, signatures and behaviour are TensorFlow's: the same marked graph, the same errors, host
clusters on the host, device segments compiled by XLA. A program that would hang on a TPU raises an
error here. Each error and warning names its rule of the catalogue. See docs/runtime.md.
The import leaves TensorFlow as it is. The first use of one of these functions, or `install()`,
replaces what docs/patches.md lists.
"""

from __future__ import annotations

import tensorflow as _tf

from tpulint.runtime import errors
from tpulint.runtime import patches as _patches  # noqa: F401  (declared there)
from tpulint.runtime.emulated import emulated_tpu
from tpulint.runtime.emulator import options
from tpulint.runtime.errors import *  # noqa: F403
from tpulint.runtime.execute.probes import Profile, profile
from tpulint.runtime.mark.context import TPUReplicateContext
from tpulint.runtime.outside import experimental_map_outside_compilation, outside_compilation
from tpulint.runtime.pods.workers import start_workers
from tpulint.runtime.replicate import (
    batch_parallel,
    replicate,
    rewrite,
    shard,
    split_compile_and_replicate,
    split_compile_and_shard,
)
from tpulint.runtime.results import marked_graph
from tpulint.runtime.tensorflow_internals.patching import install
from tpulint.runtime.tensorflow_internals.tpu import core, training_loop

# Pure Python that works without a TPU: TensorFlow's own.
CrossShardOptimizer = _tf.compat.v1.tpu.CrossShardOptimizer
PaddingSpec = _tf.compat.v1.tpu.PaddingSpec
XLAOptions = _tf.tpu.XLAOptions
bfloat16_scope = _tf.compat.v1.tpu.bfloat16_scope
experimental = _tf.compat.v1.tpu.experimental
TPUStrategy = _tf.distribute.TPUStrategy
cross_replica_sum = _tf.compat.v1.tpu.cross_replica_sum

__all__ = [
    "CrossShardOptimizer",
    "PaddingSpec",
    "Profile",
    "TPUReplicateContext",
    "TPUStrategy",
    "XLAOptions",
    "batch_parallel",
    "bfloat16_scope",
    "core",
    "cross_replica_sum",
    "emulated_tpu",
    "errors",
    "experimental",
    "experimental_map_outside_compilation",
    "install",
    "marked_graph",
    "options",
    "outside_compilation",
    "profile",
    "replicate",
    "rewrite",
    "shard",
    "split_compile_and_replicate",
    "split_compile_and_shard",
    "start_workers",
    "training_loop",
    *errors.__all__,
]
