"""Programs with TPU802, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked

PROGRAMS = {
    # False alarms in a repository of examples, each of which runs with a release of its own.
    "a README below the requirements that installs another release": """
        # file: requirements.txt
        tensorflow==2.12
        # file: old/README.md
        Written for tensorflow>=2.0, one day.

            $ pip install "tensorflow==1.15" keras
        # file: old/models/train.py
        import tensorflow as tf
        tf.contrib.tpu.core(0)
        # file: new/README.md
        Install tensorflow==1.15, or rather not.
        # file: new/train.py
        import tensorflow as tf
        tf.contrib.tpu.core(0)  # possible: TPU802
    """,
    "a README that runs another release, and one beside the requirements": """
        # file: requirements.txt
        tensorflow==2.12
        # file: README.md
        $ pip install tensorflow==1.15
        # file: train.py
        import tensorflow as tf
        tf.contrib.tpu.core(0)  # possible: TPU802
        # file: old/README.rst
        gcloud ml-engine jobs submit training --runtime-version 1.12
        # file: old/train.py
        import tensorflow as tf
        tf.contrib.tpu.core(0)
    """,
    # A false alarm in a copy of XLNet: only 1.12 and 1.14 are in the table.
    "a name between whose two releases the required one lies": """
        # file: requirements.txt
        tensorflow==1.13.1
        # file: train.py
        from tensorflow.contrib.tpu.proto import compilation_result_pb2
        import tensorflow as tf
        tf.data.experimental.AUTOTUNE
    """,
    "a test of the version that returns": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        def average(x):
            if tf.__version__ < "2":
                return tf.contrib.tpu.cross_replica_sum(x)
            return tf.compat.v1.tpu.cross_replica_sum(x)
    """,
    "what follows a return for the new version": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        from packaging import version
        NEW = version.parse(tf.__version__).major > 1
        def average(strategy, step):
            if tf_version_2 := NEW:
                return strategy.run(step)
            return strategy.experimental_run_v2(step)
    """,
    "a method of the file's own": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        class Strategy:
            def experimental_run_v2(self, step):
                return step()
        def train(strategy):
            return strategy.experimental_run_v2(tf.no_op)
    """,
    "tf.contrib.summary, which is a module in the package": """
        # file: requirements.txt
        tensorflow==1.15
        # file: train.py
        from tensorflow.contrib import summary as contrib_summary
        import tensorflow as tf
        def log(x):
            contrib_summary.scalar("x", x)
            tf.contrib.summary.flush()
    """,
    "a project that requires nothing": """
        import tensorflow as tf
        from tensorflow.contrib import tpu
        def average(strategy, step, x):
            tf.tpu.cross_replica_sum(x)
            return strategy.experimental_run_v2(step, args=(tpu.core(0),))
    """,
    "a keyword of TensorFlow 2 under its other name": """
        # file: requirements.txt
        tensorflow==1.15
        # file: train.py
        import tensorflow.compat.v2 as tf
        def write(loss, step):
            tf.compat.v2.summary.scalar("loss", loss, step=step)
            tf.summary.image("image", loss, step=step)
    """,
    "a nearer requirement of any release": """
        # file: requirements.txt
        tensorflow==2.12
        # file: samples/requirements.txt
        tensorflow
        # file: samples/train.py
        def train(strategy, step):
            import tensorflow as tf
            strategy.experimental_run_v2(step)
    """,
    "a package whose last release has the name": """
        # file: requirements.txt
        tensorflow-gpu>=2.4
        # file: train.py
        import tensorflow as tf
        layer = tf.keras.layers.experimental.SyncBatchNormalization()
    """,
    "a name of TensorFlow 2 where the project's top requires TensorFlow 1": """
        # file: requirements.txt
        tensorflow==1.15
        # file: tf2/train.py
        import tensorflow as tf
        gpus = tf.config.list_physical_devices("GPU")
        writer = tf.summary.create_file_writer("logs")
    """,
    "a method of what may be no strategy": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        def train(trainer, step):
            trainer.experimental_run_v2(step)  # possible: TPU802
    """,
    "a function whose caller asks for the version": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        def average(x):
            return tf.contrib.tpu.cross_replica_sum(x)  # possible: TPU802
        def main(x):
            if tf.__version__ < "2":
                return average(x)
            return tf.compat.v1.tpu.cross_replica_sum(x)
    """,
    "modules of TensorFlow's own that are gone": """
        # file: requirements.txt
        tensorflow==2.18
        # file: train.py
        from tensorflow.python.tpu import tpu_estimator  # error: TPU802
        spec = tpu_estimator.TPUEstimatorSpec
    """,
    "a strategy held by an object": """
        # file: requirements.txt
        tensorflow-cpu==2.6.0
        # file: train.py
        import tensorflow as tf
        class Trainer:
            def step(self):
                self._strategy.experimental_run_v2(self.one)  # error: TPU802
    """,
    "missed alarms: methods that Keras 3 and TensorFlow 2 dropped": """
        # file: requirements.txt
        tensorflow==2.18
        # file: train.py
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        strategy = tf.distribute.TPUStrategy(resolver)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        data = tf.data.TFRecordDataset("gs://data/train").batch(8, drop_remainder=True)
        model.fit_generator(data)  # error: TPU802
        iterator = data.make_one_shot_iterator()  # error: TPU802
        first = tf.compat.v1.data.make_one_shot_iterator(data)
        model.predict(data)
        try:
            model.predict_generator(data)  # possible: TPU802
        except AttributeError:
            model.predict(data)
    """,
    "methods of releases that have them": """
        # file: requirements.txt
        tensorflow==2.2
        # file: train.py
        import tensorflow as tf
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        strategy = tf.distribute.experimental.TPUStrategy(resolver)
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile("sgd", "mse")
        data = tf.compat.v1.data.Dataset.range(8).repeat().batch(8, drop_remainder=True)
        model.fit_generator(data.make_one_shot_iterator(), steps_per_epoch=4)
    """,
    "a missed alarm: a name of TensorFlow 1 beside what only TensorFlow 2 has": """
        # file: requirements.txt
        tensorflow==2.12
        # file: train.py
        import tensorflow as tf
        strategy = tf.distribute.TPUStrategy(None)
        optimizer = tf.train.AdamOptimizer(1e-3)  # error: TPU802
        # file: both.py
        import tensorflow as tf
        try:
            strategy = tf.distribute.TPUStrategy(None)
        except AttributeError:
            strategy = None
        def build(resolver):
            return tf.distribute.TPUStrategy(resolver)
        optimizer = tf.train.AdamOptimizer(1e-3)  # possible: TPU802
    """,
    "the requirement of a folder above": """
        # file: requirements.txt
        tensorflow==2.8.1
        # file: pkg/deep/train.py
        import tensorflow as tf
        def train(strategy, step):
            strategy.experimental_run_v2(step)  # error: TPU802
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
