"""A training program under a strategy, and what its steps take; one process for each run.

    python -m benchmarks.strategy_program MODEL STRATEGY REPLICAS [HOSTS]

MODEL is resnet, transformer or sums; STRATEGY is tpu (TPUStrategy on the emulated TPU) or mirrored
(MirroredStrategy on as many virtual CPU devices); HOSTS are those of the emulated TPU. Prints JSON:
seconds of the first step and of a later one (the median, and the shortest), its processor seconds,
and the peak of memory in gigabytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

EXAMPLES = 4  # of each replica in a step
STEPS = 10
WORDS, LENGTH, WIDTH = 1000, 64, 128


def resnet() -> Any:
    """Return ResNet-20 for images of 32x32."""
    keras = tf.keras
    inputs = keras.Input((32, 32, 3))
    x = keras.layers.Conv2D(16, 3, padding="same")(inputs)
    for stage, filters in enumerate((16, 32, 64)):
        for block in range(3):
            strides = 2 if stage and not block else 1
            y = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
            y = keras.layers.Conv2D(filters, 3, strides, padding="same")(y)
            y = keras.layers.ReLU()(keras.layers.BatchNormalization()(y))
            y = keras.layers.Conv2D(filters, 3, padding="same")(y)
            if strides == 2:
                x = keras.layers.Conv2D(filters, 1, strides)(x)
            x = keras.layers.Add()([x, y])
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.ReLU()(x))
    return keras.Model(inputs, keras.layers.Dense(10)(x))


def transformer() -> Any:
    """Return an encoder of four layers for the tokens of a text."""
    keras = tf.keras
    inputs = keras.Input((LENGTH,), dtype=tf.int32)
    x = keras.layers.Embedding(WORDS, WIDTH)(inputs)
    for _ in range(4):
        y = keras.layers.MultiHeadAttention(4, WIDTH // 4)(x, x)
        x = keras.layers.LayerNormalization()(keras.layers.Add()([x, y]))
        y = keras.layers.Dense(WIDTH)(keras.layers.Dense(4 * WIDTH, activation="gelu")(x))
        x = keras.layers.LayerNormalization()(keras.layers.Add()([x, y]))
    return keras.Model(inputs, keras.layers.Dense(WORDS)(x))


def training(strategy: Any, model_of: Callable[[], Any], inputs: Any, labels: Any) -> Any:
    """Return a function that makes one step of training in all replicas."""
    with strategy.scope():
        model = model_of()
        optimizer = tf.keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    def in_replica() -> Any:
        with tf.GradientTape() as tape:
            logits = model(inputs, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    def step() -> Any:
        return strategy.reduce("MEAN", strategy.run(in_replica), axis=None)

    return tf.function(step)


def images() -> tuple[Any, Any]:
    """Return a batch of images and their labels."""
    inputs = tf.random.stateless_normal([EXAMPLES, 32, 32, 3], [1, 2])
    return inputs, tf.range(EXAMPLES) % 10


def texts() -> tuple[Any, Any]:
    """Return a batch of texts, twice."""
    words = tf.random.stateless_uniform([EXAMPLES, LENGTH], [1, 2], 0, WORDS, tf.int32)
    return words, words


def sums(strategy: Any) -> Any:
    """Return a step of four sums over the replicas: nearly all of it is what each replica costs."""

    def in_replica() -> Any:
        x = tf.ones([])
        for _ in range(4):
            x = tf.distribute.get_replica_context().all_reduce("SUM", x) * 0.5
        return x

    def step() -> Any:
        return strategy.experimental_local_results(strategy.run(in_replica))

    return tf.function(step)


MODELS = {"resnet": (resnet, images), "transformer": (transformer, texts)}


def program_of(name: str, strategy: Any) -> Any:
    """Return a step of the program of that name."""
    if name == "sums":
        return sums(strategy)
    model_of, data = MODELS[name]
    return training(strategy, model_of, *data())


def run(build: Callable[[], Any]) -> dict[str, float]:
    """Return the figures of the step that `build` returns."""
    begun = time.perf_counter()
    step = build()
    step()
    first = time.perf_counter() - begun
    later, busy = [], []
    for _ in range(STEPS):
        begun, worked = time.perf_counter(), time.process_time()
        tf.nest.map_structure(lambda value: value.numpy(), step())
        later.append(time.perf_counter() - begun)
        busy.append(time.process_time() - worked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "first": first,
        "step": statistics.median(later),
        "shortest": min(later),
        "busy": statistics.median(busy),
        "gigabytes": peak,
    }


def main(arguments: list[str]) -> None:
    model, kind, count = arguments[0], arguments[1], int(arguments[2])
    hosts = int(arguments[3]) if len(arguments) > 3 else 1
    with contextlib.ExitStack() as stack:
        if kind == "tpu":
            import tpulint.runtime

            workers = (
                tpulint.runtime.start_workers(hosts) if arguments[4:] == ["as_processes"] else ()
            )
            machine = tpulint.runtime.emulated_tpu(count, hosts=hosts, workers=workers)
            stack.enter_context(machine)
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
            tf.config.experimental_connect_to_cluster(resolver)
            tf.tpu.experimental.initialize_tpu_system(resolver)
            strategy = tf.distribute.TPUStrategy(resolver)
        else:
            (device,) = tf.config.list_physical_devices("CPU")
            parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
            tf.config.set_logical_device_configuration(device, parts)
            strategy = tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(count)])
        print(json.dumps(run(lambda: program_of(model, strategy))))


if __name__ == "__main__":
    main(sys.argv[1:])
