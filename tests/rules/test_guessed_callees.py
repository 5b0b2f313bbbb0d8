"""Nothing is definite where the called function is only guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.guessed_operations import PROGRAMS as OF_CALLS
from tests.rules.openings import STRATEGY, V1

SOUND = """
import sys

def sound(x):
    return x
"""
IN_A_COMPUTATION = """
def computation(x):
    return {called}(x)

tf.tpu.rewrite(computation, [tf.zeros([8, 4])])
"""
IN_A_MODEL_FN = """
def model_fn(features, labels, mode, params):
    return {called}(tf.reduce_mean(tf.layers.dense(features, 1)))

tf.estimator.tpu.TPUEstimator(model_fn, use_tpu=True, config=tf.estimator.tpu.RunConfig())
"""
IN_A_STEP = """
optimizer = {called}(0.1)

with strategy.scope():
    kernel = tf.Variable(1.0)

def step(x):
    optimizer.apply_gradients([(tf.reduce_sum(x), kernel)])

@tf.function
def train(x):
    strategy.run(step, args=(x,))

train(tf.zeros([8, 4]))
"""
AT_THE_TOP = """
{called}(tf.zeros([8, 4]))
"""
SPEC = "tf.estimator.tpu.TPUEstimatorSpec('train', loss=x, train_op=tf.no_op()"

# The rule, where the function that breaks it is called, and the function.
FAULTS = {
    "TPU101": (
        IN_A_COMPUTATION,
        """
counter = tf.get_variable("counter", [], use_resource=True)

def faulty(x):
    counter.assign_add(1.0)
    with tf.control_dependencies([x * 1]):
        return tf.tpu.outside_compilation(lambda v: v + counter, x * 2.0) + 1.0
""",
    ),
    "TPU201": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    inner = lambda v: tf.tpu.outside_compilation(tf.sin, v)
    return tf.tpu.outside_compilation(inner, x)
""",
    ),
    "TPU202": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    return tf.tpu.rewrite(tf.sin, [x])
""",
    ),
    "TPU203": (
        AT_THE_TOP,
        """
def faulty(x):
    return tf.tpu.outside_compilation(tf.sin, x)
""",
    ),
    "TPU205": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    return tf.tpu.outside_compilation(tf.sin(x))
""",
    ),
    "TPU207": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    kept = []
    tf.tpu.outside_compilation(lambda v: kept.append(tf.sin(v)), x)
    return kept[0] + 1.0
""",
    ),
    "TPU208": (
        IN_A_COMPUTATION,
        """
def record(value):
    return value

def faulty(x):
    return tf.tpu.outside_compilation(record, x, x)
""",
    ),
    "TPU303": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    made = []

    def branch():
        made.append(tf.sin(x))
        return x

    tf.cond(tf.reduce_sum(x) > 0.0, branch, lambda: x)
    return made[0] + 1.0
""",
    ),
    "TPU401": (
        AT_THE_TOP,
        """
def faulty(x):
    return tf.tpu.replicate(tf.sin, [x, x])
""",
    ),
    "TPU501": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    tf.as_string(x)
    return x
""",
    ),
    "TPU505": (
        IN_A_COMPUTATION,
        """
def faulty(x):
    body = lambda v: tf.tpu.outside_compilation(tf.sin, v)
    return tf.while_loop(lambda v: tf.reduce_sum(v) > 0.0, body, [x])
""",
    ),
    "TPU601": (
        IN_A_MODEL_FN,
        f"""
def faulty(x):
    loss = tf.reshape(x, [1])
    return {SPEC}, host_call=(lambda: tf.summary.scalar("loss", loss[0]), []))
""",
    ),
    "TPU602": (
        IN_A_MODEL_FN,
        f"""
def faulty(x):
    return {SPEC}, host_call=(lambda: tf.no_op(), [tf.reshape(x, [1])]))
""",
    ),
    "TPU603": (
        IN_A_MODEL_FN,
        f"""
def faulty(x):
    return {SPEC}, host_call=(lambda loss: tf.no_op(), [x]))
""",
    ),
    "TPU604": (
        IN_A_MODEL_FN,
        """
def faulty(x):
    update = tf.train.AdamOptimizer().minimize(x)
    return tf.estimator.tpu.TPUEstimatorSpec("train", loss=x, train_op=update)
""",
    ),
    "TPU702": (
        IN_A_STEP,
        """
def faulty(x):
    return tf.keras.optimizers.Adam(x)
""",
    ),
}
GUESSED = '{"faulty": faulty, "sound": sound}[sys.argv[1]]'
PROGRAMS = [
    *(
        pytest.param(
            code, f"{STRATEGY if where == IN_A_STEP else V1}{SOUND}{fault}{where}", id=code
        )
        for code, (where, fault) in FAULTS.items()
    ),
    *(pytest.param(code, text, id=f"{code} in a call") for code, text in OF_CALLS.items()),
]

each_program = pytest.mark.parametrize(("code", "text"), PROGRAMS)


@each_program
def test_it_is_definite_where_the_callee_is_known(code: str, text: str, tmp_path: Path) -> None:
    assert certainties(text.replace("{called}", "faulty"), tmp_path, code) == ["definite"]


@each_program
def test_it_is_possible_where_the_callee_is_guessed(code: str, text: str, tmp_path: Path) -> None:
    actual = certainties(text.replace("{called}", GUESSED), tmp_path, code)
    assert actual in (["possible"], [])
