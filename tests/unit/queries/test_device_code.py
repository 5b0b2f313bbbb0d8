"""The calls that are compiled for the device are found once for all rules that ask."""

from __future__ import annotations

import pytest

from tests.unit.reading import MAIN, program
from tpulint.absint.domain.site import Module
from tpulint.file_facts import ON
from tpulint.queries.device_code import compiled_calls, iterated_by, moved_calls
from tpulint.syntax.nodes import For

PROGRAM = """
import tensorflow as tf

def compute(x):
    with tf.init_scope():
        tf.abs(x)
    return tf.exp(x)

tf.compat.v1.tpu.rewrite(compute, [[1.0]])
"""


def test_what_leads_out_of_a_computation_is_no_device_code() -> None:
    names = [call.last for _, call in compiled_calls(program(PROGRAM))]
    assert "exp" in names
    assert "abs" not in names


def test_they_are_found_once() -> None:
    read = program(PROGRAM)
    assert compiled_calls(read) is compiled_calls(read)
    assert moved_calls(read) is moved_calls(read)


def test_what_soft_placement_moves_is_not_compiled() -> None:
    read = program(PROGRAM)
    assert not moved_calls(read)
    read = program(PROGRAM)
    read.soft_placement = {MAIN: ON}
    assert "exp" in [call.last for _, call in moved_calls(read)]
    assert not compiled_calls(read)


LOOPS = """
import tensorflow as tf

def compute(x):
    for item in tf.data.Dataset.range(3):
        x = tf.exp(x)
    for number in range(3):
        x = tf.exp(x)
    return x

tf.compat.v1.tpu.rewrite(compute, [[1.0]])
"""


def test_only_a_loop_over_an_object_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # A look-up walks a function: one for each call of a long function took most of the rules' time.
    calls = program(LOOPS).computations[0].calls
    looked_up = []
    find = Module.node_at

    def node_at(module: Module, place: int, kind: type[For]) -> For | None:
        looked_up.append(place)
        return find(module, place, kind)

    monkeypatch.setattr(Module, "node_at", node_at)
    places = [site.span.start.row for iterated, site in map(iterated_by, calls) if iterated]
    assert places == [5]
    assert len(looked_up) == 1
