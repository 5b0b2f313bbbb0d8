import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Counter:
    def __init__(self, name):
        self.value = tf.get_variable(
            name, [], initializer=tf.zeros_initializer(), use_resource=True
        )

    def add(self, amount):
        return tf.identity(self.value.assign_add(amount))

    def divide(self, amount):
        with tf.control_dependencies([amount]):
            return amount / (1.0 + self.value.read_value())


device_counter = Counter("device")
host_counter = Counter("host")


def computation(x):
    counted = device_counter.add(tf.reduce_sum(x))
    divided = tf.tpu.outside_compilation(host_counter.divide, counted)
    return divided * 3.0


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
