import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from tensorflow.python.tpu import tpu_feed, training_loop

queue = tpu_feed.InfeedQueue(tuple_types=[tf.float32], tuple_shapes=[[2]])
queue.set_number_of_shards(1)
batch = tf.placeholder(tf.float32, [2])
enqueue = queue.generate_enqueue_ops([[batch]], lambda _: 0)


def computation():
    def body(total, x):
        return total + x

    return training_loop.repeat(4, body, [tf.zeros([2])], infeed_queue=queue)


outputs = tf.tpu.rewrite(computation)
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    for number in range(3):
        session.run(enqueue, {batch: [number, 1.0]})
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
