"""Programs that the comparison with TensorFlow has found to differ, each as small as could be."""

from __future__ import annotations

import pytest

from tests.runtime.oracle.building import THEIRS, build
from tests.runtime.oracle.compare import difference
from tests.runtime.oracle.programs import MODES, Program
from tests.runtime.oracle.values import difference_of_values

FOUND = {
    "a tape over a tensor that a function both gets and captures": """
def program():
    outer_tensor = tf.constant([5., 6.], name='outer')
    def computation():
        with tf.GradientTape() as tape:
            tape.watch(outer_tensor)
            @tf.function(autograph=False)
            def called(x):
                return x + outer_tensor
            loss = called(outer_tensor) + outer_tensor
        return tape.gradient(loss, outer_tensor)
    tpu.replicate(computation, [[]])
""",
}

RUNS = {
    "a gradient in a branch, of what is outside it": """
def program():
    def computation(x):
        x = tf.reshape(x, [2])
        y = x * 3.
        given = tf.cond(
            tf.reduce_sum(x) > 0., lambda: tf.gradients(y + 0. * y, y)[0] + x, lambda: x
        )
        return given + y
    outputs.append(tpu.replicate(computation, [[tf.constant([1., 2.])], [tf.constant([-3., 4.])]]))
""",
    "a gradient in a branch, of a host operation whose constant it takes": """
def program():
    def computation(x):
        x = tf.reshape(x, [2])
        y = tpu.outside_compilation(lambda a: a * 2., x)
        given = tf.cond(tf.reduce_sum(x) > 0., lambda: tf.gradients(y, x)[0], lambda: x)
        return given + y
    outputs.append(tpu.replicate(computation, [[tf.constant([1., 2.])], [tf.constant([3., 4.])]]))
""",
    "lists that cross once the operations on others are not compiled": """
def program():
    def map_over(x):
        rows = tf.stack([x, x * 0.5])
        mapped = tf.reduce_sum(tf.map_fn(lambda e: tf.sin(e) * x, rows), 0)
        return tf.gradients(alone(mapped), x)[0]
    def fold_over(x):
        rows = tf.stack([x, x * 0.5])
        folded = tf.foldr(lambda a, e: tpu.outside_compilation(lambda a, b: a * b, a, e), rows)
        return tf.gradients(alone(tf.sin(folded)), x)[0]
    def computation(x):
        return map_over(fold_over(tf.identity(x)))
    outputs.append(tpu.replicate(computation, [[tf.constant([0.3, 0.4])]]))
""",
}

REFUSED = """
def program():
    outer_tensor = tf.constant([5., 6.], name='outer')
    def computation():
        with tf.control_dependencies([zeros()]):
            tpu.outside_compilation(lambda: tpu.replicate(lambda: outer_tensor + 1.))
    tpu.replicate(computation, [[]])
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FOUND)
def test_they_differ_no_more(name: str, mode: str) -> None:
    program = Program(0, mode, FOUND[name])
    assert build(program, THEIRS).error is None
    assert difference(program) is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", RUNS)
def test_they_run_as_plain_calls(name: str, mode: str) -> None:
    program = Program(0, mode, RUNS[name])
    assert difference(program) is None
    assert difference_of_values(program) is None


@pytest.mark.parametrize("mode", MODES)
def test_a_computation_in_a_cluster_is_refused_in_tensorflows_words(mode: str) -> None:
    """In a function TensorFlow trips over its own context, and says so by its class's name."""
    program = Program(0, mode, REFUSED)
    assert build(program, THEIRS).error is not None
    assert difference(program) is None
