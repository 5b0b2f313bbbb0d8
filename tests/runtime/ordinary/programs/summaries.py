"""Summaries are written between steps."""

import glob
import os

import tensorflow as tf
from devices import make_strategy

strategy = make_strategy()
writer = tf.summary.create_file_writer("logs")


@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(lambda v: v * 2.0, args=(x,)), axis=None)


with writer.as_default():
    for number in range(3):
        loss = step(tf.constant(float(number)))
        tf.summary.scalar("loss", loss, step=number)
writer.close()
(path,) = glob.glob(os.path.join("logs", "events*"))
events = tf.compat.v1.train.summary_iterator(path)
for event in events:
    for value in event.summary.value:
        print(event.step, value.tag, float(tf.make_ndarray(value.tensor)))
