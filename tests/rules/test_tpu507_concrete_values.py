"""Calls that need the value of a tensor: tensors that have none, and the certainty of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import expected, findings, program, reported
from tests.rules.openings import REWRITTEN, SYSTEM, V1
from tpulint.finding import Finding

RUN = """
@tf.function
def train(x):
    return strategy.run(step, args=(x,))
"""
PROGRAMS = {
    "a missed alarm: Python takes the items of a tensor": SYSTEM
    + """
def step(x):
    rows, columns = tf.shape(x)  # error: TPU507
    pair = tuple(tf.reduce_sum(row) for row in tf.compat.v1.shape(x))  # error: TPU507
    doubled = [row for row in 2.0 * x]  # error: TPU507
    by_number = {number: 1.0 for number in tf.range(3)}  # error: TPU507
    probabilities = list(tf.nn.softmax(x))  # error: TPU507
    backwards = reversed(tf.transpose(x))  # error: TPU507
    first, second = tf.reduce_mean(x, axis=0)  # error: TPU507
    return doubled, rows, pair, probabilities, backwards
"""
    + RUN,
    "false alarm: gradients are a list, which a number repeats": SYSTEM
    + """
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()

def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x))
    grads = tape.gradient(loss, model.trainable_variables) * 2
    for number, grad in enumerate(grads):
        loss = loss + tf.norm(grad)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    twice = tf.gradients(loss, model.trainable_variables) * 2
    optimizer.apply_gradients(zip(twice, model.trainable_variables))
    return [row for row in 2.0 * x]  # error: TPU507
"""
    + RUN,
    # Missed alarms: `any` and `all` ask each item, and `math` asks a size as it asks a sum.
    "tensors in a list, and sizes": SYSTEM
    + """
import math

def step(x):
    parts = [tf.reduce_any(x > 1.0), tf.reduce_any(x < -1.0)]
    scale = math.sqrt(tf.shape(x)[-1])  # error: TPU507
    known = math.sqrt(x.shape[-1]) + max(x.shape[0], 1)
    if any(parts):  # error: TPU507
        x = x + 1.0
    if all([tf.norm(row) > 0.0 for row in tf.unstack(x)]):  # error: TPU507
        x = x + 1.0
    if any([x is None, known > 1.0]) or all(hasattr(part, "shape") for part in parts):
        x = x + 1.0
    return x / scale * max(tf.norm(x), 1.0)  # error: TPU507
"""
    + RUN,
    "missed alarms: what autograph leaves to Python, and what it does not": SYSTEM
    + """
def step(x):
    for number, row in enumerate(tf.square(x)):  # error: TPU507
        x = x + row
    for row, other in zip(tf.square(x), tf.exp(x)):  # error: TPU507
        x = x + row * other
    total = sum(tf.square(x))  # error: TPU507
    shown = round(tf.reduce_sum(x), 2)  # error: TPU507
    highest = max([tf.reduce_sum(x), tf.reduce_max(x)])  # error: TPU507
    ordered = sorted([tf.reduce_sum(x), tf.reduce_max(x)])  # error: TPU507
    assert tf.reduce_all(x > 0.0), "negative"  # error: TPU507
    return total, shown, highest, ordered
"""
    + RUN,
    "the same of lists, sizes and single tensors": SYSTEM
    + """
def step(x):
    for number, row in enumerate(tf.unstack(x)):
        x = x + row
    for row, other in zip(tf.unstack(x), tf.split(x, 2)):
        x = x + row * other
    total = sum(tf.unstack(x), tf.reduce_sum(x))
    shown = round(x.shape[0] / 3, 2)
    highest = max([x.shape[0], 3]) + max([tf.reduce_sum(x)])
    ordered = sorted(tf.reduce_sum(x, axis=1)) + sorted(x.shape)
    assert x.shape[0] == 4, x.shape
    assert x is not None and isinstance(x, tf.Tensor)
    tf.debugging.Assert(tf.reduce_all(x > 0.0), [x])
    return total, shown, highest, ordered
"""
    + RUN,
    "a set holds what its methods put into it": SYSTEM
    + """
seen = set()
seen.update(["a"])

def step(x):
    for name in seen:
        print(name, x.numpy())  # error: TPU507
    if not seen:
        print(x.numpy())  # error: TPU507
    for size in set(x.shape):
        x = x * size
    return x
"""
    + RUN,
    "the larger of several tensors in a graph": V1
    + """
