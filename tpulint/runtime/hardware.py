"""Whether a real TPU is attached: then TensorFlow's own runtime does the work."""

from __future__ import annotations

import tensorflow as tf

from tpulint.runtime import tensorflow_internals as tfi


def real_tpu() -> bool:
    """Whether TensorFlow sees a TPU, of this machine or of a cluster it is connected to."""
    if tfi.is_context_initialized():
        return bool(tf.config.list_logical_devices("TPU"))
    # Listing logical devices would freeze the configuration of devices that the user may change.
    return bool(tf.config.list_physical_devices("TPU"))
