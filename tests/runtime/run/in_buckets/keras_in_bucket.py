"""Keras 3 (TensorFlow 2.16 or newer) trains from one bucket, and writes to another."""

import numpy as np
import tensorflow as tf

DATA = "gs://my-data/digits"
MODEL = "gs://my-models/digits"


def write_records():
    """Write two files of 64 examples each, as a preparation job does."""
    random = np.random.default_rng(0)
    for shard in range(2):
        with tf.io.TFRecordWriter(f"{DATA}/train-{shard:05d}.tfrecord") as writer:
            for _ in range(64):
                image = random.random(16).astype(np.float32)
                feature = {
                    "image": tf.train.Feature(float_list=tf.train.FloatList(value=image)),
                    "label": tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[int(image.sum() > 8)])
                    ),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())


def parse(record):
    spec = {
        "image": tf.io.FixedLenFeature([16], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    example = tf.io.parse_single_example(record, spec)
    return example["image"], tf.cast(example["label"], tf.int32)


def batches():
    files = tf.data.Dataset.list_files(f"{DATA}/train-*.tfrecord", shuffle=False)
    records = files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
    return records.map(parse).shuffle(128).batch(32, drop_remainder=True)


write_records()
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="my-tpu")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential(
        [
            tf.keras.Input([16]),
            tf.keras.layers.Dense(8, activation="relu"),
            tf.keras.layers.Dense(2),
        ]
    )
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
callbacks = [
    tf.keras.callbacks.ModelCheckpoint(MODEL + "/best.weights.h5", save_weights_only=True),
    tf.keras.callbacks.CSVLogger("log.csv"),
]
model.fit(batches(), epochs=2, verbose=2, callbacks=callbacks)
model.save_weights(MODEL + "/last.weights.h5")
model.save(MODEL + "/model.keras")
restored = tf.keras.models.load_model(MODEL + "/model.keras", compile=False)
print(restored(tf.ones([1, 16])).shape)
print(sorted(tf.io.gfile.listdir(MODEL)))
