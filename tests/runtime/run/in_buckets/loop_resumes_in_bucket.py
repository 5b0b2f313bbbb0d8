"""A custom loop that saves to a bucket and, started again, goes on from its last checkpoint."""

import tensorflow as tf

FOLDER = "gs://my-models/loop"

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="my-tpu")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    step_number = tf.Variable(
        0, dtype=tf.int64, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
    )
    weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
checkpoint = tf.train.Checkpoint(step=step_number, weight=weight)
manager = tf.train.CheckpointManager(checkpoint, FOLDER + "/checkpoints", max_to_keep=2)
manager.restore_or_initialize()
print("starts at", int(step_number.numpy()))


@tf.function
def step(x):
    def replica_fn(x):
        weight.assign_sub(0.1 * x * weight)
        step_number.assign_add(1)

    strategy.run(replica_fn, args=(x,))


for _ in range(5):
    step(tf.constant(0.5))
    manager.save()
tf.io.gfile.copy(FOLDER + "/checkpoints/checkpoint", FOLDER + "/latest", overwrite=True)
with tf.io.gfile.GFile(FOLDER + "/notes.txt", "a") as notes:
    notes.write(f"step {int(step_number.numpy())}\n")
with tf.io.gfile.GFile(FOLDER + "/notes.txt") as notes:
    print(notes.read().split("\n"))
print("ends at", int(step_number.numpy()), manager.checkpoints)
