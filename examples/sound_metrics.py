"""Fit a line on a TPU, with a running loss that the host smooths.

The sound twin of `deadlock_metrics.py`: the device reads the average and hands its value
to the host function, which touches no variable of the device program.
"""

import argparse

import tensorflow.compat.v1 as tf


class LossMeter:
    """An exponential average of the loss, and a log line now and then."""

    def __init__(self, decay):
        self.decay = decay
        self.running_loss = tf.get_variable(
            "running_loss", shape=[], initializer=tf.zeros_initializer(), use_resource=True
        )

    def update(self, loss):
        """Called on the device, once a step."""
        smoothed = self.decay * self.running_loss + (1.0 - self.decay) * loss
        return self.running_loss.assign(smoothed)

    def relative(self, loss, average):
        """Called on the host: how much better or worse is this loss than the average?"""
        line = tf.strings.format("loss {} (average {})", (loss, average))
        with tf.control_dependencies([tf.print(line)]):
            return loss / (average + 1e-6)


class LineFitter:
    """y = slope * x + intercept, by gradient descent."""

    def __init__(self, learning_rate):
        self.learning_rate = learning_rate
        self.slope = tf.get_variable("slope", shape=[], use_resource=True)
        self.intercept = tf.get_variable("intercept", shape=[], use_resource=True)
        self.meter = LossMeter(decay=0.9)

    def train_step(self, x, y):
        """One step on the device. The rate falls when the loss rises above its average."""
        error = self.slope * x + self.intercept - y
        loss = tf.reduce_mean(tf.square(error))
        average = tf.identity(self.meter.update(loss))
        ratio = tf.tpu.outside_compilation(self.meter.relative, loss, average)
        rate = self.learning_rate / tf.maximum(ratio, 1.0)
        slope = self.slope.assign_sub(rate * tf.reduce_mean(2.0 * error * x))
        intercept = self.intercept.assign_sub(rate * tf.reduce_mean(2.0 * error))
        with tf.control_dependencies([slope, intercept]):
            return tf.identity(loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master", default="")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    flags = parser.parse_args()

    with tf.Graph().as_default():
        x = tf.random.uniform([128])
        y = 3.0 * x - 1.0
        fitter = LineFitter(flags.learning_rate)
        (loss,) = tf.tpu.rewrite(lambda x, y: fitter.train_step(x, y), inputs=[x, y])
        with tf.Session(flags.master) as session:
            session.run(tf.tpu.initialize_system())
            session.run(tf.global_variables_initializer())
            for step in range(flags.steps):
                print(step, session.run(loss))
            session.run(tf.tpu.shutdown_system())


if __name__ == "__main__":
    main()
