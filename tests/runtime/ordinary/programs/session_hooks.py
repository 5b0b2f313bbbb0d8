"""A MonitoredSession with a hook that stops, and one with a hook that raises."""

import tensorflow.compat.v1 as tf
from devices import initialize, replicated


class Raises(tf.train.SessionRunHook):
    def after_run(self, context, values):
        raise OSError("the disk is full")


for hook in (tf.train.StopAtStepHook(last_step=3), Raises()):
    with tf.Graph().as_default():
        counter = tf.train.get_or_create_global_step()
        step = replicated(lambda v: v * 2.0, [[tf.constant(1.0)], [tf.constant(2.0)]])
        with tf.control_dependencies(step):
            count = tf.assign_add(counter, 1)
        with tf.Session() as session:
            initialize(session)
        try:
            with tf.train.MonitoredSession(hooks=[hook]) as session:
                while not session.should_stop():
                    print(session.run([*step, count])[:2])
        except OSError as error:
            print(error)
