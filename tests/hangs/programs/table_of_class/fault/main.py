import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Memory:
    def __init__(self):
        self.rows = tf.get_variable(
            "rows", [4], initializer=tf.zeros_initializer(), use_resource=True
        )
        self.log = tf.get_variable(
            "log", [4], initializer=tf.zeros_initializer(), use_resource=True
        )

    def look_up(self, index):
        return tf.gather(self.rows, index)

    def store(self, values):
        self.rows.assign_add(values)


memory = Memory()


def computation(x):
    values = x + memory.look_up([0, 1, 2, 3])
    tf.tpu.outside_compilation(memory.store, values)
    return tf.reduce_sum(values)


outputs = tf.tpu.rewrite(computation, [tf.ones([4])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
