"""Programs with TPU801, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

CONNECT = "tf.distribute.cluster_resolver.TPUClusterResolver.connect()"
STRATEGY = f"""
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy({CONNECT})
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""
PROGRAMS = {
    "false alarm: a name of a backend that Keras in TensorFlow never has": STRATEGY
    + """
        from tensorflow.keras import backend
        excited = tf.ones([2, 1, 1, 4])
        if tf.keras.backend.backend() == "theano":
            excited = tf.keras.backend.pattern_broadcast(excited, [True, True, True, False])
        if backend.backend() == 'theano':
            excited = backend.pattern_broadcast(excited, [True, True, True, False])
        else:
            excited = tf.keras.backend.broadcast_pattern(excited)  # error: TPU801
        if backend.backend() == "tensorflow":
            excited = tf.keras.backend.broadcast_patterns(excited)  # error: TPU801
    """,
    "a missed alarm: a keyword that only a list in the body of the class names": """
        import tensorflow as tf
        with tf.distribute.TPUStrategy().scope():
            inner = tf.keras.optimizers.SGD(0.1)
            scaled = tf.keras.mixed_precision.LossScaleOptimizer(
                inner, loss_scale="dynamic"  # error: TPU801
            )
            scaled = tf.keras.mixed_precision.LossScaleOptimizer(inner, dynamic=True)
            first = tf.keras.layers.Dense(4, input_shape=(2,), use_bais=True)  # error: TPU801
            first = tf.keras.layers.Dense(4, input_shape=(2,), use_bias=True, name="first")
    """,
    "a false alarm: a keyword of Keras 3 beside packages that fail with it": STRATEGY
    + """
        import tensorflow_addons as tfa
        # import transformers: TFBertModel
        with strategy.scope():
            model.add(tf.keras.layers.LeakyReLU(negative_slope=0.2))
    """,
    "a missed alarm: a keyword of an optimizer, whose own the oldest releases do not tell": STRATEGY
    + """
        with strategy.scope():
            adam = tf.keras.optimizers.Adam(lerning_rate=1e-3)  # error: TPU801
            adam = tf.keras.optimizers.Adam(learning_rate=1e-3)
            adam = tf.keras.optimizers.Adam(steps=3)
            model.compile(adam, "mse")
    """,
    "missed alarms: misspelt keywords of Keras itself, whose releases are others": STRATEGY
    + """
        import keras
        from keras import layers
        from keras.optimizers import Adam
        with strategy.scope():
            model = keras.Sequential([layers.Dense(4, activatoin="relu")])  # error: TPU801
            model.add(layers.Dense(4, activation="relu", input_dim=2, lora_rank=2))
            model.compile(Adam(lerning_rate=1e-3), "mse")  # error: TPU801
            model.compile(Adam(lr=1e-3), "mse")
            model.compile(Adam(1e-3, fused_kernels=True), "mse")
    """,
    "missed alarms: a keyword that later releases dropped": """
        # file: requirements.txt
        tensorflow==2.18
        # file: train.py
        import tensorflow as tf
        with tf.distribute.TPUStrategy().scope():
            adam = tf.keras.optimizers.Adam(
                lr=1e-3  # error: TPU801
            )
            adam = tf.keras.optimizers.Adam(learning_rate=1e-3, clipnorm=1.0)
    """,
    "a missed alarm: a name of no release where any failure is caught": """
        import tensorflow as tf
        try:
            resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
            strategy = tf.distribute.TPUStratgy(resolver)  # possible: TPU801
        except Exception:
            strategy = tf.distribute.get_strategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    """,
    "names that a program asks for": STRATEGY
    + """
        try:
            writer = tf.train.SummaryWrtier("logs")
        except Exception:
            writer = None
        try:
            kind = tf.train.SummaryWrtier
            writer = kind("logs")
        except AttributeError:
            writer = None
        try:
            print("the older name")
            loop = tf.contrib.tpu.repeat
        except:
            loop = None
    """,
    "an optimizer's keyword that the release allows": """
        # file: requirements.txt
        tensorflow==2.8
        # file: train.py
        import tensorflow as tf
        with tf.distribute.TPUStrategy().scope():
            adam = tf.keras.optimizers.Adam(lr=1e-3, decay=1e-6)
    """,
    "missed alarms: keywords of methods of datasets": STRATEGY
    + """
        data = tf.data.Dataset.from_tensor_slices(tf.ones([64, 4])).shuffle(64).repeat()
        right = data.batch(16, drop_remainder=True, num_parallel_calls=2)
        wrong = data.batch(16, drop_reminder=True)  # error: TPU801
        records = tf.data.TFRecordDataset("gs://data/train")
        records = records.shuffle(8, reshufle_each_iteration=True)  # error: TPU801
        model.fit(right, steps_per_epoch=4)
    """,
    "missed alarms: keywords of methods of models": """
        # file: requirements.txt
        tensorflow==2.18
        # file: train.py
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        strategy = tf.distribute.TPUStrategy(resolver)
        class Classifier(tf.keras.Model):
            def compile(self, own, **kwargs):
                super().compile(**kwargs)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile(
                "sgd",
                "mse",
                experimental_steps_per_execution=8,  # error: TPU801
            )
            model.compile("sgd", "mse", steps_per_execution=8)
            other = Classifier()
            other.compile(own=1, loss="mse")
        data = tf.data.TFRecordDataset("gs://data/train").batch(8, drop_remainder=True)
        model.fit(data, workers=4)  # error: TPU801
        other.fit(data, epochs=2, class_weight=None)
        other.fit(data, use_multiprocessing=True)  # error: TPU801
        if tf.__version__ < "2.16":
            model.fit(data, workers=4)  # possible: TPU801
    """,
    "keywords of methods that some release takes": STRATEGY
    + """
        model.compile("sgd", "mse", experimental_steps_per_execution=8)
        data = tf.data.Dataset.range(64).batch(8, drop_remainder=True)
        model.fit(data, workers=4, use_multiprocessing=True)
    """,
    "methods of what only looks like a dataset": STRATEGY
    + """
        from library import load
        data = load().batch(16, drop_last=True)
        model.fit(data, steps_per_epoch=4)
    """,
    "a missed alarm: a misspelt method of a strategy": STRATEGY
    + """
        data = tf.data.Dataset.range(64).batch(8, drop_remainder=True)
        wrong = strategy.experimental_distribute_datasets(data)  # error: TPU801
        right = strategy.experimental_distribute_dataset(data)
        with strategy.extended.colocate_vars_with(model), strategy.extended.own_of_tpus():
            pass
    """,
    "missed alarms: misspelt names of modules that train, and keywords of their functions": """
        import tensorflow as tf
        def model_fn(features, labels, mode, params):
            step = tf.compat.v1.train.get_global_step()
            rate = tf.compat.v1.train.exponential_deacy(0.1, step, 10, 0.9)  # error: TPU801
            rows = tf.nn.sofmax(features)  # error: TPU801
            loss = tf.math.reduce_men(rows)  # error: TPU801
            loss += tf.nn.l2_normalize(rows, axes=1)  # error: TPU801
            optimizer = tf.compat.v1.train.AdamOptimizer(rate)
            train_op = tf.compat.v1.tpu.CrossShardOptimizer(optimizer).minimize(loss, step)
            return tf.compat.v1.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    """,
    "missed alarms: misspelt keywords of methods": """
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        @tf.function
        def train(x):
            return strategy.run(tf.reduce_sum, arg=(x,))  # error: TPU801
        print(strategy.reduce("SUM", train(tf.ones([4])), axes=None))  # error: TPU801
        rows = tf.data.Dataset.from_tensor_slices((tf.ones([8, 4]), tf.ones([8])))
        rows = rows.batch(8, drop_reminder=True)  # error: TPU801
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile("adam", "mse")
        model.fit(rows, validation_dataset=rows)  # error: TPU801
    """,
    "keywords of methods, and of other objects' methods of their names": """
        import tensorflow as tf
        import library
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.TPUStrategy(resolver)
        @tf.function
        def train(x):
            return strategy.run(tf.reduce_sum, args=(), kwargs={"input_tensor": x})
        print(strategy.reduce("SUM", train(tf.ones([4])), axis=None))
        rows = tf.data.Dataset.from_tensor_slices((tf.ones([8, 4]), tf.ones([8])))
        rows = rows.shuffle(8, reshuffle_each_iteration=True).batch(8, drop_remainder=True)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile("adam", "mse")
        model.fit(rows, validation_data=rows, validation_freq=2, verbose=0)
        library.Model().fit(rows, validation_dataset=rows)
        library.rows().batch(8, drop_reminder=True)
        class Net(tf.keras.Model):
            def fit(self, rows, validation_dataset=None):
                return super().fit(rows, validation_data=validation_dataset)
        with strategy.scope():
            net = Net()
            net.compile("adam", "mse")
        net.fit(rows, validation_dataset=rows)
    """,
    "names of modules that train, in some release or with their older keywords": """
        import tensorflow as tf
        def model_fn(features, labels, mode, params):
            step = tf.train.get_or_create_global_step()
            rate = tf.train.cosine_decay(0.1, step, 10)
            rows = tf.nn.softmax(features, dim=-1)
            dense = tf.layers.dense(rows, 10, use_bias=False)
            loss = tf.losses.softmax_cross_entropy(labels, logits=dense, weights=2.0)
            loss += tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=dense)
            loss += tf.compat.v2.losses.mse(labels, rows) + tf.compat.v2.metrics.mse(labels, rows)
            cell = tf.compat.v1.nn.rnn_cell.LSTMCell(8)
            rows, _ = tf.compat.v1.nn.dynamic_rnn(cell, rows, dtype=tf.float32)
            optimizer = tf.train.AdamOptimizer(rate)
            train_op = tf.contrib.tpu.CrossShardOptimizer(optimizer).minimize(loss, step)
            return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)
    """,
    "an alias that is something else in one place": """
        import tensorflow as tf
        from compat import tf1 as tf
        def build():
            return tf.estimator.tpu.CrossShardOptimizer()
    """,
    "an alias that is rebound to the older interface": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        tf = tf.compat.v1
        def average(x):
            return tf.tpu.cross_replica_sum(x)
    """,
    "false alarm: names of IBM's builds of TensorFlow": """
        import tensorflow as tf
        tf.config.experimental.set_lms_enabled(True)
        tf.config.experimental.set_lm_enabled(True)  # error: TPU801
    """,
    "a module whose names are set": """
        import tensorflow as tf
        setattr(tf.estimator.tpu, "CrossShardOptimizer", object)
        def build():
            return tf.estimator.tpu.CrossShardOptimizer()
    """,
    "annotations that nothing evaluates": """
        from __future__ import annotations
        import tensorflow as tf
        def build(callback: tf.keras.callbacks.NoSuch) -> tf.keras.losses.NoSuch:
            held: tf.keras.NoSuch = callback
            return held
    """,
    "annotations that Python evaluates, but for those of a function's own names": """
        import tensorflow as tf
        held: tf.keras.NoSuch = None  # error: TPU801
        def build(
            callback: tf.keras.callbacks.NoSuch,  # error: TPU801
        ) -> tf.keras.losses.NoSuch:  # error: TPU801
            held: tf.keras.NoSuch = callback
            return held
    """,
    "one of two imports": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        try:
            import tensorflow.compat.v1 as tf
        except ImportError:
            import tensorflow as tf
        def average(x):
            return tf.tpu.cross_replica_sum(x)
    """,
    "what TensorBoard brings": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        def log(x):
            tf.summary.scalar("x", x, step=0)
    """,
    "a parameter of the alias's name": """
        import tensorflow as tf
        def build(tf):
            return tf.estimator.tpu.CrossShardOptimizer()
    """,
    "a keyword that is collected": """
        import tensorflow as tf
        model = tf.keras.Model(inputs=[], outputs=[], name="m")
        config = tf.estimator.tpu.TPUConfig(num_shards=8)
        strategy = tf.distribute.TPUStrategy(None, experimental_device_assignment=None)
    """,
    "a keyword of the other generation's function of that name": """
        # file: requirements.txt
        tensorflow==1.14
        # file: train.py
        import tensorflow as tf
        def write(strategy, loss, step):
            strategy.run(tf.abs)
            tf.summary.scalar("loss", loss, step=step)  # possible: TPU801
    """,
    "many names of a module that is not there": """
        import tensorflow.compat.v1 as tf
        cell = tf.contrib.rnn.LSTMCell(4)  # error: TPU801
        other = tf.contrib.rnn.GRUCell(4)
    """,
    "a module of an old release that the table does not hold": """
        # file: requirements.txt
        tensorflow==1.15
        # file: train.py
        import tensorflow as tf
        from tensorflow.python.tpu import tpu_tricks  # possible: TPU801
        tf.contrib.tpu.average_of_all(tf.zeros([4]))  # possible: TPU801
        tf.contrib.tpu.CrossReplicaOptimizer(None)  # possible: TPU801
    """,
    "classes of contrib that are misspelt": """
        # file: requirements.txt
        tensorflow==1.15
        # file: train.py
        import tensorflow as tf
        from tensorflow.contrib.tpu.python.tpu import tpu_estimator
        def model_fn(features, labels, mode, params):
            return tf.contrib.tpu.TPUEstimatorSpecs(mode)  # error: TPU801
        tf.contrib.tpu.TpuEstimator(model_fn)  # error: TPU801
        tpu_estimator.TpuEstimator(model_fn)  # error: TPU801
        tf.contrib.tpu.infeed_dequeues([])  # possible: TPU801
    """,
    "several names in one import": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        from tensorflow.distribute import (
            MirroredStrategy,
            TPUStrategie,  # error: TPU801
        )
    """,
    "a constant of a class that has none such": """
        import tensorflow as tf
        mode = tf.estimator.ModeKeys.TRAINING  # error: TPU801
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)


KERAS_2 = """
    # file: {where}
    {line}
    # file: train.py
    {first}
    import tensorflow as tf
    with tf.distribute.TPUStrategy().scope():
        inputs = tf.keras.layers.Input(type_spec=tf.TensorSpec([8]))  # {mark}
    loss = tf.keras.losses.mean_squared_error  # {removed}
"""


@pytest.mark.parametrize(
    ("where", "line", "first"),
    [
        ("pyproject.toml", '"tensorflow>=2.17", "tf-keras>=2.17",', ""),
        ("requirements.txt", "tensorflow==2.21\n    tf_keras==2.21.0", "TENSORFLOW = '2.18'"),
        ("requirements.txt", "tensorflow==2.21", "os.environ['TF_USE_LEGACY_KERAS'] = '1'"),
    ],
)
def test_false_alarm_found_in_tensorflow_gnn_keras_2_beside_a_newer_tensorflow(
    where: str, line: str, first: str, tmp_path: Path
) -> None:
    text = KERAS_2.format(where=where, line=line, first=first, mark="fine", removed="fine")
    assert_marked(text, tmp_path)


def test_keras_3_is_that_of_a_newer_tensorflow_by_itself(tmp_path: Path) -> None:
    marks = {"mark": "error: TPU801", "removed": "error: TPU802"}
    arguments = {"where": "requirements.txt", "line": "tensorflow==2.21", "first": ""}
    assert_marked(KERAS_2.format(**arguments, **marks), tmp_path)
