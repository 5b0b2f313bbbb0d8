import tensorflow.compat.v1 as tf

counter = tf.get_variable("counter", [], initializer=tf.zeros_initializer(), use_resource=True)
level = tf.get_variable("level", [], initializer=tf.zeros_initializer(), use_resource=True)
