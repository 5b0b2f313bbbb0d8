import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

from trainers import Trainer


class BoundedTrainer(Trainer):
    def __init__(self):
        self.bound = tf.get_variable(
            "bound", [], initializer=tf.ones_initializer(), use_resource=True
        )

    def update(self, loss):
        return tf.identity(self.bound.assign(tf.maximum(self.bound, loss)))

    def on_host(self, loss):
        with tf.control_dependencies([loss]):
            return loss / self.bound.read_value()


trainer = BoundedTrainer()
outputs = tf.tpu.rewrite(lambda x: trainer.computation(x), [tf.constant([1.0, 3.0])])
with tf.Session() as session:
    session.run(tf.tpu.initialize_system())
    session.run(tf.global_variables_initializer())
    print(session.run(outputs))
    session.run(tf.tpu.shutdown_system())
