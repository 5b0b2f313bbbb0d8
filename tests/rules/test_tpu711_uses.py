"""TPU711, line by line: what Python and NumPy do with the values of all replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import STRATEGY

PROGRAM = """
import numpy as np
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


@tf.function
def train(x):
    return strategy.run(lambda x: tf.reduce_sum(x), args=(x,))


@tf.function
def train_and_count(x):
    return strategy.run(lambda x: (tf.reduce_sum(x), tf.size(x)), args=(x,))


@tf.function
def moments(x):
    return strategy.run(lambda x: tf.nn.moments(x, [0]), args=(x,))


dataset = tf.data.Dataset.from_tensor_slices(tf.ones([8, 4])).batch(4, drop_remainder=True)
losses = []
means = []
for x in strategy.experimental_distribute_dataset(dataset):
    loss = train(x)
    losses.append(loss)
    means.append(strategy.reduce("MEAN", loss, axis=None))
    pair = train_and_count(x)
    both = moments(x)
{line}
"""

# Each of them raises a TypeError or an AttributeError on a `PerReplica`.
SAID = {
    "an f-string formats it as a number": 'print(f"{loss:.3f}")',
    "`%` formats it as a number": 'print("%.3f" % loss)',
    "`format` formats it as a number": 'print("{:.3f}".format(loss))',
    "a part of a pair is formatted": 'total, count = pair\nprint(f"{total:.3f}")',
    "it has no length": "print(len(loss))",
    "it has no items": "print(loss[0])",
    "an element of the dataset has no items": "print(x[0])",
    "it cannot be iterated over": "for item in loss:\n    print(item)",
    "it has no shape": "print(loss.shape)",
    "it has no dtype": "print(loss.dtype)",
    "NumPy averages it": "print(np.mean(loss))",
    "NumPy averages a list of such values": "print(np.mean(losses))",
    "NumPy looks for its largest item": "print(np.argmax(loss, -1))",
    "NumPy joins a list of such values": "print(np.concatenate(losses))",
    "it is unpacked": "first, second = loss",
    "a list takes its items": "means.extend(loss)",
    "Python compares it": "print(max(loss, 1.0))",
    "a function of TensorFlow's takes it": "print(tf.abs(loss))",
    "NumPy makes a number of it": "print(np.float32(loss))",
    "Python sums a list of such values": "print(sum(losses))",
    "a variable of the host is set to it": "best = tf.Variable(0.0)\nbest.assign(loss)",
    "it is added to a variable of the host": "best = tf.Variable(0.0)\nbest.assign_add(loss)",
}

SILENT = {
    "a variable of the strategy takes each replica's": (
        "with strategy.scope():\n    best = tf.Variable(0.0)\nbest.assign(loss)"
    ),
    "a variable of the host takes the mean": "best = tf.Variable(0.0)\nbest.assign(means[0])",
    "it is shown": 'print(f"{loss}", "%s" % loss, "{}".format(loss), str(loss))',
    "it is taken apart": "print(loss.values[0].shape, len(loss.values))",
    "a pair is taken apart": "print(len(pair), pair[0], [item for item in pair])",
    "an operation gives a pair": "print(len(both), both[0])",
    "the length of a list of such values": "print(len(losses), losses[0])",
    "a pair is unpacked": "first, second = pair\nmeans.extend(pair)",
    "NumPy joins what each replica has": "print(np.concatenate([loss.values, loss.values]))",
    "what was reduced is compared": "print(max(means), max(means[0], 1.0))",
    "what was reduced is formatted": 'mean = means[0]\nprint(f"{mean:.3f}", mean.shape)',
    "what was reduced is averaged": "print(np.mean(means), sum(means))",
    "results of one replica each": (
        "for item in strategy.experimental_local_results(loss):\n"
        '    print(f"{item:.3f}", item.shape)'
    ),
    "NumPy makes an array of objects of it": "print(np.array(loss))",
}


def lines(line: str, folder: Path) -> list[str]:
    return certainties(PROGRAM.replace("{line}", line), folder, "TPU711")


@pytest.mark.parametrize("name", SAID)
def test_a_use_as_one_tensor_is_reported(name: str, tmp_path: Path) -> None:
    assert lines(SAID[name], tmp_path) == ["definite"]


@pytest.mark.parametrize("name", SILENT)
def test_what_all_values_can_do_is_silent(name: str, tmp_path: Path) -> None:
    assert lines(SILENT[name], tmp_path) == []


# AutoGraph converts no loop of TensorFlow's own, which takes `args` apart.
ARGUMENTS = """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
dataset = tf.data.Dataset.from_tensor_slices((tf.ones([8, 3]), tf.ones([8]))).batch(4)


