"""Host functions that cannot take what outside_compilation passes on (TPU208)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.analysis import certainties
from tests.rules.openings import V1

CALLEES = (
    V1
    + """
import contextlib
import functools
import library

def one(v): return v
def named(v, *, scale): return v * scale
def all_named(v, **options): return v
def some(*values): return values[0]
def defaults(v, scale=1.0): return v * scale
def only(v, /): return v

@tf.function
def traced(v): return v

@tf.function(autograph=False)
def traced_so(v): return v

@tf.autograph.experimental.do_not_convert
def unconverted(v): return v

@library.curried
def curried(v): return v

@library.curried(2)
def curried_twice(v): return v

@library.table["curried"]
def from_table(v): return v

class Net:
    def method(self, v): return v
    def of_all(*values): return values[0]
    def of_none(): return None
    def of_names(*, v): return v
    @staticmethod
    def static(v): return v
    @classmethod
    def of_class(cls, v): return v
    @library.curried
    def curried(self, v): return v
    def __call__(self, v): return v

class Inherits(Net): pass
class InheritsMore(library.Base, Net): pass
class Silent: pass

net = Net()

def computation(x):
    return tf.tpu.outside_compilation({call})

tf.tpu.rewrite(computation, [tf.zeros([4])])
"""
)
FAULTS = (
    "one, x, x",
    "one",
    "one, w=x",
    "named, x",
    "defaults, x, x, x",
    "only, v=x",
    "traced, x, x",
    "traced_so, x, x",
    "unconverted, x, x",
    "net.method, x, x",
    "net.static, x, x",
    "net.of_class, x, x",
    "net.of_all, v=x",
    "net, x, x",
    "Inherits(), x, x",
    "functools.partial(one, x), x",
    "functools.partial(functools.partial(one, x), x)",
    "functools.partial(defaults, scale=2.0), x, x, x",
    "lambda: x, x",
    "lambda v: v",
)
SOUND = (
    "one, x",
    "one, v=x",
    "one, *library.arguments(x)",
    "one, x, **library.options(x)",
    "named, x, scale=x",
    "all_named, x, scale=x",
    "some, x, x",
    "some",
    "defaults, x",
    "only, x",
    "curried, x, x",
    "curried_twice, x, x",
    "from_table, x, x",
    "net.method, x",
    "net.of_all, x, x",
    "net.curried, x, x",
    "net.of_none, x",
    "net.of_names, x",
    "net.static, x",
    "net, x",
    "Inherits(), x",
    "InheritsMore(), x, x",
    "Silent(), x",
    "functools.partial(one, x)",
    "functools.partial(defaults, scale=2.0), x",
    "functools.partial(one, v=x), v=x",
    "library.callee, x, x",
    "functools.partial(library.callee, x), x",
)


def certainties_of(call: str, folder: Path) -> list[str]:
    return certainties(CALLEES.replace("{call}", call), folder, "TPU208")


@pytest.mark.parametrize("call", FAULTS)
def test_arguments_that_the_callee_refuses_are_reported(call: str, tmp_path: Path) -> None:
    assert certainties_of(call, tmp_path) == ["definite"]


@pytest.mark.parametrize("call", SOUND)
def test_arguments_that_the_callee_takes_are_silent(call: str, tmp_path: Path) -> None:
    assert certainties_of(call, tmp_path) == []
