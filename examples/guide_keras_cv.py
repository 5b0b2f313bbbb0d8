"""Train an image classifier of KerasCV, as its guide to classification does.

Sound: images are augmented on the host, in the input pipeline, and reach the device in batches of
one size; backbone and optimizer are made in the strategy's scope.

    python examples/guide_keras_cv.py --tpu my-tpu
"""

import argparse

import keras_cv
import tensorflow as tf

SIDE = 32
CLASSES = 4


def patches(count):
    """Noise with one bright quarter, and the number of that quarter as one-hot labels."""
    numbers = tf.range(count) % CLASSES
    noise = tf.random.stateless_uniform([count, SIDE, SIDE, 3], (2, 3), maxval=200.0)
    corners = tf.reshape(tf.one_hot(numbers, CLASSES), [count, 2, 2, 1])
    bright = tf.image.resize(corners, [SIDE, SIDE], method="nearest") * 55.0
    return tf.data.Dataset.from_tensor_slices(
        {"images": noise + bright, "labels": tf.one_hot(numbers, CLASSES)}
    )


def pairs(examples):
    """Images between 0 and 1, and labels, as `fit` takes them."""
    return examples["images"] / 255.0, examples["labels"]


def create_model():
    """A small network of residual blocks with a head for `CLASSES` classes."""
    backbone = keras_cv.models.ResNetBackbone(
        stackwise_filters=[8, 16],
        stackwise_blocks=[1, 1],
        stackwise_strides=[1, 2],
        include_rescaling=False,
        input_shape=(SIDE, SIDE, 3),
    )
    return keras_cv.models.ImageClassifier(backbone=backbone, num_classes=CLASSES)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpu", default="local")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=100, help="in each epoch")
    parser.add_argument("--epochs", type=int, default=2)
    flags = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=flags.tpu)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    flip = keras_cv.layers.RandomFlip(seed=1)
    train = patches(flags.batch_size * flags.steps).repeat()
    train = train.batch(flags.batch_size, drop_remainder=True)
    augmented = train.map(flip).map(pairs).prefetch(tf.data.AUTOTUNE)
    with strategy.scope():
        model = create_model()
        model.compile(
            optimizer=tf.keras.optimizers.SGD(flags.learning_rate, momentum=0.9),
            loss=tf.keras.losses.CategoricalCrossentropy(),
            metrics=["accuracy"],
        )
    history = model.fit(
        augmented, epochs=flags.epochs, steps_per_epoch=flags.steps, shuffle=False, verbose=2
    )
    print(f"loss {history.history['loss'][-1]:.7f}")


if __name__ == "__main__":
    main()
