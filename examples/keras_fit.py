"""Train a small Keras model with `fit` under TPUStrategy.

Sound: the model is made and compiled in the strategy's scope, and all batches have one size.

    python examples/keras_fit.py --tpu my-tpu
"""

import argparse

import tensorflow as tf

PIXELS = 28 * 28
CLASSES = 10


def connect(name):
    """The strategy of the TPU called `name`."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


def digits(examples, batch_size):
    """Synthetic digits: noise, and one bright pixel that tells the class."""
    labels = tf.random.stateless_uniform([examples], (1, 2), maxval=CLASSES, dtype=tf.int32)
    images = 0.1 * tf.random.stateless_normal([examples, PIXELS], (3, 4))
    images += tf.one_hot(labels, PIXELS)
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    return dataset.shuffle(examples, seed=5).batch(batch_size, drop_remainder=True).prefetch(2)


def classifier():
    """Logits of each class, from the pixels."""
    return tf.keras.Sequential(
        [
            tf.keras.Input([PIXELS]),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dropout(0.1),
            tf.keras.layers.Dense(CLASSES),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpu", default="local")
    parser.add_argument("--examples", type=int, default=60000)
    parser.add_argument("--batch-size-per-core", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=5)
    flags = parser.parse_args()

    strategy = connect(flags.tpu)
    batch_size = flags.batch_size_per_core * strategy.num_replicas_in_sync
    with strategy.scope():
        model = classifier()
        model.compile(
            optimizer=tf.keras.optimizers.Adam(1e-2),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
            steps_per_execution=4,
        )
    digits_of_an_epoch = digits(flags.examples, batch_size)
    history = model.fit(digits_of_an_epoch, epochs=flags.epochs, shuffle=False, verbose=2)
    evaluated = model.evaluate(digits_of_an_epoch, return_dict=True, verbose=0)
    print("losses", [round(loss, 3) for loss in history.history["loss"]])
    print("accuracy", round(evaluated["accuracy"], 3))


if __name__ == "__main__":
    main()
