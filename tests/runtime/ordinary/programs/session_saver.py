"""A Saver restores variables after training that went wrong."""

import tensorflow.compat.v1 as tf
from devices import initialize, replicated

with tf.Graph().as_default(), tf.Session() as session:
    weight = tf.get_variable("weight", [], initializer=tf.ones_initializer(), use_resource=True)
    rate = tf.placeholder(tf.float32, [])
    (step, _) = replicated(lambda v: tf.identity(weight) * v, [[rate], [rate]])
    update = weight.assign(step)
    saver = tf.train.Saver()
    initialize(session)
    print(session.run(update, {rate: 3.0}))
    path = saver.save(session, "./model")
    print(session.run(update, {rate: 1000.0}))
    saver.restore(session, path)
    print(session.run(update, {rate: 2.0}))
