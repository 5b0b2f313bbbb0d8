"""How certain findings in device code are, also for rules of others."""

from __future__ import annotations

from tests.unit.reading import program
from tpulint import extend
from tpulint.finding import Certainty
from tpulint.queries.certainty import definite_if
from tpulint.queries.device_code import compiled_calls

PROGRAM = """
import sys
import tensorflow as tf

def rise(x):
    return tf.exp(x)

def fall(x):
    return tf.negative(x)

def compute(x):
    chosen = {"rise": rise, "fall": fall}[sys.argv[1]]
    return chosen(tf.abs(x))

tf.compat.v1.tpu.rewrite(compute, [[1.0]])
"""


def test_a_finding_is_definite_if_all_its_facts_hold() -> None:
    assert definite_if() is Certainty.DEFINITE
    assert definite_if(True, True) is Certainty.DEFINITE
    assert definite_if(True, False) is Certainty.POSSIBLE


def test_for_rules_of_others_a_guess_is_not_definite() -> None:
    read = program(PROGRAM)
    certainties = {
        call.last: extend.certainty(read, computation, call.context)
        for computation, call in compiled_calls(read)
    }
    assert certainties["abs"] is Certainty.DEFINITE
    assert certainties["exp"] is certainties["negative"] is Certainty.POSSIBLE