@tf.function
def train(x, batch, rest):
    strategy.run(tf.reduce_sum, args={args})


train(tf.ones([4]), next(iter(dataset)), unseen.batch)
"""


@pytest.mark.parametrize("args", ["(x)", "x", "(tf.cast(x, tf.int32))", "(2.0 * x)"])
def test_a_tensor_in_place_of_a_tuple_is_reported(args: str, tmp_path: Path) -> None:
    assert certainties(ARGUMENTS.replace("{args}", args), tmp_path, "TPU711") == ["definite"]


@pytest.mark.parametrize("args", ["(x,)", "[x]", "tuple([x])", "batch", "(batch)", "rest"])
def test_what_may_be_a_tuple_of_arguments_is_silent(args: str, tmp_path: Path) -> None:
    assert certainties(ARGUMENTS.replace("{args}", args), tmp_path, "TPU711") == []


@pytest.mark.parametrize(("args", "count"), [("(x,), x", 1), ("x, x", 2), ("(), unseen.rest", 0)])
def test_a_tensor_in_place_of_a_dictionary_is_reported(
    args: str, count: int, tmp_path: Path
) -> None:
    program = ARGUMENTS.replace("args={args}", args)
    assert certainties(program, tmp_path, "TPU711") == ["definite"] * count


@pytest.mark.parametrize(
    ("rows", "count"),
    [("tf.reshape(tf.range(8.0), [4, 2])", 1), ("tf.split(tf.ones([4, 2]), 2)", 0)],
)
def test_a_row_of_what_an_operation_gives_is_one_tensor(
    rows: str, count: int, tmp_path: Path
) -> None:
    program = ARGUMENTS.replace("args={args}", "x")
    batches = f"tf.data.Dataset.from_tensor_slices({rows}).batch(4)"
    program += (
        f"for x in strategy.experimental_distribute_dataset({batches}):\n    train(x, 0, 0)\n"
    )
    program = program.replace("train(tf.ones([4]), next(iter(dataset)), unseen.batch)\n", "")
    assert certainties(program, tmp_path, "TPU711") == ["definite"] * count


def test_the_rows_of_an_eager_tensor_are_arguments(tmp_path: Path) -> None:
    program = """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect())
strategy.run(tf.function(lambda left, right: left + right), args=tf.ones([2, 4]))
"""
    assert certainties(program, tmp_path, "TPU711") == []


STEPS = (
    PROGRAM.replace("{line}", "")
    + """
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.1)


def gradients_of(x):
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(model(x)[:, 0], global_batch_size=4)
    return tape.gradient(loss, model.trainable_variables)


def update(x):
    optimizer.apply_gradients(zip(gradients_of(x), model.trainable_variables))
"""
)
# Keras refuses the gradients, and tf.function the argument. With the scope it is TPU712's.
STEPS_REFUSED = {
    "gradients of all replicas": ("", "strategy.run(gradients_of, args=(x,))"),
    "gradients of all replicas in a list": ("", "list(strategy.run(gradients_of, args=(x,)))"),
    "a signature of one tensor": ("(input_signature=[tf.TensorSpec([None, 4])])", ""),
}
STEPS_TAKEN = {
    "reduced gradients": (
        "",
        "[strategy.reduce('SUM', it, axis=None) for it in strategy.run(gradients_of, args=(x,))]",
    ),
    "the gradients of the first replica": (
        "",
        "strategy.experimental_local_results(strategy.run(gradients_of, args=(x,)))[0]",
    ),
    "an update in the step": ("", ""),
    "the signature of the dataset": ("(input_signature=[batches.element_spec])", ""),
    "a signature that a value gives": ("(input_signature=[SPEC])", ""),
}


def found_in_step(tmp_path: Path, options: str, gradients: str) -> list[str]:
    body = f"gradients = {gradients}\n    optimizer.apply_gradients(zip(gradients, model.weights))"
    step = f"""
batches = strategy.experimental_distribute_dataset(dataset)
SPEC = batches.element_spec


@tf.function{options}
def step(x):
    {body if gradients else "strategy.run(update, args=(x,))"}


for x in batches:
    step(x)
