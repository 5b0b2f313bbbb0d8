"""Programs with TPU506, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import STEP

V1_CLOCK = "import time\n\nimport numpy as np\nimport tensorflow.compat.v1 as tf\n\n"
PROGRAMS = {
    "what a layer keeps of its last call, which was eager": """\
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())


class Attention(tf.keras.layers.Layer):
    def call(self, x):
        self.scores = tf.nn.softmax(x)
        self.count = x.shape[0]
        return tf.reduce_sum(self.scores * x)


with strategy.scope():
    layer = Attention()
    total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)


def step_fn(x):
    loss = layer(x)
    extra = tf.reduce_sum(layer.scores)
    total.assign_add(loss)
    return loss + extra


@tf.function
def step(x):
    return strategy.run(step_fn, args=(x,))


rows = tf.data.Dataset.from_tensor_slices(tf.ones([16, 4])).batch(8)
for x in strategy.experimental_distribute_dataset(rows):
    step(x)
print(total.numpy(), layer.count)
layer(tf.ones([2, 4]))
print(layer.scores.numpy())
""",
    "what a step stores in a global name, and what it returns": """\
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
last = None


def step_fn(x):
    global last
    last = tf.reduce_sum(x)
    return last


@tf.function
def step(x):
    return strategy.reduce("SUM", strategy.run(step_fn, args=(x,)), axis=None)


returned = step(tf.ones([4]))
print(returned.numpy(), last.numpy())  # error: TPU506
""",
    "a constant that makes the graph of each model another one": V1_CLOCK
    + """
def inference(features):
    now = int(time.time())
    stamp = tf.constant(now, name="epoch_time_%d" % now)
    with tf.control_dependencies([stamp]):
        return tf.identity(features)

tf.tpu.rewrite(inference, [tf.zeros([4])])
""",
    "noise in another dtype": V1_CLOCK
    + """
def computation(x):
    return x + np.random.normal(size=[4]).astype("float32")  # error: TPU506

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "random weights of an initializer, and of a variable": V1_CLOCK
    + """
def computation(x):
    initializer = tf.constant_initializer(np.random.normal(size=[4, 4]))
    return tf.matmul(x, tf.get_variable("w", [4, 4], initializer=initializer))

tf.tpu.rewrite(computation, [tf.zeros([4, 4])])
""",
    "the tensors of a model_fn are shown while its graph is built": V1_CLOCK
    + """
def model_fn(features, labels, mode, params):
    for name in sorted(features):
        tf.logging.info("  name = %s, shape = %s", name, features[name].shape)
    loss = tf.reduce_mean(features["x"])
    print("loss", loss)
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "lists that a graph of TensorFlow 1 fills while it is built": V1_CLOCK
    + """
captured = []

def computation(x):
    captured.append(tf.reduce_sum(x))
    return x

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    # A false alarm: accumulators of gradients, each a variable that an optimizer makes.
    "a list that is filled once, behind a test whether it is": STEP
    + """

class Accumulator:
    def __init__(self):
        self.sums = []
        self.built = False

    def add(self, gradients):
        if not self.built:
            for gradient in gradients:
                self.sums.append(tf.zeros_like(gradient))
            self.built = True
        for total, gradient in zip(self.sums, gradients):
            total.assign_add(gradient)

accumulator = Accumulator()

def replica_step(x):
    accumulator.add([x, 2 * x])
    return x
""",
    "a list that each trace fills": STEP
    + """

sums = []

def replica_step(x):
    sums.append(tf.zeros_like(x))  # error: TPU506
    return x
""",
    "a number from a helper that is not seen is shown": STEP
    + """
from library import get_shape_list

def replica_step(x):
    shape = get_shape_list(x)
    print("shape", shape)
    return x
""",
    "a list that belongs to the step": STEP
    + """
class Pyramid:
    def __call__(self, x):
        levels = []
        for scale in (1.0, 2.0, 4.0):
            levels.append(x * scale)
        return levels

def replica_step(x):
    return Pyramid()(x)
""",
    "prints in a loop over GPUs": """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()

def replica_step(x):
    for gpu in tf.config.list_physical_devices("GPU"):
        print(gpu, x)
    return x

@tf.function
def step(x):
    return strategy.run(replica_step, args=(x,))
""",
    "the other branch of a TPU flag prints": V1_CLOCK
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)
    if not params["use_tpu"]:
        loss += time.time()
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "a number that is drawn on the host before": STEP
    + """
offset = random.random()

def replica_step(x):
    return x + offset
""",
    "a clock limits what is logged": STEP
    + """
last = 0.0

def replica_step(x):
    if time.time() - last > 60.0:
        print("still tracing")
    return x
""",
    "the host function of a host_call reads the clock": V1_CLOCK
    + """
def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(features)

    def host_call_fn(loss):
        return tf.add(loss, time.time())

    host_call = (host_call_fn, [tf.reshape(loss, [1])])
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, host_call=host_call)

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, train_batch_size=8, config=None)
""",
    "a random number is rounded, scaled, and then used": STEP
    + """
def replica_step(x):
    shift = int(10 * np.random.rand())  # error: TPU506
    return tf.roll(x, shift, 0)
""",
    "a random number decides in an expression": STEP
    + """
def replica_step(x):
    return tf.reverse(x, [0]) if random.random() < 0.5 else x  # error: TPU506
""",
    "a file is written in the step": STEP
    + """
def replica_step(x):
    with tf.io.gfile.GFile("gs://bucket/loss.txt", "w") as stream:  # error: TPU506
        stream.write("done")
    return x
""",
    "what is drawn for good, logged, or used on the host": STEP
    + """
def on_host(x):
    return tf.add(x, time.time())

def replica_step(x):
    started = time.time()
    tf.compat.v1.tpu.outside_compilation(lambda: tf.print("started", started))
    kernel = tf.Variable(np.random.normal(size=[4]))  # error: TPU104
    logging.info("drawn %f", random.random())
    tf.compat.v1.logging.info("drawn %f", random.random())
    return tf.compat.v1.tpu.outside_compilation(on_host, x * kernel)
""",
    "a seed beside other calls": STEP
    + """
def replica_step(x):
    np.random.seed(0)
    return tf.roll(x, np.random.randint(4), 0)
""",
    "a false alarm: the number is the graph's seed": STEP
    + """
def replica_step(x):
    tf.compat.v1.set_random_seed(np.random.randint(4))
    return x
""",
    "a seed that is no generator's": STEP
    + """
from farm import field

def replica_step(x):
    field.seed(0)
    return tf.roll(x, np.random.randint(4), 0)  # error: TPU506
""",
    "false alarm found in automl: Python that the device was to run is not traced": STEP
    + """
kept = []

def update(x):
    kept.append(x)

def replica_step(x):
    tf.numpy_function(update, [x], [])  # error: TPU501
    return x
""",
    "what may be a tensor is shown": STEP
    + """
kept = []

def replica_step(x):
    shown = x if len(sys.argv) > 1 else 4
    print(shown)  # possible: TPU506
    print(x, shown)  # error: TPU506
    kept.append(shown)  # possible: TPU506
    return x
""",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
