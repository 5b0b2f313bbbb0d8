"""Small TPU programs, each with one thing to show."""

from __future__ import annotations

SENT = """
    import tensorflow.compat.v1 as tf

    def log(images, count):
        return tf.py_func(print, [images, count], tf.float32)

    def step(x):
        images = tf.zeros([8, 128], tf.float32)
        count = tf.constant(3)
        seen = tf.tpu.outside_compilation(log, images, count)
        return seen + x

    def build(x):
        return tf.tpu.rewrite(step, [x])

    build(tf.zeros([4]))
"""
LAYERS = """
    import tensorflow.compat.v1 as tf

    def note(x):
        return x

    def layer(x):
        return tf.tpu.outside_compilation(note, x) + 1.0

    def step(x):
        for _ in range(3):
            x = layer(x)
        x = layer(x)
        x = layer(x)
        return tf.square(x)

    tf.tpu.rewrite(step, [tf.zeros([4])])
"""
LOOP = """
    import tensorflow.compat.v1 as tf

    def note(x):
        return x

    def body(x):
        return tf.tpu.outside_compilation(note, tf.square(x))

    def step(x):
        y = tf.exp(x)
        z = tf.while_loop(lambda x: x < 3.0, body, [y])
        return tf.sqrt(z)

    tf.tpu.rewrite(step, [tf.zeros([])])
"""
VARIABLES = """
    import tensorflow.compat.v1 as tf

    shared = tf.get_variable("shared", [])
    own = tf.get_variable("own", [])
    hosts = tf.get_variable("hosts", [])

    def note(x):
        return x + hosts.read_value() + shared.read_value()

    def step(x):
        y = tf.tpu.outside_compilation(note, x * own)
        return tf.group(shared.assign_add(1.0), y)

    tf.tpu.rewrite(step, [tf.zeros([])])
"""
DEADLOCK = """
    import tensorflow.compat.v1 as tf

    total = tf.get_variable("total", [])

    def note(x):
        return x / total.read_value()

    def step(x):
        with tf.control_dependencies([total.assign_add(x)]):
            return tf.tpu.outside_compilation(note, x) + 1.0

    tf.tpu.rewrite(step, [tf.zeros([])])
"""
MODES = """
    import tensorflow.compat.v1 as tf

    def input_fn(params):
        return tf.data.Dataset.range(100).repeat().batch(params["batch_size"], True)

    def model_fn(features, labels, mode, params):
        w = tf.get_variable("w", [1, 1])
        found = tf.matmul(tf.cast(features[:, None], tf.float32), w)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.tpu.TPUEstimatorSpec(mode, predictions={"found": found})
        loss = tf.reduce_mean(found ** 2)

        def metric_fn(loss):
            return {"loss": tf.metrics.mean(loss)}

        if mode == tf.estimator.ModeKeys.EVAL:
            metrics = (metric_fn, [loss[None]])
            return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=metrics)

        def host_call_fn(loss):
            return tf.summary.scalar("loss", tf.reduce_mean(loss))

        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        host_call = (host_call_fn, [loss[None]])
        return tf.estimator.tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, host_call=host_call
        )

    estimator = tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8)
    estimator.train(input_fn, max_steps=4)
    estimator.evaluate(input_fn, steps=2)
"""
FIT = """
    import numpy
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    with strategy.scope():
        layers = [tf.keras.layers.Dense(4), tf.keras.layers.Dropout(0.1), tf.keras.layers.ReLU()]
        model = tf.keras.Sequential(layers)
        model.compile(optimizer="adam", loss=tf.keras.losses.MeanSquaredError())

    images = numpy.ones([16, 4]).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((images, tf.ones([16, 4])))
    model.fit(data.shuffle(4).batch(8, drop_remainder=True))
"""
GRADIENTS = """
    import tensorflow as tf

    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    strategy = tf.distribute.TPUStrategy(resolver)

    with strategy.scope():
        dense, dropout = tf.keras.layers.Dense(4), tf.keras.layers.Dropout(0.1)
        measure = tf.keras.losses.MeanSquaredError(reduction="none")
        optimizer = tf.keras.optimizers.SGD(0.1)

    @tf.function
    def step(x):
        def replica_fn(x):
            with tf.GradientTape() as tape:
                loss = tf.nn.compute_average_loss(measure(x, dropout(dense(x))))
            weights = dense.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))

        strategy.run(replica_fn, args=(x,))

    step(tf.ones([4, 4]))
"""
