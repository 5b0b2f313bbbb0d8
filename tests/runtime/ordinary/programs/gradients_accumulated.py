"""Gradients of several batches are added up before they are applied."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable(1.0)
    total = tf.Variable(
        0.0,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build([weight])


@tf.function
def add(x):
    def replica(x):
        with tf.GradientTape() as tape:
            loss = weight * x
        total.assign_add(tape.gradient(loss, weight))

    strategy.run(replica, args=(x,))


@tf.function
def apply():
    def replica():
        optimizer.apply_gradients([(total.read_value(), weight)])
        total.assign(0.0)

    strategy.run(replica)


for number in range(6):
    add(tf.constant(float(number)))
    if number % 3 == 2:
        apply()
        print(f"{weight.numpy():.4f}")
