"""Loops that compile a step again (TPU509), gradients through loops (TPU508), and their kin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import SYSTEM

STEP = (
    SYSTEM
    + """
def replica_step(x, *more):
    return tf.reduce_sum(x)


@tf.function
def step(*args):
    return strategy.run(replica_step, args=args)


tokens = tf.ones([8, 128])
"""
)
UPDATES = """
with strategy.scope():
    kernel = tf.Variable(1.0)
    optimizer, other = tf.keras.optimizers.Adam(0.1), tf.keras.optimizers.Adam(0.1)

def update(x):
    optimizer.apply_gradients([(tf.reduce_sum(x), kernel)])

@tf.function
def train(x, number):
    return strategy.run(update, args=(x,))

batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True))
"""
LOOPS = {
    "the number of the updates so far": UPDATES
    + """
for batch in batches:
    number = int(optimizer.iterations.numpy())
    train(batch, number)  # error: TPU509
while True:
    number = int(optimizer.iterations.numpy())
    if number > 1000:
        break
    train(tokens, number + 1)  # error: TPU509
""",
    "a number of updates that is a tensor, or another one": UPDATES
    + """
for batch in batches:
    number = int(other.iterations.numpy())
    train(batch, number)
    train(batch, optimizer.iterations)
    array = optimizer.iterations.numpy()
    train(batch, array)
    epoch = int(optimizer.iterations.numpy()) // 100
    train(batch, epoch)
    shown = int(optimizer.iterations.numpy())
    train(batch, tf.constant(shown))
start = int(optimizer.iterations.numpy())
for batch in batches:
    train(batch, start)
    step(batch, int(optimizer.iterations.numpy()) > 100)
""",
    "a number of the loop around that over the data": """
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True))
for epoch in range(60):
    for batch in batches:
        step(batch, epoch)  # error: TPU509
        step(batch, tf.constant(epoch))
""",
    "a tensor with the name of a number around it": """
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True))
for number in range(60):
    for number, batch in zip(tf.range(8), batches):
        step(batch, number)
for epoch in range(3):
    for batch in batches:
        step(batch, epoch)
""",
    "a number in what is passed": """
for number in range(1000):
    step({"x": tokens, "weight": number / 1000})  # error: TPU509
    step([tokens, number])  # error: TPU509
    batch = {"x": tokens}
    batch["weight"] = number / 1000
    step(batch)  # error: TPU509
""",
    "a tensor in what is passed": """
shown = {}
for number in range(1000):
    step({"x": tokens, "weight": tf.constant(number)})
    batch = {"x": tokens}
    batch["weight"] = tf.constant(number / 1000)
    shown["step"] = number
    step(batch)
""",
    "a number that each round changes": """
rate = 0.1
for epoch in range(60):
    step(tokens, rate)  # error: TPU509
    rate *= 0.5
""",
    "a function that is wrapped in each round": """
def plain(x):
    return strategy.run(replica_step, args=(x,))

for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True)):
    tf.function(plain)(x)  # error: TPU509
for number in range(1000):
    wrapped = tf.function(plain)
    wrapped(tokens)  # error: TPU509
""",
    "a function that is wrapped once, or a few times": """
def plain(x):
    return strategy.run(replica_step, args=(x,))

wrapped = None
for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True)):
    if wrapped is None:
        wrapped = tf.function(plain)
    wrapped(x)
for number in range(3):
    tf.function(plain)(tokens)
for number in range(1000):
    once = tf.function(plain)
    for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True)):
        once(x)
""",
    "a counter of batches": """
number = 0
for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True)):
    number += 1
    step(x, number)  # error: TPU509
""",
    "the counter of a loop around the one over batches": """
data = strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8, True))
for epoch in range(60):
    for x in data:
        step(x, epoch)  # error: TPU509
        step(x, tf.constant(epoch), epoch % 2, epoch == 0)
for fold in range(3):
    for x in data:
        step(x, fold)
""",
    "numbers that functions of Python compute of a counter": """
import math
import numpy as np

count = 0
for number in range(1000):
    rate = 0.5 * (1 + math.cos(math.pi * number / 1000))
    step(tokens, rate)  # error: TPU509
    step(tokens, float(number))  # error: TPU509
    step(tokens, min(1.0, number / 100))  # error: TPU509
    step(tokens, min(number, 4), math.floor(number / 500), np.cos(number), float(len(tokens)))
    count = count + 1
    step(tokens, count)  # error: TPU509
""",
    "a counter in a while": """
