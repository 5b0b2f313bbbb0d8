"""The best weights are put back when training gets worse."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
with strategy.scope():
    weight = tf.Variable(1.0)


@tf.function
def step(rate):
    def replica(rate):
        weight.assign_sub(2.0 * rate * weight)
        return weight**2

    return strategy.reduce("MEAN", strategy.run(replica, args=(rate,)), axis=None)


best, best_weight, rate = float("inf"), weight.numpy(), 0.3
for _ in range(8):
    loss = float(step(tf.constant(rate)))
    print(f"{loss:.4f} {rate:.4f}")
    if loss < best:
        best, best_weight, rate = loss, weight.numpy(), rate * 2.0
    else:
        weight.assign(best_weight)
        rate /= 4.0