"""
    return certainties(STEPS + step, tmp_path, "TPU711")


@pytest.mark.parametrize("case", STEPS_REFUSED)
def test_what_an_optimizer_or_a_signature_takes_of_all_replicas_is_found(
    case: str, tmp_path: Path
) -> None:
    assert found_in_step(tmp_path, *STEPS_REFUSED[case]) == ["definite"]


@pytest.mark.parametrize("case", STEPS_TAKEN)
def test_what_an_optimizer_or_a_signature_may_take_is_silent(case: str, tmp_path: Path) -> None:
    assert found_in_step(tmp_path, *STEPS_TAKEN[case]) == []


# TensorFlow refuses each of them, on the oldest release as on the newest.
CAPTURED_REFUSED = {
    "an operation": "tf.reduce_sum(batch)",
    "an operator": "batch * 2.0",
    "an operator with a tensor": "tf.ones([2, 4]) + batch",
    "a function around it": "double(batch)",
    "a model": "model(batch)",
    "a keyword": "tf.reduce_sum(input_tensor=batch)",
    "a variable": "kept.assign(batch)",
}
CAPTURED_TAKEN = {
    "the argument": "tf.reduce_sum(x)",
    "the argument of another step": "tf.reduce_sum(other)",
    "what each replica gets in a named tuple": "tf.reduce_sum(pair.left) + pair.right * 2.0",
    "a value that is reduced": "x + strategy.experimental_local_results(batch)[0]",
    "a tensor of the host": "x + first",
    "a variable that gets the replica's own": "kept.assign_add(x)",
    "the values one by one": "tf.add_n(batch.values)",
}


def found_in_replica_function(tmp_path: Path, expression: str) -> list[str]:
    step = f"""
from typing import NamedTuple

class Pair(NamedTuple):
    left: tf.Tensor
    right: tf.Tensor


@tf.function
def double(x):
    return x * 2.0


first = tf.ones([])
with strategy.scope():
    kept = tf.Variable(tf.zeros([2, 4]), aggregation=tf.VariableAggregation.MEAN)


@tf.function
def step(batch):
    def replica_function(x, pair):
        return {expression}

    def other_function(other):
        return tf.reduce_sum(other)

    strategy.run(other_function, args=(batch,))
    return strategy.run(replica_function, args=(batch, Pair(batch, batch)))


for x in strategy.experimental_distribute_dataset(dataset):
    step(x)
"""
    if "pair" not in expression:
        step = step.replace(", pair)", ")").replace(", Pair(batch, batch))", ",)")
    if "other" in expression:
        step = step.replace("def replica_function(x)", "def replica_function(other)")
    return certainties(STEPS + step, tmp_path, "TPU711")


@pytest.mark.parametrize("case", CAPTURED_REFUSED)
def test_what_a_replica_takes_from_around_its_function_is_found(case: str, tmp_path: Path) -> None:
    assert found_in_replica_function(tmp_path, CAPTURED_REFUSED[case]) == ["definite"]


@pytest.mark.parametrize("case", CAPTURED_TAKEN)
def test_what_a_replica_has_itself_is_silent(case: str, tmp_path: Path) -> None:
    assert found_in_replica_function(tmp_path, CAPTURED_TAKEN[case]) == []


def test_a_call_without_its_context_is_one_fault(tmp_path: Path) -> None:
    """Under the scope no replica runs, which TPU712 reports, whatever the call is given."""
    call = "tf.distribute.get_replica_context().all_gather(x, axis=0)"
    loop = "for x in strategy.experimental_distribute_dataset(dataset):\n    {}\n"
    inside = STEPS + loop.format(f"with strategy.scope():\n        {call}")
    assert certainties(inside, tmp_path, "TPU711") == []
    assert certainties(inside, tmp_path, "TPU712") == ["definite"]
    assert certainties(STEPS + loop.format(call), tmp_path, "TPU711") == ["definite"]


MODELS_REFUSE = [
    "model(x)",
    "functional(x, training=False)",
    "own(x)",
    "model.predict(x)",
    "model.predict([x], batch_size=4)",
    "own.fit(x, labels)",
    "model.evaluate(x={'rows': x})",
    "model.train_on_batch(tf.ones([4, 4]), y=x)",
]
MODELS_TAKE = [
    "model.predict(batches)",
    "model.fit(batches, steps_per_epoch=2)",
    "model.predict(dataset)",
    "model.predict_on_batch(x)",  # Keras 3 takes it
    "dropout(x)",  # Keras 2 hands it on
    "model(strategy.experimental_local_results(x)[0])",
    "other_model(other_x)",
]
MODELS = """
class Own(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)


with strategy.scope():
    inputs = tf.keras.Input((4,))
    functional = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(inputs))
    own = Own()
    dropout = tf.keras.layers.Dropout(0.5)
mirrored = tf.distribute.MirroredStrategy()
other_model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
labels = tf.ones([4, 1])
batches = strategy.experimental_distribute_dataset(dataset)
for other_x in mirrored.experimental_distribute_dataset(dataset):
    for x in batches:
