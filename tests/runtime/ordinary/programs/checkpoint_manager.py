"""A CheckpointManager keeps two, and the program starts again from the last."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
for life in range(3):
    with strategy.scope():
        weight = tf.Variable(0.0)
    counter = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(weight=weight, counter=counter)
    manager = tf.train.CheckpointManager(checkpoint, "checkpoints", max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)

    @tf.function
    def step(weight=weight):
        strategy.run(lambda: weight.assign_add(1.5))

    for _ in range(2):
        step()
        counter.assign_add(1)
        manager.save()
    print("life", life, weight.numpy(), int(counter), len(manager.checkpoints))
