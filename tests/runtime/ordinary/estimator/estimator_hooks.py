"""A hook that raises, and one that stops training."""

import tensorflow.compat.v1 as tf
from devices import ON_TPU, REPLICAS

tpu = tf.estimator.tpu


def model_fn(features, labels, mode, params):
    with tf.variable_scope("model", use_resource=True):
        weight = tf.get_variable("weight", [2, 1], initializer=tf.ones_initializer())
    output = tf.matmul(features, weight)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"output": output})
    loss = tf.reduce_mean((output - labels) ** 2)
    if mode == tf.estimator.ModeKeys.EVAL:
        mean = (lambda outputs: {"mean": tf.metrics.mean(outputs)}, [output])
        return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=mean)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    if params["use_tpu"]:
        optimizer = tf.tpu.CrossShardOptimizer(optimizer)
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)


def make_estimator(folder="model"):
    config = tpu.RunConfig(
        master="",
        model_dir=folder,
        tpu_config=tpu.TPUConfig(iterations_per_loop=1, num_shards=REPLICAS),
    )
    return tpu.TPUEstimator(
        model_fn,
        config=config,
        use_tpu=ON_TPU,
        train_batch_size=8,
        eval_batch_size=8,
        predict_batch_size=8,
    )


def input_fn(params):
    x = tf.reshape(tf.range(32, dtype=tf.float32), [16, 2]) / 32.0
    data = tf.data.Dataset.from_tensor_slices((x, 2.0 * tf.reduce_sum(x, 1, keepdims=True)))
    return data.batch(params["batch_size"], drop_remainder=True)


def weights(estimator):
    return [f"{value:.4f}" for value in estimator.get_variable_value("model/weight").ravel()]


def repeated(params):
    return input_fn(params).repeat()


class Raises(tf.train.SessionRunHook):
    def after_run(self, context, values):
        raise OSError("the disk is full")


class Stops(tf.train.SessionRunHook):
    runs = 0

    def after_run(self, context, values):
        self.runs += 1
        if self.runs == 3:
            context.request_stop()


for name, hook in (("broken", Raises()), ("model", Stops())):
    estimator = make_estimator(name)
    try:
        estimator.train(repeated, max_steps=20, hooks=[hook])
        print(weights(estimator))
    except OSError as error:
        print(error)
