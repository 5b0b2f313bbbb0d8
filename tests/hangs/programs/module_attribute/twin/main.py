import tensorflow as tf

tpu = tf.compat.v1.tpu


class Head(tf.Module):
    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(tf.ones([2, 2]))
        self.temperature = tf.Variable(2.0)

    def __call__(self, x):
        return tf.matmul(x, self.kernel)

    def soften(self, logits):
        return logits / self.temperature


head = Head()


def computation(x):
    logits = head(x)
    soft = tpu.outside_compilation(head.soften, logits)
    head.kernel.assign_sub(0.1 * tf.matmul(x, soft, transpose_a=True))
    return tf.reduce_sum(soft)


@tf.function
def train(x):
    return tpu.rewrite(computation, [x])


tf.tpu.experimental.initialize_tpu_system()
print(train(tf.ones([2, 2])))