"""


@pytest.mark.parametrize("call", MODELS_REFUSE)
def test_a_model_that_gets_the_values_of_all_replicas_is_found(call: str, tmp_path: Path) -> None:
    assert certainties(f"{STEPS}{MODELS}        {call}\n", tmp_path, "TPU711") == ["definite"]


@pytest.mark.parametrize("call", MODELS_TAKE)
def test_what_a_model_takes_is_silent(call: str, tmp_path: Path) -> None:
    assert certainties(f"{STEPS}{MODELS}        {call}\n", tmp_path, "TPU711") == []


# `MEAN` hands one tensor on, and with an axis the rows of one tensor are reduced.
SUMS_REFUSED = [
    "strategy.reduce('SUM', tf.constant(3.0), axis=None)",
    "strategy.reduce(tf.distribute.ReduceOp.SUM, total, axis=None)",
    "strategy.reduce('SUM', total / 4.0, axis=None)",
    "strategy.reduce('SUM', tf.reduce_sum(strategy.reduce('MEAN', loss, axis=None)), axis=None)",
]
SUMS_TAKEN = [
    "strategy.reduce('MEAN', tf.constant(3.0), axis=None)",
    "strategy.reduce('SUM', tf.ones([4]), axis=0)",
    "strategy.reduce('SUM', loss, axis=None)",
    "strategy.reduce('SUM', tf.identity(loss), axis=None)",
    "strategy.reduce('SUM', losses[0], axis=None)",
    "strategy.reduce('SUM', x, axis=None)",
    "tf.distribute.get_strategy().reduce('SUM', tf.constant(3.0), axis=None)",
    "strategy.reduce('SUM', library.values(), axis=None)",
]


def found_in_sum(tmp_path: Path, call: str) -> list[str]:
    line = f"""
import library

total = 0.0
for loss in losses:
    total += strategy.reduce('SUM', loss, axis=None)
{call}
"""
    return certainties(PROGRAM.replace("{line}", "") + line, tmp_path, "TPU711")


@pytest.mark.parametrize("call", SUMS_REFUSED)
def test_a_sum_of_one_tensor_of_the_host_is_found(call: str, tmp_path: Path) -> None:
    assert found_in_sum(tmp_path, call) == ["definite"]


@pytest.mark.parametrize("call", SUMS_TAKEN)
def test_a_sum_of_what_each_replica_has_is_silent(call: str, tmp_path: Path) -> None:
    assert found_in_sum(tmp_path, call) == []


# What a loop catches, and whether that may be the error that the value of all replicas raises.
CAUGHT = {
    "tf.errors.UnavailableError": "definite",
    "(StopIteration, tf.errors.OutOfRangeError)": "definite",
    "KeyboardInterrupt": "definite",
    "(KeyboardInterrupt, TypeError)": "possible",
    "Exception": "possible",
    "tuple([StopIteration])": "possible",
    "BaseException": "possible",
}


@pytest.mark.parametrize("errors", CAUGHT)
def test_what_is_caught_decides_whether_a_use_is_sure(errors: str, tmp_path: Path) -> None:
    line = f"""
try:
    print(float(train(x)))
except {errors}:
    pass
"""
    text = PROGRAM.replace("{line}", "") + line
    assert certainties(text, tmp_path, "TPU711") == [CAUGHT[errors]]


def test_a_bare_except_may_catch_the_error(tmp_path: Path) -> None:
    line = "try:\n    print(float(train(x)))\nexcept:\n    pass\n"
    assert certainties(PROGRAM.replace("{line}", "") + line, tmp_path, "TPU711") == ["possible"]


SUM_OF_A_LOOP = (
    STRATEGY
    + """
def step(x):
    loss = {start}
    for part in range(3):
        loss += {added}
    return loss

@tf.function
def train(x):
    return strategy.run(step, args=(x,))

total = 0
for x in data:
    total += train(x)
"""
)


@pytest.mark.parametrize(
    ("start", "added", "verdicts"),
    [
        ("0.0", "tf.reduce_sum(x)", ["definite"]),
        ("tf.reduce_sum(x)", "tf.reduce_sum(x)", ["definite"]),
        ("[]", "[tf.reduce_sum(x)]", []),
    ],
)
def test_a_missed_alarm_a_loss_that_a_loop_adds_up(
    start: str, added: str, verdicts: list[str], tmp_path: Path
) -> None:
    text = SUM_OF_A_LOOP.format(start=start, added=added)
    text = text.replace("for x in data", "for x in [tf.ones([4])]")
    assert certainties(text, tmp_path, "TPU711") == verdicts
