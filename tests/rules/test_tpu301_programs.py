"""Programs with TPU301, and programs like them without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import assert_marked
from tests.rules.openings import REWRITTEN, STRATEGY, V1

CONTEXTS = V1 + "from tensorflow.python.ops import control_flow_ops\n\n"
PROGRAMS = {
    "a context manager of one's own leaves what it enters": V1
    + """
import contextlib

@contextlib.contextmanager
def cleared():
    with tf.control_dependencies(None):
        yield

def computation(x):
    def on_host(value):
        with cleared():
            return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "entered by one helper and left by another": V1
    + """
from tensorflow.python.ops import control_flow_ops

def begin(context):
    context.Enter()

def end(context):
    context.Exit()

def computation(x):
    def on_host(value):
        context = control_flow_ops.XLAControlFlowContext()
        begin(context)
        result = tf.math.log(value)
        end(context)
        return result
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "tf.function compares no contexts": STRATEGY
    + """
from tensorflow.python.ops import control_flow_ops

@tf.function
def train(batch):
    def step(x):
        def on_host(value):
            control_flow_ops.XLAControlFlowContext().Enter()
            return value
        return tf.compat.v1.tpu.outside_compilation(on_host, x)
    return strategy.run(step, args=(batch,))
""",
    "entered by a helper of the host function": V1
    + """
from tensorflow.python.ops import control_flow_ops

def begin():
    context = control_flow_ops.XLAControlFlowContext()
    context.Enter()  # error: TPU301
    return context

def computation(x):
    def on_host(value):
        begin()
        return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y):
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "entered on some runs only": V1
    + """
from tensorflow.python.ops import control_flow_ops

def computation(x, debug):
    def on_host(value):
        if debug:
            control_flow_ops.XLAControlFlowContext().Enter()  # possible: TPU301
        return tf.math.log(value)
    return tf.tpu.outside_compilation(on_host, x)

def build(x, y, debug):
    return tf.tpu.replicate(lambda value: computation(value, debug), [[x], [y]])
""",
    "a stack that gives away what it holds": V1
    + """
import contextlib

class Host:
    def on_host(self, value):
        with contextlib.ExitStack() as stack:
            stack.enter_context(tf.control_dependencies(None))  # error: TPU301
            self.kept = stack.pop_all()
        return tf.math.log(value)

def build(x, y):
    host = Host()
    computation = lambda value: tf.tpu.outside_compilation(host.on_host, value)
    return tf.tpu.replicate(computation, [[x], [y]])
""",
    "a context of the device, which a host cluster leaves alone": CONTEXTS
    + """
def computation(x):
    control_flow_ops.XLAControlFlowContext().Enter()
    tf.tpu.outside_compilation(tf.print, x * 2.0)
    return x
"""
    + REWRITTEN,
    "a context of a tf.function of the host": CONTEXTS
    + """
@tf.function
def on_host(value):
    control_flow_ops.XLAControlFlowContext().Enter()
    return value

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "a context in a host function that may be meant": CONTEXTS
    + """
import sys

def on_host(value):
    control_flow_ops.XLAControlFlowContext().Enter()  # possible: TPU301
    return value

def sent(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)

def computation(x):
    return {"sent": sent, "sin": tf.sin}[sys.argv[1]](x)
"""
    + REWRITTEN,
    "scopes that the host function enters and keeps": V1
    + """
def on_host(value):
    lifted = tf.init_scope()
    lifted.__enter__()
    after = tf.control_dependencies([value])
    after.__enter__()
    return value * 2.0

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "dependencies that the host function leaves": V1
    + """
def on_host(value):
    after = tf.control_dependencies([value])
    after.__exit__(None, None, None)
    return value * 2.0

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
    "a stack that is closed leaves all that it holds": V1
    + """
import contextlib

def on_host(value):
    stack = contextlib.ExitStack()
    stack.enter_context(tf.control_dependencies(None))
    stack.enter_context(tf.control_dependencies(None))
    result = tf.math.log(value)
    stack.close()
    return result

def computation(x):
    return tf.tpu.outside_compilation(on_host, x * 2.0)
"""
    + REWRITTEN,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_exactly_the_marked_findings_are_reported(text: str, tmp_path: Path) -> None:
    assert_marked(text, tmp_path)
