"""A TPUEstimator whose summaries go through `host_call`, the global step as an argument.

Sound: everything that the host functions use comes to them in their tensor lists.
"""

import tensorflow.compat.v1 as tf

flags = tf.flags
flags.DEFINE_string("tpu", None, "Name of the TPU.")
flags.DEFINE_string("model_dir", None, "Where checkpoints and summaries go.")
flags.DEFINE_string("pattern", None, "Pattern of the TFRecord files.")
flags.DEFINE_integer("train_batch_size", 1024, "Batch size over all cores.")
flags.DEFINE_integer("train_steps", 10000, "Number of steps.")
FLAGS = flags.FLAGS

CLASSES = 10


def network(images, is_training):
    """Logits of a small convolutional network."""
    with tf.variable_scope("network"):
        net = tf.layers.conv2d(images, 32, 3, padding="same", activation=tf.nn.relu)
        net = tf.layers.max_pooling2d(net, 2, 2)
        net = tf.layers.flatten(net)
        net = tf.layers.dropout(net, 0.4, training=is_training)
        return tf.layers.dense(net, CLASSES)


def metric_fn(labels, logits):
    """Evaluation metrics, computed on the host."""
    predictions = tf.argmax(logits, axis=1)
    return {"accuracy": tf.metrics.accuracy(labels, predictions)}


def model_fn_builder(base_rate, model_dir):
    """The model function for TPUEstimator."""

    def model_fn(features, labels, mode, params):
        del params
        is_training = mode == tf.estimator.ModeKeys.TRAIN
        logits = network(features, is_training)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        if not is_training:
            return tf.estimator.tpu.TPUEstimatorSpec(
                mode, loss=loss, eval_metrics=(metric_fn, [labels, logits])
            )

        global_step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(base_rate, global_step, 1000, 0.9)
        optimizer = tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(rate))
        train_op = optimizer.minimize(loss, global_step=global_step)

        def host_call_fn(step, loss, rate):
            step = step[0]
            writer = tf.compat.v2.summary.create_file_writer(model_dir)
            with writer.as_default(), tf.compat.v2.summary.record_if(True):
                tf.compat.v2.summary.scalar("loss", tf.reduce_mean(loss), step=step)
                tf.compat.v2.summary.scalar("rate", tf.reduce_mean(rate), step=step)
                return tf.summary.all_v2_summary_ops()

        tensors = [tf.reshape(tensor, [1]) for tensor in (global_step, loss, rate)]
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, host_call=(host_call_fn, tensors)
        )

    return model_fn


def input_fn(params):
    """Images and labels from TFRecord files."""
    shapes = {
        "image": tf.io.FixedLenFeature([28 * 28], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }

    def parse(record):
        example = tf.io.parse_single_example(record, shapes)
        return tf.reshape(example["image"], [28, 28, 1]), tf.cast(example["label"], tf.int32)

    files = tf.data.Dataset.list_files(FLAGS.pattern)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=8).shuffle(10000).repeat()
    return records.map(parse).batch(params["batch_size"], drop_remainder=True).prefetch(2)


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(FLAGS.tpu)
    estimator = tf.estimator.tpu.TPUEstimator(
        model_fn=model_fn_builder(base_rate=1e-3, model_dir=FLAGS.model_dir),
        config=tf.estimator.tpu.RunConfig(cluster=resolver, model_dir=FLAGS.model_dir),
        use_tpu=True,
        train_batch_size=FLAGS.train_batch_size,
        eval_batch_size=FLAGS.train_batch_size,
    )
    estimator.train(input_fn, max_steps=FLAGS.train_steps)


if __name__ == "__main__":
    tf.app.run(main)
