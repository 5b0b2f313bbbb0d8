"""Take from a program what is random in it, so that two runs of it can be compared.

The seeds are fixed, datasets keep the order of their examples, and dropout drops nothing: a TPU
draws other random numbers than a CPU, and each replica its own.
"""

from __future__ import annotations

import random
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def fix_what_is_random() -> None:
    """Do so for the program that this process will run."""
    import numpy as np
    import tensorflow as tf

    random.seed(1)
    np.random.seed(1)
    tf.random.set_seed(1)
    for dataset in (tf.data.Dataset, tf.compat.v1.data.Dataset):
        dataset.shuffle = _as_it_is
    for experimental in (tf.data.experimental, tf.compat.v1.data.experimental):
        experimental.parallel_interleave = _keep_order(experimental.parallel_interleave)
    modules = [tf.nn, tf.compat.v1.nn, tf.compat.v2.nn]
    if find_spec("mesh_tensorflow"):
        modules.append(import_module("mesh_tensorflow"))
    for module in modules:
        module.dropout = _as_it_is
    tf.keras.layers.Dropout.call = lambda self, inputs, training=None: inputs


def _as_it_is(value: Any, *_: Any, **__: Any) -> Any:
    return value


def _keep_order(parallel_interleave: Any) -> Any:
    def interleave(*args: Any, **kwargs: Any) -> Any:
        return parallel_interleave(*args, **{**kwargs, "sloppy": False})

    return interleave
