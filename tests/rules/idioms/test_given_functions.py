"""Functions given to TensorFlow, and the certainty that they are device code.

`faulty` builds an operation without a TPU kernel (TPU501). Each row is a statement of a
computation; none of a strategy's other functions is run on the device.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import V1

COMPUTATION = """
import functools
import itertools
import sys
import library
from tensorflow.python.tpu import training_loop

flag = len(sys.argv) > 1

def sound(*args):
    return tf.zeros([])

def faulty(*args):
    return tf.as_string(1.0 + tf.zeros([]))

def outside_all_rewrites():
    return tf.control_dependencies(None)

def computation(x):
    less = x < 1.0
    {statement}
    return x

tf.tpu.rewrite(computation, [tf.zeros([])])
"""
GIVEN = {
    "a function that reduces": ("functools.reduce(faulty, [x, x])", "definite"),
    "a function that reduces, from a start": ("functools.reduce(faulty, [x], x)", "definite"),
    "a function that filters": ("list(filter(faulty, [x]))", "definite"),
    "a function of rows": ("list(itertools.starmap(faulty, [(x, x)]))", "definite"),
    "a branch": ("tf.cond(less, faulty, sound)", "definite"),
    "the other branch": ("tf.cond(less, sound, faulty)", "definite"),
    "a branch by name": ("tf.cond(less, true_fn=faulty, false_fn=sound)", "definite"),
    "one function or another for a branch": (
        "tf.cond(less, faulty if flag else sound, sound)",
        "possible",
    ),
    "a case": ("tf.case([(less, faulty)], default=sound)", "definite"),
    "the default of a case": ("tf.case([(less, sound)], default=faulty)", "definite"),
    "a case of a dict": ("tf.case({less: faulty}, default=sound)", "definite"),
    "one of several by number": ("tf.switch_case(tf.constant(0), [sound, faulty])", "definite"),
    "one of a dict by number": ("tf.switch_case(tf.constant(0), {1: faulty})", "definite"),
    "one list or another": (
        "tf.switch_case(tf.constant(0), [sound, faulty] if flag else [sound, sound])",
        "possible",
    ),
    "the body of a loop": ("tf.while_loop(lambda v: v < 1.0, faulty, [x])", "definite"),
    "the test of a loop": ("tf.while_loop(faulty, sound, [x])", "definite"),
    "one body or another": (
        "tf.while_loop(lambda v: v < 1.0, faulty if flag else sound, [x])",
        "possible",
    ),
    "the body of a loop over what is not seen": (
        "tf.while_loop(lambda v: v < 1.0, faulty, library.start())",
        "definite",
    ),
    "the function of a map": ("tf.map_fn(faulty, x)", "definite"),
    "one function or another of a map": ("tf.map_fn(faulty if flag else sound, x)", "possible"),
    "the function of a fold, by name": ("tf.foldl(fn=faulty, elems=x)", "definite"),
    "the body of a TPU's own loop": ("training_loop.repeat(9, faulty, [x])", "definite"),
    "the test of a TPU's own loop": ("training_loop.while_loop(faulty, sound, x)", "definite"),
    "the body of a loop that begins with what is not seen": (
        "training_loop.repeat(9, faulty, library.start())",
        "definite",
    ),
    "a tf.function": ("tf.function(faulty)(x)", "definite"),
    "a tf.function by name": ("tf.function(func=faulty, autograph=False)(x)", "definite"),
    "a tf.function of a partial": ("tf.function(functools.partial(faulty, 1))(x)", "definite"),
    "a tf.function of one or another": ("tf.function(faulty if flag else sound)(x)", "possible"),
    "a tf.function that is a decorator": (
        "@tf.function(jit_compile=True)\n    def inner():\n        return faulty()\n    inner()",
        "definite",
    ),
    "a concrete function": ("tf.function(faulty).get_concrete_function(x)(x)", "definite"),
    "the Python of a tf.function": ("tf.function(faulty).python_function(x)", "definite"),
    "a function whose gradient is recomputed": ("tf.recompute_grad(faulty)(x)", "definite"),
    "a function that is not converted": (
        "tf.autograph.experimental.do_not_convert(faulty)(x)",
        "definite",
    ),
    "an operation that is not known may call it": ("tf.unheard_of(faulty, x)", "possible"),
    "an operation that is not known may call a method": (
        "tf.unheard_of(functools.partial(faulty, 1))",
        "possible",
    ),
    "a library may call it or not": ("library.unheard_of(faulty, x)", ""),
    "nobody calls it": ("tf.unheard_of('faulty', x)", ""),
    "another module's repeat": ("library.repeat(9, sound, x)", ""),
    "a rewrite that is no TPU's": ("library.rewrite(faulty, [x])", ""),
}

AROUND = {
    "no context": ("if True:", "definite"),
    "a device": ('with tf.device("/cpu:0"):', "definite"),
    "a name": ('with tf.name_scope("a"):', "definite"),
    "dependencies": ("with tf.control_dependencies([x]):", "definite"),
    "no dependencies": ("with tf.control_dependencies([]):", "definite"),
    "cleared dependencies": ("with tf.control_dependencies(None):", ""),
    "cleared dependencies, by name": ("with tf.control_dependencies(control_inputs=None):", ""),
    "a function of that name": ("with library.outside_all_rewrites():", ""),
    "the project's own of that name": ("with outside_all_rewrites():", ""),
    "initial values": ("with tf.init_scope():", ""),
    "another graph": ("with tf.Graph().as_default():", ""),
    "a graph with a name": ("with library.graph.as_default():", ""),
    "a writer": ("with tf.summary.create_file_writer('a').as_default():", "definite"),
    "a context that is not seen": ("with library.scope():", "possible"),
    "one context or another": (
        "with tf.init_scope() if flag else tf.name_scope('a'):",
        "",
    ),
    "one of two that clear": ("with tf.init_scope() if flag else tf.init_scope():", ""),
}


def certainty_of(statement: str, folder: Path) -> str:
    text = V1 + COMPUTATION.replace("{statement}", statement)
    actual = certainties(text, folder, "TPU501")
    return min(actual, default="")  # "definite" comes first


@pytest.mark.parametrize("name", GIVEN)
def test_it_is_device_code_as_certainly_as_it_is_called(name: str, tmp_path: Path) -> None:
    statement, certainty = GIVEN[name]
    assert certainty_of(statement, tmp_path) == certainty


@pytest.mark.parametrize("name", AROUND)
def test_it_is_device_code_as_certainly_as_its_context(name: str, tmp_path: Path) -> None:
    context, certainty = AROUND[name]
    assert certainty_of(f"{context}\n        faulty(x)", tmp_path) == certainty
