"""A step of a session fails on the host, and the next one runs."""

import tensorflow.compat.v1 as tf
from devices import initialize, replicated

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [])
    checked = tf.debugging.check_numerics(x, "bad feed")
    weight = tf.get_variable("weight", [], initializer=tf.ones_initializer(), use_resource=True)
    step = replicated(lambda v: v * weight, [[checked], [checked + 1.0]])
    initialize(session)
    for value in (1.0, float("nan"), 2.0, float("inf"), 3.0):
        try:
            print(*session.run(step, {x: value}))
        except tf.errors.InvalidArgumentError as error:
            print("bad feed" in str(error))
