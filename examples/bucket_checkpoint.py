"""Trains from a TFRecord file in a bucket, and goes on from the last checkpoint in another.

tpulint run --replicas 2 --storage buckets examples/bucket_checkpoint.py
"""

import tensorflow as tf

DATA = "gs://my-data/train.tfrecord"
MODEL = "gs://my-models/run"


def write_records():
    """Write the data, as another job does."""
    with tf.io.TFRecordWriter(DATA) as writer:
        for number in range(16):
            writer.write(str(number).encode())


def make_dataset():
    records = tf.data.TFRecordDataset(tf.io.gfile.glob("gs://my-data/*.tfrecord"))
    return records.map(lambda text: tf.strings.to_number(text) / 16.0).batch(4, drop_remainder=True)


def main():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)
    with strategy.scope():
        once = tf.VariableAggregation.ONLY_FIRST_REPLICA
        step_number = tf.Variable(0, dtype=tf.int64, aggregation=once)
        weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
    checkpoint = tf.train.Checkpoint(step_number=step_number, weight=weight)
    manager = tf.train.CheckpointManager(checkpoint, MODEL, max_to_keep=2)
    manager.restore_or_initialize()
    print("starts at step", int(step_number.numpy()))

    @tf.function
    def train_step(batch):
        def replica_fn(batch):
            weight.assign_sub(0.1 * tf.reduce_mean(batch * weight))
            step_number.assign_add(1)

        strategy.run(replica_fn, args=(batch,))

    if not tf.io.gfile.exists(DATA):
        write_records()
    for batch in strategy.experimental_distribute_dataset(make_dataset()):
        train_step(batch)
    manager.save()
    print("ends at step", int(step_number.numpy()))


if __name__ == "__main__":
    main()
