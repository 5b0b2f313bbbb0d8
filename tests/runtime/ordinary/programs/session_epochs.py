"""Epochs of a session that end by OutOfRangeError."""

import tensorflow.compat.v1 as tf
from devices import initialize, replicated

with tf.Graph().as_default(), tf.Session() as session:
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(6))
    step = replicated(lambda v: v * 2, [[iterator.get_next()], [iterator.get_next()]])
    initialize(session)
    for epoch in range(3):
        session.run(iterator.initializer)
        while True:
            try:
                print("epoch", epoch, sum(session.run(step)))
            except tf.errors.OutOfRangeError:
                print("epoch", epoch, "ends")
                break
