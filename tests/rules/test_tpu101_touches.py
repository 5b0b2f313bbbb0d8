"""Touches of a variable, sends to the host, and waits for it: TPU101, line by line.

The device holds a variable and waits for a host function that wants it. Each program differs in
one line from the deadlock that is there for sure.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import V1

DEADLOCK = """
import sys
import library

total = tf.get_variable("total", [], use_resource=True)
step = tf.train.get_or_create_global_step()
size = library.size()
words = ["a"]

def host(v=None):
    with tf.control_dependencies([v]):
        {host}
    return v

def computation(x):
    z = x * 2.0
    {device}
    y = tf.tpu.outside_compilation(host, {sent})
    return {used}

tf.tpu.rewrite(computation, [tf.zeros([])])
"""
AS_IT_IS = {"host": "v = v + total", "device": "total.assign(z)", "sent": "z", "used": "y + 1.0"}

# The line that differs, what is there, and how sure the deadlock is.
LINES = [
    ("host", "v = v + total", "definite"),
    ("host", "v = total.read_value()", "definite"),
    ("host", "v = total.value() * 2.0", "definite"),
    ("host", "v = tf.add(total, v)", "definite"),
    ("host", "v = tf.identity(total)", "definite"),
    ("host", "v = -total", "definite"),
    ("host", "v = total > v", "definite"),
    ("host", "v += total", "definite"),
    ("host", "v = total[0]", "definite"),
    ("host", "v = v * [total][0]", "definite"),
    ("host", "v = {'t': total}['t'] + 1.0", "definite"),
    ("host", "v = total.assign(v) * 1.0", "definite"),
    ("host", "v = total.assign(v)  # the device reads it", ""),
    ("host", "v = total.assign_sub(v, read_value=False)", "definite"),
    ("host", "v = tf.assign(total, v) + 0.0", "definite"),
    ("host", "v = -tf.assign_add(ref=total, value=v)", "definite"),
    ("host", "v = total.sparse_read([0])", "definite"),
    ("host", "return total  # the device reads it", ""),
    ("host", "v = tf.cond(v > 0.0, lambda: total + 1.0, lambda: v)", "definite"),
    ("host", "v = library.count(total)", "possible"),
    ("host", "v = total if len(sys.argv) > 1 else v\n        v = v + 1.0", "possible"),
    ("host", "library.Counter(total)\n        v = v + 1.0", ""),
    ("host", "v = total.shape", ""),
    ("host", "v = total.get_shape()", ""),
    ("host", "v = total.is_initialized()", ""),
    ("host", "v = v if total is None else -v", ""),
    ("host", "v = v + 1.0", ""),
    ("host", "library.Counter(total)  # what is only handed back was never sent", ""),
    ("device", "total.assign_add(1.0)", "definite"),
    ("device", "z = z + total", "definite"),
    ("device", "tf.assign(total, z)", "definite"),
    ("device", "z = tf.cond(z > 0.0, lambda: total + 1.0, lambda: z)", "definite"),
    ("device", "tf.train.GradientDescentOptimizer(total).minimize(z)", "definite"),
    ("device", "tf.keras.optimizers.SGD(0.1).minimize(lambda: z, [total])", "definite"),
    ("device", "tf.train.AdamOptimizer().minimize(z, var_list=[total])", "definite"),
    ("device", "tf.train.AdamOptimizer().apply_gradients([(z, total)])", "definite"),
    ("device", "library.optimizer().minimize(z, var_list=[total])", "possible"),
    ("device", "if len(sys.argv) > 1:\n        total.assign(z)", "possible"),
    ("device", "library.count(total)", "possible"),
    ("device", "z = z + (total if len(sys.argv) > 1 else z)", "possible"),
    ("device", "print(total.shape)", ""),
    ("device", "z = z + 1.0", ""),
    ("sent", "v=z", "definite"),
    ("sent", "x * 3.0", "definite"),
    ("sent", "[z]", "definite"),
    ("sent", "args=[z]", "definite"),
    ("sent", "z if len(sys.argv) > 1 else x", "definite"),
    ("sent", "library.scale(z)", "definite"),
    ("sent", "*[z]", "definite"),
    ("sent", "*library.all(z)", "possible"),
    ("sent", "*size", "possible"),
    ("sent", "size", "possible"),
    ("sent", "[size for _ in sys.argv]", "possible"),
    ("sent", "args=size", "possible"),
    ("sent", "args=None", ""),
    ("sent", "words", ""),
    ("sent", "x", ""),
    ("sent", "1.0", ""),
    ("used", "tf.identity(y)", "definite"),
    ("used", "x + [y][0]", "definite"),
    ("used", "tf.cond(y > 0.0, lambda: x, lambda: z)", "definite"),
    ("used", "tf.cond(x > 0.0, lambda: y + 1.0, lambda: z)", "definite"),
    ("used", "library.scale(y)", "possible"),
    ("used", "y + 1.0 if len(sys.argv) > 1 else x", "possible"),
    ("used", "y", ""),
    ("used", "x", ""),
    ("used", "(x, y)", ""),
    ("used", "(x, [y])", "definite"),
    ("used", "{'y': y}", "definite"),
]


@pytest.mark.parametrize(("where", "line", "certainty"), LINES)
def test_the_certainty_of_the_deadlock_by_line(
    where: str, line: str, certainty: str, tmp_path: Path
) -> None:
    text = V1 + DEADLOCK
    for name, lines in {**AS_IT_IS, where: line}.items():
        text = text.replace(f"{{{name}}}", lines)
    actual = set(certainties(text, tmp_path, "TPU101"))
    assert actual == ({certainty} if certainty else set())
