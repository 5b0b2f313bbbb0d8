"""One generated program, judged by the analyzer and run by the runtime."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import tensorflow as tf

from tests.reading import read_program
from tests.runtime.oracle.building import OURS, control_flow, helpers, variable
from tests.runtime.oracle.programs import Program
from tests.runtime.oracle.values import tensors
from tpulint import rules
from tpulint.codes import CODES
from tpulint.finding import Certainty

SECONDS = 60.0
FILENAME = "/program/example.py"
PRELUDE = """
import functools
from collections import namedtuple

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.control_flow_ops import XLAControlFlowContext
from tensorflow.python.tpu.tpu_function import on_device_training_loop

import tpulint.runtime as tpu
from helpers import (
    assignment, dynamic, first_tensor, leave_context, made_here, queue, reference_variable,
)

Pair = namedtuple("Pair", ["first", "second"])


class Owner:
    def method(self, x):
        return x


twice = lambda x: x * 2
zeros = lambda: tf.zeros([2])
outputs = []
kept = []
variable = tf.Variable([1.0, 1.0], name="variable")
"""
CALL = {
    True: "tf.function(program, autograph=False)()\n",
    False: "with tf.Graph().as_default():\n    program()\n",
}


@dataclass(frozen=True)
class Outcome:
    """The codes that the analyzer says are certainly there, and all that it says."""

    definite: frozenset[str]
    any: frozenset[str]


@dataclass(frozen=True)
class Seen:
    """The runtime's outcome: the class of its error, and the rules it named."""

    error: str
    rules: frozenset[str]


def findings_of(program: Program) -> Outcome:
    """Return the findings of `tpulint check` for the program as a file of its own."""
    text = f"{PRELUDE}\n\n{program.source}\n\n{CALL[program.mode == 'function']}"
    read = read_program([FILENAME], unsaved={FILENAME: text.encode()})
    assert read.program is not None
    assert not read.program.failures
    findings = rules.run(read.program, frozenset(CODES))
    definite = frozenset(
        finding.code for finding in findings if finding.certainty is Certainty.DEFINITE
    )
    return Outcome(definite, frozenset(finding.code for finding in findings))


def seen(program: Program) -> Seen:
    """Build and run the program, and return its outcome."""
    error, rule = "", ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _run(program)
        except Exception as fault:  # whatever a program ends with
            error, rule = type(fault).__name__, getattr(fault, "rule", "")
    warned = {warning.message.rule for warning in caught if hasattr(warning.message, "rule")}
    return Seen(error, frozenset({rule, *warned} - {""}))


def _run(program: Program) -> None:
    names = helpers(OURS)
    exec(compile(program.source, f"program_{program.seed}.py", "exec"), names)
    names["variable"] = variable()
    with control_flow(program.mode), OURS.options(deadline=SECONDS):
        if program.mode == "function":

            @tf.function(autograph=False)
            def step() -> list[tf.Tensor]:
                names["program"]()
                return tensors(names["outputs"])

            step()
            return
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            names["variable"] = variable()
            names["program"]()
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(tensors(names["outputs"]))
