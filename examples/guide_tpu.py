"""Train a convolutional network as TensorFlow's guide to TPUs does, with Keras' `fit`.

Sound: model, optimizer and metrics are made in the strategy's scope, all batches have one size,
and several steps run in one execution.

    python examples/guide_tpu.py --tpu my-tpu
"""

import argparse

import tensorflow as tf

SIDE = 12
CLASSES = 10


def strokes(examples):
    """Images of noise with a bright row, and the number of that row."""
    labels = tf.random.stateless_uniform([examples], (1, 2), maxval=CLASSES, dtype=tf.int32)
    rows = tf.one_hot(labels, SIDE)[:, :, tf.newaxis, tf.newaxis]
    images = tf.random.stateless_uniform([examples, SIDE, SIDE, 1], (3, 4)) + rows
    return tf.data.Dataset.from_tensor_slices((images / 2.0, labels))


def create_model():
    """A classifier of strokes."""
    return tf.keras.Sequential(
        [
            tf.keras.Input([SIDE, SIDE, 1]),
            tf.keras.layers.Conv2D(8, 3, activation="relu"),
            tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(CLASSES),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpu", default="local")
    parser.add_argument("--examples", type=int, default=60000)
    parser.add_argument("--batch-size", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps-per-execution", type=int, default=50)
    flags = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=flags.tpu)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    steps_per_epoch = flags.examples // flags.batch_size
    train = strokes(flags.examples).repeat().batch(flags.batch_size, drop_remainder=True)
    test = strokes(flags.batch_size * 2).batch(flags.batch_size, drop_remainder=True)
    with strategy.scope():
        model = create_model()
        model.compile(
            optimizer=tf.keras.optimizers.Adam(3e-3),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
            steps_per_execution=flags.steps_per_execution,
        )
    model.fit(
        train.prefetch(tf.data.AUTOTUNE),
        epochs=flags.epochs,
        steps_per_epoch=steps_per_epoch,
        validation_data=test,
        validation_steps=2,
        shuffle=False,
        verbose=2,
    )
    loss, accuracy = model.evaluate(test, steps=2, verbose=0)
    print(f"test loss {loss:.7f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
