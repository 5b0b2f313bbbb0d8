"""Run a module as a program whose runs can be compared.

    python scripts/gallery_launch.py [--mirrored N | --by-hand N | --placed N] MODULE [ARGUMENT...]

The files of the program stay as they are released. Around them gallery_random.py fixes what is
random, so that two runs differ in nothing but what computes them. With `--mirrored N` a
`TPUStrategy` is a `MirroredStrategy` over N virtual CPUs; with `--by-hand N` a TPUEstimator trains
as gallery_by_hand.py has it, and with `--placed N` one of Mesh TensorFlow as gallery_mesh.py does.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from typing import Any

from scripts.gallery_random import fix_what_is_random


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mirrored", type=int, metavar="N")
    parser.add_argument("--by-hand", type=int, metavar="N")
    parser.add_argument("--placed", type=int, metavar="N")
    parser.add_argument("module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    fix_what_is_random()
    if options.mirrored:
        _mirror(options.mirrored)
    if options.by_hand:
        from scripts.gallery_by_hand import train_by_hand

        train_by_hand(options.by_hand)
    if options.placed:
        from scripts.gallery_mesh import place_meshes

        place_meshes(options.placed)
    sys.argv = [options.module, *options.arguments]
    if options.module.endswith(".py"):
        runpy.run_path(options.module, run_name="__main__")
    else:
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)


def _mirror(replicas: int) -> None:
    """Give every name of `TPUStrategy` a `MirroredStrategy` over as many virtual CPUs."""
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(replicas)]
    )

    class TPUStrategy:
        """No strategy is an instance of it: Keras asks."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            return tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(replicas)])

    def nothing(*_: Any, **__: Any) -> Any:
        return None

    tf.distribute.TPUStrategy = TPUStrategy
    tf.distribute.experimental.TPUStrategy = TPUStrategy
    tf.distribute.cluster_resolver.TPUClusterResolver = nothing
    tf.config.experimental_connect_to_cluster = nothing
    tf.tpu.experimental.initialize_tpu_system = nothing


if __name__ == "__main__":
    main()
