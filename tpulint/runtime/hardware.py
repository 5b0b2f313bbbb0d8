"""The hardware that does the work: an emulated TPU, a real one, or this CPU without emulation."""

from __future__ import annotations

import tensorflow as tf

from tpulint.runtime.emulate.system import current_system
from tpulint.runtime.tensorflow_internals import graphs


def real_tpu() -> bool:
    """Return whether TensorFlow sees a TPU, of this machine or of a cluster it is connected to."""
    if current_system() is not None:
        return False
    if graphs.is_context_initialized():
        return bool(tf.config.list_logical_devices("TPU"))
    # Listing logical devices would freeze the configuration of devices that the user may change.
    return bool(tf.config.list_physical_devices("TPU"))