def computation(x):
    return max(tf.reduce_sum(x), 1.0) + max(x.shape[0], 1)  # error: TPU507

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
    "what has items although it is a tensor of the device, or is no single tensor": SYSTEM
    + """
import numpy as np

from library import count

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

def on_host(sizes):
    rows, columns = sizes
    return [size for size in sizes]

def drawn(x):
    if count == 0:
        return tf.zeros([0])
    left, right = tf.split(x, 2)
    return left, right

def step(x, pair):
    rows, columns = tf.unstack(tf.shape(x))
    values, places = list(tf.math.top_k(x, 2))
    mean, variance = tuple(tf.nn.moments(x, [0]))
    in_order = sorted(tf.abs(x))
    rows, columns = tf.keras.ops.shape(x)
    rows, columns = x.shape
    rows, columns = [tf.shape(x)[axis] for axis in range(2)]
    left, right = pair
    left, right = tf.split(x, 2)
    left, right = model(x)
    rows, left, right = (x,) + model(x)
    outputs = model(x)
    left, right = outputs[:1] + outputs[2:]
    left, right = drawn(x)
    left, right = tf.while_loop(lambda a, b: True, lambda a, b: (a, b), (x, x))
    left, right = tf.cond(tf.reduce_sum(x) > 0.0, lambda: (x, x), lambda: (x, x))
    mean, variance = tf.nn.moments(x, [0])
    values, places = tf.unique(tf.reshape(x, [-1]))
    parts = [part for part in tf.split(x, 2)] + [part for part in tf.meshgrid(x, x)]
    sums = [tf.reduce_sum(part) for part in tf.dynamic_partition(x, [0, 1], 2)]
    numbers = [number for number in np.arange(3)]
    for row in x:
        left += row
    for number in tf.range(3):
        left += 1.0
    tf.py_function(on_host, [tf.shape(x)], tf.int32)
    return left, right, parts, sums

@tf.function
def train(x, pair):
    return strategy.run(step, args=(x, pair))
""",
    "a missed alarm: Python asks a shape that a tensor holds": V1
    + """
def computation(x):
    rows = int(tf.shape(x)[0])  # error: TPU507
    half = float(tf.constant(0.5))  # error: TPU507
    return x * rows * half
"""
    + REWRITTEN,
    "Python asks what is no tensor, though TensorFlow returns it": V1
    + """
def computation(x):
    rows = int(tf.get_static_value(tf.shape(x)[0]))
    small = float(tf.keras.backend.epsilon())
    is_stored = bool(tf.executing_eagerly()) and bool(tf.io.gfile.exists("gs://bucket/model"))
    return x * rows * small * int(x.shape[0]) * int(is_stored)
"""
    + REWRITTEN,
    "a missed alarm: Python asks a variable": V1
    + """
import numpy as np

def computation(x):
    step = tf.train.get_or_create_global_step()
    rate = tf.get_variable("rate", [])
    if int(step) == 0:  # error: TPU507
        x = x * float(rate)  # error: TPU507
    return x * abs(rate) * np.sign(len([rate]))
"""
    + REWRITTEN,
    "a missed alarm: Python asks one of two tensors": V1
    + """
import sys

def computation(x):
    loss, extra = tf.reduce_sum(x), 0.0
    if len(sys.argv) > 1:
        loss = extra = tf.reduce_mean(x)
    if float(loss) > 1.0:  # error: TPU507
        x = x * float(extra)
    return x
"""
    + REWRITTEN,
    "a missed alarm: Python formats a tensor as a number": SYSTEM
    + """
def step(x):
    loss = tf.reduce_sum(x)
    texts = [
        "loss %.3f" % loss,  # error: TPU507
        "loss {:.3f}".format(loss),  # error: TPU507
        f"loss {loss:.3f}",  # error: TPU507
        "step %d: %.3f" % (1, loss),  # error: TPU507
        "loss {value:.3f}".format(value=loss),  # error: TPU507
        "loss %.3f" % float(loss),  # error: TPU507
    ]
    return loss, len(texts)
"""
    + RUN,
    "formats that need no value": SYSTEM
    + """
def step(x):
    loss, count = tf.reduce_sum(x), 3
    texts = [
        "loss %s" % loss, f"{loss}", f"{loss!r:>40}", "loss {}".format(loss),
        f"{count:03d} {x.shape[0]:d} {loss.dtype.name:>10}", "%d %s %%" % (count, loss),
        "{1} {0:d}".format(count, loss), "%(count)d" % {"count": loss},
    ]
    return loss, len(texts)
"""
    + RUN
    + """
print("%.3f" % strategy.reduce("SUM", train(tf.ones([4])), axis=None))
""",
    "one of several tensors": SYSTEM
    + """
import sys

def step(x):
    loss = tf.reduce_sum(x)
    if len(sys.argv) > 1:
        loss = loss * 2.0
    return loss.numpy()  # error: TPU507
"""
    + RUN,
    "where another kind of value ends in an error": SYSTEM
    + """
import library

def step(x):
    if not hasattr(library.model, "optimizer"):
        raise ValueError(library.model)
    return tf.reduce_sum(x).numpy()  # error: TPU507
"""
    + RUN,
    "where what is no NumPy array ends in an error": SYSTEM
    + """
import numpy as np

def step(x):
    if not isinstance(x, np.ndarray):
        raise ValueError(x)
    return tf.reduce_sum(x).numpy()
"""
    + RUN,
    "where what is of no unseen class ends in an error": SYSTEM
    + """
import library

def step(x):
    if not isinstance(x, library.Batch):
        raise ValueError(x)
    return tf.reduce_sum(x).numpy()  # possible: TPU507
"""
    + RUN,
    "a tensor, or what is not seen": SYSTEM
    + """
import library

def step(x):
    loss = library.loss()
    if library.flag:
        loss = tf.reduce_sum(x)
    return loss.numpy()  # possible: TPU507
"""
    + RUN,
    "one of several tensors of a function that may be another": SYSTEM
    + """
import library

def value_of(x):
    loss = tf.reduce_sum(x)
    if library.flag:
        loss = loss * 2.0
    return loss.numpy()  # possible: TPU507

def step(x):
    return (value_of if library.other else tf.reduce_sum)(x)
"""
    + RUN,
    "a function that is given away": SYSTEM
    + """
import numpy as np

def on_host(x):
    return np.sum(x) + tf.reduce_sum(x).numpy()

def step(x):
    return tf.py_function(on_host, [x], tf.float32)  # possible: TPU501
"""
    + RUN,
    "in functions that run eagerly, on a strategy that may be no TPU's": """
import tensorflow as tf

class Evaluator:
    def __init__(self):
        self.strategy = tf.distribute.get_strategy()

    def evaluate(self, batch):
        def step(x):
            return tf.reduce_sum(x).numpy()
        return self.strategy.run(step, args=(batch,))

tf.config.run_functions_eagerly(True)
print(tf.distribute.cluster_resolver.TPUClusterResolver)
""",
    "in functions that do not run eagerly, on a strategy that may be no TPU's": """
import tensorflow as tf

class Evaluator:
    def __init__(self):
        self.strategy = tf.distribute.get_strategy()

    def evaluate(self, batch):
        def step(x):
            return tf.reduce_sum(x).numpy()  # possible: TPU507
        return self.strategy.run(step, args=(batch,))

tf.config.run_functions_eagerly(False)
print(tf.distribute.cluster_resolver.TPUClusterResolver)
""",
    "in functions that run eagerly on a TPU": SYSTEM
    + """
tf.config.run_functions_eagerly(True)

def step(x):
    return tf.reduce_sum(x).numpy()  # error: TPU507
"""
    + RUN,
    "in a try": SYSTEM
    + """
import library

def step(x):
    try:
        value = tf.reduce_sum(x).numpy()  # possible: TPU507
    except AttributeError:
        value = library.guess(x)
    if x is not None:
        value = tf.reduce_mean(x).item()  # error: TPU507
    return value
"""
    + RUN,
    "a false negative: Keras's backend reads a tensor": SYSTEM
    + """
from tensorflow.keras import backend as K

rate = tf.Variable(0.1)
print(K.get_value(rate))

def step(x):
    print(K.eval(K.mean(x)))  # error: TPU507
    now = K.get_value(rate)  # error: TPU507
    return K.get_value(tf.reduce_mean(x)) * now  # error: TPU507
"""
    + RUN,
    "tests for the kind of a value": SYSTEM
    + """
def step(x):
    if hasattr(x, "numpy"):
        return x.numpy()
    return x
"""
    + RUN,
    "tensors with the methods of NumPy": SYSTEM
    + """
import numpy as np

tf.experimental.numpy.experimental_enable_numpy_behavior()

def step(x):
    total = tf.reduce_sum(x)
    np.clip(total, 0.0, 1.0)
    return total.item() + total.numpy()  # error: TPU507
"""
    + RUN,
    "arrays that NumPy saves, or puts to others": SYSTEM
    + """
import numpy as np

history = np.zeros([0])

def step(x):
    total = tf.reduce_sum(x)
    np.save("total.npy", total)  # error: TPU507
    np.save("rows.npy", arr=total)  # error: TPU507
    np.save("history.npy", history)
    np.append(history, total)  # error: TPU507
    np.append(history, 2.0)
    return x
"""
    + RUN,
    "the items of a batch that certainly is one tensor": SYSTEM
    + """
def items(x):
    return [item for item in x]  # error: TPU507

def pairs(x):
    return [item for item in x]

def step(x):
    return x

@tf.function
def apart(x, pair):
    strategy.run(items, args=(x,))
    strategy.run(pairs, args=(pair,))

rows = tf.data.Dataset.from_tensor_slices(tf.reshape(tf.range(16.0), [8, 2])).batch(4)
batches = strategy.experimental_distribute_dataset(tf.data.Dataset.zip((rows, rows)))
for pair in batches:
    apart(pair[0], pair)
"""
    + RUN,
    "shapes, lists and the host": SYSTEM
    + """
import math
import numpy as np

def step(x):
    half = math.sqrt(x.shape[-1]) * np.prod(x.get_shape().as_list())
    return x * half * np.sum([2.0, 3.0]) * float(len(x.shape)) * int("3")

def show(x):
    return train(x).numpy() + np.sum(train(x))
"""
    + RUN,
    "bool, and what an unseen function made": SYSTEM
    + """
import library

def step(x):
    flag = bool(tf.reduce_any(x > 0))  # error: TPU507
    return library.scaled(x, flag).tolist()  # possible: TPU507
"""
    + RUN,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_traced_tensors_have_no_value(name: str, tmp_path: Path) -> None:
    text = PROGRAMS[name]
    assert reported(text, tmp_path, ["TPU507"]) == expected(text, ["TPU507"])


