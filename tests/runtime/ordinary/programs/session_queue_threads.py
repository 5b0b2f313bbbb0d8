"""Threads that fill a queue, stopped by a Coordinator."""

import tensorflow.compat.v1 as tf
from devices import initialize, replicated

with tf.Graph().as_default(), tf.Session() as session:
    queue = tf.FIFOQueue(4, tf.float32, [[]])
    numbers = tf.data.make_one_shot_iterator(tf.data.Dataset.range(6)).get_next()
    enqueue = queue.enqueue(tf.cast(numbers, tf.float32))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    value = queue.dequeue()
    step = replicated(lambda v: v + 1.0, [[value], [value * 10.0]])
    initialize(session)
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    try:
        while not coordinator.should_stop():
            print(*session.run(step))
    except tf.errors.OutOfRangeError:
        print("ends")
    finally:
        coordinator.request_stop()
    coordinator.join(threads)
