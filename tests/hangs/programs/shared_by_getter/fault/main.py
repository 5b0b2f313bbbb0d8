import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Model:
    def __init__(self):
        self._scale = tf.get_variable(
            "scale", [], initializer=tf.ones_initializer(), use_resource=True
        )
        self._unit = tf.get_variable(
            "unit", [], initializer=tf.ones_initializer(), use_resource=True
        )

    def get_scale(self):
        return self._scale

    def get_unit(self):
        return self._unit


model = Model()


def rescale(value):
    with tf.control_dependencies([value]):
        return value / model.get_scale().read_value()


def computation(x):
    scaled = tf.identity(model.get_scale().assign_add(tf.reduce_max(x)))
    return scaled + tf.tpu.outside_compilation(rescale, scaled)


outputs = tf.tpu.rewrite(computation, [tf.constant([1.0, 2.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
