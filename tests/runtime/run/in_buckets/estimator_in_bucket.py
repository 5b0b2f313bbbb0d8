"""TPUEstimator (TensorFlow 2.12 to 2.15) whose model_dir is in a bucket."""

import tensorflow.compat.v1 as tf


def metric_fn(labels, logits):
    return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}


def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features, 10)
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"serving_default": tf.estimator.export.PredictOutput({"logits": logits})}
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, predictions={"logits": logits}, export_outputs=outputs
        )
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, eval_metrics=(metric_fn, [labels, logits])
        )
    optimizer = tf.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
    return tf.estimator.tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step())
    )


def input_fn(params):
    dataset = tf.data.Dataset.from_tensors((tf.ones([4]), 1)).repeat()
    return dataset.batch(params["batch_size"], drop_remainder=True)


def serving_input_fn():
    features = tf.placeholder(tf.float32, [None, 4])
    return tf.estimator.export.TensorServingInputReceiver(features, features)


def main():
    cluster = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu")
    tpu_config = tf.estimator.tpu.TPUConfig(iterations_per_loop=5)
    config = tf.estimator.tpu.RunConfig(
        cluster=cluster, model_dir="gs://my-models/estimator", tpu_config=tpu_config
    )
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn,
        use_tpu=True,
        train_batch_size=16,
        eval_batch_size=16,
        predict_batch_size=16,
        config=config,
    )
    estimator.train(input_fn, steps=10)
    print(estimator.evaluate(input_fn, steps=2))
    print(estimator.export_saved_model("gs://my-models/exported", serving_input_fn))


if __name__ == "__main__":
    main()
