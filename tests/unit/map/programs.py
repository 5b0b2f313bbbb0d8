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
