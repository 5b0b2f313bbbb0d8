"""Names of TensorFlow that were reported and are right, or are the file's own affair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, reported

SILENT = {
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
    "a module whose names are set": """
        import tensorflow as tf
        setattr(tf.estimator.tpu, "CrossShardOptimizer", object)
        def build():
            return tf.estimator.tpu.CrossShardOptimizer()
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
    "a keyword that is collected": """
        import tensorflow as tf
        model = tf.keras.Model(inputs=[], outputs=[], name="m")
        config = tf.estimator.tpu.TPUConfig(num_shards=8)
        strategy = tf.distribute.TPUStrategy(None, experimental_device_assignment=None)
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
}

UNSURE = {
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
}

ALARMS = {
    "modules of TensorFlow's own that are gone": """
        # file: requirements.txt
        tensorflow==2.18
        # file: train.py
        from tensorflow.python.tpu import tpu_estimator  # error: TPU802
        spec = tpu_estimator.TPUEstimatorSpec
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
    "a strategy held by an object": """
        # file: requirements.txt
        tensorflow-cpu==2.6.0
        # file: train.py
        import tensorflow as tf
        class Trainer:
            def step(self):
                self._strategy.experimental_run_v2(self.one)  # error: TPU802
    """,
    "a constant of a class that has none such": """
        import tensorflow as tf
        mode = tf.estimator.ModeKeys.TRAINING  # error: TPU801
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


@pytest.mark.parametrize("name", SILENT)
def test_a_right_name_is_silent(name: str, tmp_path: Path) -> None:
    assert reported(SILENT[name], tmp_path, ["TPU8"]) == []


@pytest.mark.parametrize("program", [*UNSURE.values(), *ALARMS.values()], ids=[*UNSURE, *ALARMS])
def test_a_wrong_name_is_said(program: str, tmp_path: Path) -> None:
    assert reported(program, tmp_path, ["TPU8"]) == expected(program, ["TPU8"])