number = 0
while number < 100:
    step(tokens, number)  # error: TPU509
    number += 1
""",
    "an attribute": """
class Trainer:
    number = 0

    def __init__(self):
        self.number = 0

    def train(self):
        for _ in range(100):
            self.number += 1
            step(tokens, self.number)  # possible: TPU509


Trainer().train()
""",
    "a number that only some rounds change": """
rate = 0.1
for epoch in range(60):
    step(tokens, rate)
    if epoch == 30:
        rate *= 0.5
""",
    "a number that may be a tensor": """
def train(rate=None):
    if rate is None:
        rate = 0.1
    for epoch in range(60):
        step(tokens, rate)
        rate *= 0.5


train(tf.constant(0.5))
""",
    "a tensor that each round changes": """
rate = tf.constant(0.1)
for epoch in range(60):
    step(tokens, rate)
    rate *= 0.5
""",
    "a number that is one for many rounds": """
for epoch in range(90):
    stage = epoch // 30
    step(tokens, stage)
    step(tokens, epoch % 2)
""",
    "a slice that grows": """
for length in range(1, 128):
    step(tokens[:, :length])  # error: TPU509
""",
    "a slice of a length that is computed": """
for epoch in range(20):
    length = 64 + 8 * epoch
    batch = tokens[:, :length]
    step(batch)  # error: TPU509
""",
    "a tensor of another size in each round": """
for n in range(1, 60):
    step(tf.ones([n, 4]))  # error: TPU509
""",
    "a tensor that grows": """
text = tf.ones([8, 1])
for _ in range(100):
    step(text)  # error: TPU509
    text = tf.concat([text, tf.ones([8, 1])], axis=1)
""",
    "the newest rows of a tensor that grows": """
text = tf.ones([8, 16])
for _ in range(100):
    step(text[:, -16:])
    text = tf.concat([text, tf.ones([8, 1])], axis=1)
""",
    "windows of one size": """
for i in range(16):
    step(tokens[:, i * 8 : (i + 1) * 8])
    step(tokens[:, i : i + 8])
""",
    "few shapes": """
for length in range(64, 72):
    step(tokens[:, :length])
""",
    "rows that are padded to the longest": """
rows = tf.data.Dataset.range(1, 65).map(lambda n: tf.ones([n]))
batches = rows.padded_batch(8, [None], drop_remainder=True)  # possible: TPU509
for x in strategy.experimental_distribute_dataset(batches):
    step(x)
""",
    "rows that are padded to one length": """
rows = tf.data.Dataset.range(1, 65).map(lambda n: tf.ones([n]))
for x in strategy.experimental_distribute_dataset(rows.padded_batch(8, [64], drop_remainder=True)):
    step(x)
""",
    "rows of any length without padded_shapes": """
rows = tf.data.Dataset.range(1, 65).map(lambda n: tf.ones([n])).shuffle(64)
batches = rows.padded_batch(8, drop_remainder=True)  # possible: TPU509
for x in strategy.experimental_distribute_dataset(batches):
    step(x)
""",
    "rows of a generator without padded_shapes": """
spec = tf.TensorSpec(shape=[None], dtype=tf.float32)
make = lambda: [[1.0], [1.0, 2.0]]
rows = tf.data.Dataset.from_generator(make, output_signature=spec)  # possible: TPU607
for x in strategy.experimental_distribute_dataset(rows.padded_batch(8)):  # possible: TPU509
    step(x)
""",
    "rows of one length, or of an unseen one, without padded_shapes": """
rows = tf.data.Dataset.range(1, 65).map(lambda n: tf.ones([64]))
for x in strategy.experimental_distribute_dataset(rows.padded_batch(8, drop_remainder=True)):
    step(x)
files = tf.data.TFRecordDataset("gs://train").map(lambda row: tf.io.decode_raw(row, tf.float32))
for x in strategy.experimental_distribute_dataset(files.padded_batch(8, drop_remainder=True)):
    step(x)
""",
    "a number that a sum over replicas takes": """
number = strategy.reduce("SUM", 8, axis=None)  # error: TPU711
nothing, mean = strategy.reduce("SUM", 0, axis=None), strategy.reduce("MEAN", 8, axis=None)
total = strategy.reduce(tf.distribute.ReduceOp.SUM, step(tokens), axis=None)
""",
    "ragged numbers for fit": """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.ragged.constant([[1.0], [2.0, 3.0]]), tf.ones([2]))  # error: TPU504
