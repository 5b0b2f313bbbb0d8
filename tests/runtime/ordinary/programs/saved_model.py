"""A SavedModel is exported and loaded, and served without a TPU."""

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()


class Model(tf.Module):
    def __init__(self):
        self.weight = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def serve(self, x):
        return x * self.weight


with strategy.scope():
    model = Model()


@tf.function
def step(x):
    return strategy.run(lambda v: model.serve(v), args=(x,))


print(strategy.experimental_local_results(step(tf.constant([1.0, 2.0])))[0].numpy())
tf.saved_model.save(model, "exported")
loaded = tf.saved_model.load("exported")
print(loaded.serve(tf.constant([4.0])).numpy(), loaded.weight.numpy())
model.weight.assign(5.0)
print(strategy.experimental_local_results(step(tf.constant([1.0])))[0].numpy())
