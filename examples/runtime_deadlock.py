"""A training step that hangs on a TPU, run on this CPU: it prints its two lanes and exits 1.

    python examples/runtime_deadlock.py

The step counts itself in a variable, and its host cluster logs that variable. On a TPU, the
device program holds the variable until it ends, and waits for the cluster's result; the cluster
waits for the variable. Neither ends.
"""

from __future__ import annotations

import sys

import tensorflow as tf

import tpulint.runtime as tpu


def main() -> int:
    """Run the step; 1 where it would hang."""
    global_step = tf.Variable(0.0, name="global_step")
    weights = tf.Variable(tf.ones([4]), name="weights")

    def log(loss: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([loss]):
            shown = tf.print("step", global_step, "loss", loss)
        with tf.control_dependencies([shown]):
            return tf.minimum(loss, 100.0)

    def train_step(batch: tf.Tensor) -> tf.Tensor:
        loss = tf.reduce_sum(weights * batch)
        weights.assign_sub(0.1 * batch)
        global_step.assign_add(1.0)
        return tpu.outside_compilation(log, loss) * 0.5

    try:
        tpu.replicate(train_step, [[tf.ones([4])], [tf.ones([4])]])
    except tpu.DeadlockError as error:
        print(error)
        return 1
    print("The step has run.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