def the_finding(body: str, folder: Path) -> Finding:
    text = f"import math\n{SYSTEM}\ndef step(x):\n    {body}\n{RUN}"
    (reported,) = [
        finding for finding in findings(program(text), folder) if finding.code == "TPU507"
    ]
    return reported


def test_the_call_is_named(tmp_path: Path) -> None:
    actual = the_finding("return math.sqrt(tf.reduce_sum(x))", tmp_path)
    assert actual.message == (
        "`math.sqrt()` needs the value of a tensor, but tensors have none while device code is"
        " traced: use a TensorFlow operation, or call it outside the step"
    )
    steps = [step.message for step in actual.trace]
    assert steps == ["`run` compiles `step`", "needs the value of a tensor"]
    width = actual.span.end.column - actual.span.start.column
    assert (width, actual.fix) == (len("math.sqrt(tf.reduce_sum(x))"), None)
    assert the_finding("return x.numpy()", tmp_path).message.startswith("`.numpy()` needs")


# All of NumPy's functions make an array of any tensor among their arguments, but these.
ASKED = {
    "np.equal(1.0, x)": "  # error: TPU507",
    "np.stack([x, x], axis=0)": "  # error: TPU507",
    "np.where(True, 0.0, x)": "  # error: TPU507",
    "np.concatenate([[1.0], [x]])": "  # error: TPU507",
    "np.asarray([[0.0, 1.0], [2.0, 3.0]])": "",
    "np.linalg.norm(x)": "  # error: TPU507",
    "np.float32(x)": "  # error: TPU507",
    "np.random.normal(loc=x)": "  # error: TPU507",
    "np.shape(x)": "",
    "np.flip(x, 0)": "",
    "np.array_equal(x, 1.0)": "",
    "np.stack([np.ones([4]), np.zeros([4])])": "",
    "np.zeros(x.shape)": "",
    "np.dtype(x.dtype.as_numpy_dtype)": "",
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_tensor_among_the_arguments_of_numpy(asked: str, tmp_path: Path) -> None:
    step = f"def step(rows):\n    x = tf.abs(rows)\n    {asked}{ASKED[asked]}\n    return x\n"
    text = f"{SYSTEM}\nimport numpy as np\n\n{step}"
    assert reported(text + RUN, tmp_path, ["TPU507"]) == expected(text + RUN, ["TPU507"])
