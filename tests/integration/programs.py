"""Programs with faults and without, as files by name; the first of them is the one to check."""

from __future__ import annotations

NESTED = """\
import tensorflow.compat.v1 as tf


def inner(x):
    return x


def outer(x):
    return tf.tpu.outside_compilation(inner, x)


def computation(x):
    return tf.tpu.outside_compilation(outer, x)


result = tf.tpu.rewrite(computation, [1.0])
"""
DEADLOCK = """\
import tensorflow.compat.v1 as tf

total = tf.get_variable("total", [], use_resource=True)


def log(x):
    return total.read_value() + x


def computation(x):
    square = x * x
    now = total.assign_add(square)
    with tf.control_dependencies([now]):
        return now * tf.tpu.outside_compilation(log, square)


result = tf.tpu.rewrite(computation, [1.0])
"""
HELPER = """\
import tensorflow.compat.v1 as tf


def log(x):
    return tf.tpu.outside_compilation(tf.strings.as_string, x)
"""
ACROSS = """\
import tensorflow.compat.v1 as tf

from helper import log


def computation(x):
    return tf.tpu.outside_compilation(lambda: log(x))


result = tf.tpu.rewrite(computation, [1.0])
"""
NOT_PER_REPLICA = """\
import tensorflow.compat.v1 as tf

result = tf.tpu.replicate(lambda x: x + 1, [1.0, 2.0], name="\u00e9")
"""
SOUND = """\
import tensorflow.compat.v1 as tf


def log(x):
    return tf.strings.as_string(x)


def computation(x):
    tf.tpu.outside_compilation(log, x)
    return x + 1


result = tf.tpu.rewrite(computation, [1.0])
"""
PROGRAMS: dict[str, dict[str, str]] = {
    "nested": {"main.py": NESTED},
    "deadlock": {"main.py": DEADLOCK},
    "across": {"main.py": ACROSS, "helper.py": HELPER},
    "not per replica": {"main.py": NOT_PER_REPLICA},
    "sound": {"main.py": SOUND},
}
EXPECTED = {
    "nested": ["TPU201"],
    "deadlock": ["TPU101"],
    "across": ["TPU201"],
    "not per replica": ["TPU401", "TPU405"],
    "sound": [],
}

LAUNCHES = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.data.Dataset.range(64000).batch(64, drop_remainder=True))
"""
