"""Variables of the scope are assigned and read outside of it."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable([1.0, 2.0])
    count = tf.Variable(0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


@tf.function
def step(x):
    def replica(x):
        count.assign_add(1)
        return tf.reduce_sum(weight * x)

    return strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=None)


for number in range(3):
    weight.assign([float(number), 1.0])
    print(float(step(tf.constant(2.0))), int(count.numpy()))
    weight.assign_add([1.0, 1.0])
    print(float(step(tf.constant(2.0))), weight.numpy())
    count.assign(10 * number)
