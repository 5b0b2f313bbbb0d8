"""Train a small GPT-2 of Keras Hub on counted words, as its guide to language models does.

Sound: the backbone, the task and the optimizer are made in the strategy's scope, all batches have
one size, and words become numbers before they reach the device.

    python examples/guide_keras_hub.py --tpu my-tpu
"""

import argparse

import keras
import keras_hub
import numpy as np
import tensorflow as tf

LENGTH = 16
WORDS = 64


def sentences(count):
    """Rows of numbers that each count on from a random one, and the number that follows each."""
    first = np.random.RandomState(5).randint(1, WORDS, size=[count, 1])
    rows = (first + np.arange(LENGTH + 1)) % WORDS
    features = {"token_ids": rows[:, :-1], "padding_mask": np.ones([count, LENGTH], np.int32)}
    return tf.data.Dataset.from_tensor_slices((features, rows[:, 1:]))


def create_model(layers):
    """A language model that takes numbers of words, not text."""
    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=WORDS,
        num_layers=layers,
        num_heads=4,
        hidden_dim=32,
        intermediate_dim=64,
        max_sequence_length=LENGTH,
    )
    return keras_hub.models.GPT2CausalLM(backbone=backbone, preprocessor=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tpu", default="local")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=100, help="in each epoch")
    parser.add_argument("--epochs", type=int, default=2)
    flags = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=flags.tpu)
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    train = sentences(flags.batch_size * flags.steps).repeat()
    train = train.batch(flags.batch_size, drop_remainder=True)
    with strategy.scope():
        model = create_model(flags.layers)
        model.compile(
            optimizer=keras.optimizers.AdamW(1e-3),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            weighted_metrics=["accuracy"],
        )
    model.fit(train, epochs=flags.epochs, steps_per_epoch=flags.steps, shuffle=False, verbose=2)
    results = model.evaluate(train, steps=2, verbose=0, return_dict=True)
    print(f"loss {results['loss']:.7f}, accuracy {results['accuracy']:.3f}")


if __name__ == "__main__":
    main()
