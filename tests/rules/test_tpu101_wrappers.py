"""Host functions that one wrapper sends to the host: each callee has a budget of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties

HEAD = """import tensorflow as tf
from tensorflow.compat.v1 import tpu
v = tf.Variable(1.0)
def reads(x): return x + v.read_value()
"""
TOP = """def top(x):
    written = v.assign_add(x)
    with tf.control_dependencies([written]):
"""
MANY = 20
NAMES = "".join(f"    log(name{number})\n" for number in range(18))
HOSTED = "def hosted(f, x): return tpu.outside_compilation(f, x)\n"
LARGE = f"def hosted(f, x):\n{NAMES}    return tpu.outside_compilation(f, x)\n"
FACTORY = """def factory(f):
    def hosted(x): return tpu.outside_compilation(f, x)
    return hosted
"""
OBJECT = """class Hosted:
    def __init__(self, f): self.f = f
    def __call__(self, x): return tpu.outside_compilation(self.f, x)
"""
IN_A_LIST = "def hosted(fs, x): return tpu.outside_compilation(fs[0], x)\n"
PARTIAL = "import functools\ndef call(f, x): return f(x)\n" + HOSTED
OF_A_VARIABLE = (
    "def hosted(var, x): return tpu.outside_compilation(lambda y: y + var.read_value(), x)\n"
)
VARIABLES = "".join(f"v{number} = tf.Variable(1.0)\n" for number in range(MANY))


def computation(wrapper: str, call: str) -> str:
    """Return a program that calls a wrapper of `MANY` functions, and one of the deadlock last."""
    functions = "".join(f"def h{number}(x): return x\n" for number in range(MANY))
    calls = "".join(f"        x += {call.format(f'h{number}')}\n" for number in range(MANY))
    end = f"        return x + {call.format('reads')} + v\n"
    top = f"{TOP}{calls}{end}"
    return f"{HEAD}{wrapper}{functions}{top}tpu.rewrite(top, [1.0])\n"


@pytest.mark.parametrize(
    ("wrapper", "call"),
    [
        (HOSTED, "hosted({}, x)"),
        (LARGE, "hosted({}, x)"),
        (FACTORY, "factory({})(x)"),
        (OBJECT, "Hosted({})(x)"),
        (IN_A_LIST, "hosted([{}], x)"),
        (PARTIAL, "hosted(functools.partial(call, {}), x)"),
        (HOSTED, "hosted(lambda y: {}(y), x)"),
    ],
)
def test_a_wrapper_of_many_functions_is_followed_for_each(
    wrapper: str, call: str, tmp_path: Path
) -> None:
    assert certainties(computation(wrapper, call), tmp_path, "TPU101") == ["definite"]


def test_a_wrapper_of_many_variables_is_followed_for_each(tmp_path: Path) -> None:
    calls = "".join(f"        x += hosted(v{number}, x)\n" for number in range(MANY))
    top = f"{TOP}{calls}        return x + hosted(v, x) + v\n"
    text = f"{HEAD}{VARIABLES}{OF_A_VARIABLE}{top}tpu.rewrite(top, [1.0])\n"
    assert certainties(text, tmp_path, "TPU101") == ["definite"]


def test_of_a_list_of_many_functions_each_may_be_called(tmp_path: Path) -> None:
    functions = "".join(f"def h{number}(x): return x\n" for number in range(MANY))
    listed = ", ".join(f"h{number}" for number in range(MANY))
    loop = f"        for f in [{listed}, reads]:\n            x += tpu.outside_compilation(f, x)\n"
    top = f"{TOP}{loop}        return x + v\n"
    text = f"{HEAD}{functions}{top}tpu.rewrite(top, [1.0])\n"
    assert certainties(text, tmp_path, "TPU101") == ["possible"]
