"""Two sessions of one graph, of which one is closed after an error."""

import tensorflow.compat.v1 as tf
from devices import initialize, replicated

with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [])
    y = tf.debugging.check_numerics(x, "bad feed")
    step = replicated(lambda v: v + 1.0, [[y], [y]])
    other = tf.Session()
    initialize(other)
    try:
        with tf.Session() as session:
            initialize(session)
            print(*session.run(step, {x: 1.0}))
            session.run(step, {x: float("nan")})
    except tf.errors.InvalidArgumentError:
        print("the first is closed")
    print(*other.run(step, {x: 2.0}))
    other.close()
