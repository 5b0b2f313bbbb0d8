import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

total = tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=True)


def record(loss):
    total.assign_add(loss)


def computation(x):
    loss = tf.reduce_mean(x * 2.0)
    tf.tpu.outside_compilation(record, loss)
    return loss / 2.0


outputs = tf.tpu.shard(computation, inputs=[tf.ones([8])], num_shards=2)
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
