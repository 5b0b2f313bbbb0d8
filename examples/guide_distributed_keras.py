"""Train, save and load as TensorFlow's tutorial on distributed training with Keras does.

Sound: batch normalization, a schedule of learning rates and checkpoints, all under TPUStrategy.

    python examples/guide_distributed_keras.py --tpu my-tpu --folder gs://my-bucket/training
"""

import argparse
import os

import numpy as np
import tensorflow as tf

FEATURES = 16
BATCH_SIZE_PER_REPLICA = 8


def sines(examples):
    """Random points, and whether a sine of their sum is positive."""
    points = np.random.RandomState(7).uniform(-1, 1, [examples, FEATURES]).astype(np.float32)
    labels = (np.sin(points.sum(axis=1)) > 0).astype(np.float32)[:, np.newaxis]
    return tf.data.Dataset.from_tensor_slices((points, labels))


def build_and_compile():
    """A small network with batch normalization."""
    model = tf.keras.Sequential(
        [
            tf.keras.Input([FEATURES]),
            tf.keras.layers.Dense(32),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Activation("relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile(
        loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.SGD(momentum=0.9),
        metrics=[tf.keras.metrics.BinaryAccuracy(threshold=0.0, name="accuracy")],
    )
    return model


def decay(epoch):
    """The learning rate of an epoch."""
    return 1e-2 if epoch < 2 else 2e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpu", default="local")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--steps", type=int, default=1000, help="in each epoch")
    parser.add_argument("--epochs", type=int, default=4)
    flags = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=flags.tpu)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
    print("Number of devices:", strategy.num_replicas_in_sync)

    batch_size = BATCH_SIZE_PER_REPLICA * strategy.num_replicas_in_sync
    train = sines(batch_size * flags.steps).cache().shuffle(10000)
    train = train.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    tf.io.gfile.makedirs(flags.folder)
    with strategy.scope():
        model = build_and_compile()
    # Keras 2 writes HDF5 to local files only, and its own format to a bucket.
    ending = ".weights.h5" if tf.keras.__version__ >= "3" else ""
    weights = os.path.join(flags.folder, "epoch_{epoch}" + ending)
    callbacks = [
        tf.keras.callbacks.ModelCheckpoint(weights, save_weights_only=True),
        tf.keras.callbacks.LearningRateScheduler(decay),
    ]
    model.fit(train, epochs=flags.epochs, callbacks=callbacks, verbose=2)

    with strategy.scope():
        loaded = build_and_compile()
    loaded.load_weights(weights.format(epoch=flags.epochs))
    loss, accuracy = loaded.evaluate(train, verbose=0)
    print(f"loss {loss:.7f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