model.fit(tf.ragged.constant([[1.0], [2.0, 3.0]]).to_tensor(), tf.ones([2]), batch_size=2)
""",
    "an input function that does not tell its hosts apart": """
def read(context):
    size = context.get_per_replica_batch_size(64)
    return tf.data.TFRecordDataset(["gs://data/train"]).batch(size, drop_remainder=True)


def read_own(context):
    files = tf.data.TFRecordDataset(["gs://data/train"])
    own = files.shard(context.num_input_pipelines, context.input_pipeline_id)
    return own.batch(context.get_per_replica_batch_size(64), drop_remainder=True)


for batch in strategy.distribute_datasets_from_function(read):  # unlikely: TPU714
    step(batch)
for batch in strategy.distribute_datasets_from_function(read_own):
    step(batch)
""",
}
GRADIENT = (
    SYSTEM
    + """
with strategy.scope():
    weight = tf.Variable(1.0)


def replica_step(x):
    number = tf.cast(tf.reduce_max(x), tf.int32)
{body}


@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))


step(tf.constant([3.0, 4.0]))
"""
)
BODIES = {
    "rounds that depend on data": """
    with tf.GradientTape() as tape:
        total = tf.constant(1.0)
        for _ in tf.range(number):  # error: TPU508
            total *= weight
    return tape.gradient(total, weight)
""",
    "a bound that depends on data": """
    with tf.GradientTape() as tape:
        _, total = tf.while_loop(  # error: TPU508
            lambda i, t: i < number,
            lambda i, t: (i + 1, t * weight),
            [tf.constant(0), tf.constant(1.0)],
            maximum_iterations=number,
        )
    return tape.gradient(total, weight)
""",
    "a loss that an optimizer calls": """
    def loss():
        total = tf.constant(1.0)
        while total < 9.0:  # error: TPU508
            total *= weight
        return total

    tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[weight])
""",
    "rounds that follow from a shape": """
    with tf.GradientTape() as tape:
        total = tf.constant(1.0)
        for i in tf.range(tf.shape(x)[0]):
            total *= weight * x[i]
    return tape.gradient(total, weight)
""",
    "an unseen loss of the result": """
    with tf.GradientTape() as tape:
        total = tf.constant(1.0) * weight
        while total < 9.0:  # error: TPU508
            total *= weight
        loss = loss_of(x, total)
    return tape.gradient(loss, weight)
""",
    "an unseen loss that may take other results": """
    with tf.GradientTape() as tape:
        total = tf.constant(1.0) * weight
        while total < 9.0:
            total *= weight
        loss = loss_of(x, {"scores": weight * x, "boxes": weight + x, "detections": total})
    return tape.gradient(loss, weight)
""",
    "rounds that depend on data, and no gradient": """
    total = tf.constant(1.0)
    for _ in tf.range(number):
        total *= 2.0
    return total
""",
    "a variable that grows": """
    history.assign(tf.concat([history, x[:1]], 0))  # error: TPU502
    history.assign(tf.concat([history.read_value(), x[:1]], 0))  # error: TPU502
    history.assign(tf.concat([history[1:], x[:1]], 0))
""",
    "counts of as many numbers as there are": """
    tf.math.bincount(tf.cast(x, tf.int32))  # error: TPU502
    tf.math.bincount(tf.cast(x, tf.int32), minlength=4)  # error: TPU502
    tf.math.bincount(tf.cast(x, tf.int32), minlength=4, maxlength=8)  # error: TPU502
    return tf.math.bincount(tf.cast(x, tf.int32), minlength=8, maxlength=8)
""",
    "rows of a ragged tensor": """
    tf.config.set_soft_device_placement(False)
    rows = tf.RaggedTensor.from_row_splits(x, [0, 1, 2])
    dense = tf.gather(rows.to_tensor(shape=[2, 2]), [1])
    return tf.gather(rows, [1, 0]), dense  # error: TPU501
""",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_exactly_the_marked_findings_are_reported(loop: str, tmp_path: Path) -> None:
    assert_marked(STEP + loop, tmp_path)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_exactly_the_marked_findings_of_a_step(body: str, tmp_path: Path) -> None:
    text = GRADIENT.format(body=body.strip("\n"))
    if "loss_of" in body:
        text = "from losses import loss_of\n" + text
    if "history" in body:
        creation = (
            'history = tf.Variable(tf.zeros([0]), shape=[None], name="history", trainable=False)'
        )
        text = text.replace("    weight =", f"    {creation}\n    weight =")
    assert_marked(text, tmp_path)
