"""A few findings made by hand, with everything that a format can be asked to show."""

from __future__ import annotations

import json

from tpulint.finding import Applicability, Certainty, Edit, Finding, Fix, Location, Span, Step
from tpulint.output.context import RenderContext
from tpulint.source import Source, read_source

TRAINER = """\
import tensorflow.compat.v1 as tf


class Trainer:
    def __init__(self):
        self.steps = tf.get_variable("steps", [], tf.int64)

    def log(self, loss):
        with tf.control_dependencies([tf.print("step", self.steps.read_value(), "loss", loss)]):
            return tf.identity(loss)

    def step(self, x):
        loss = self.model(x)
        self.steps.assign_add(1)
        return tf.tpu.outside_compilation(self.log, loss)

    def train(self):
        return tf.tpu.rewrite(self.step, [self.batch], name="train")
"""
ODD = """\
# \u4e2d\u6587 <b>&amp;</b>
tf.tpu.outside_compilation(
\tf"\u4e2d\u6587",
    lambda: None,
    lambda: None,
    lambda: None,
    lambda: None,
)
"""
CELLS = [("markdown", "# Title"), ("code", "x = 1"), ("code", "%magic\ntpu.shard(f, [x, y])")]
NOTEBOOK = json.dumps({"cells": [{"cell_type": kind, "source": text} for kind, text in CELLS]})
LONG_CELLS = [{"cell_type": kind, "source": text.splitlines(True)} for kind, text in CELLS]
LONG_NOTEBOOK = json.dumps({"metadata": {"a": ["[", '"']}, "cells": LONG_CELLS}, indent=1)
LONG_NOTEBOOK_ROW = 1 + LONG_NOTEBOOK.split("tpu.shard")[0].count("\n")

SOURCES = {
    "trainer.py": read_source("trainer.py", TRAINER.encode()),
    "sub dir/odd.py": read_source("sub dir/odd.py", ODD.encode()),
    "note.ipynb": read_source("note.ipynb", NOTEBOOK.encode()),
    "long.ipynb": read_source("long.ipynb", LONG_NOTEBOOK.encode()),
}
CONTEXT = RenderContext(
    "/project", SOURCES, hidden={"TPU103": 1, "TPU802": 1}, unset=frozenset(["target-tensorflow"])
)


def spot(source: Source, row: int, text: str) -> Span:
    column = source.lines[row - 1].index(text) + 1
    return Span(source.filename, Location(row, column), Location(row, column + len(text)))


def in_trainer(row: int, text: str) -> Span:
    return spot(SOURCES["trainer.py"], row, text)


DEADLOCK = Finding(
    "TPU101",
    "`self.steps` is read by the host cluster `Trainer.log` while the TPU computation that waits "
    "for that cluster holds it",
    in_trainer(15, "tf.tpu.outside_compilation(self.log, loss)"),
    trace=(
        Step("device", in_trainer(18, "tf.tpu.rewrite"), "compiles `Trainer.step`"),
        Step(
            "device",
            in_trainer(14, "self.steps.assign_add(1)"),
            "writes `self.steps`: the device program holds its lock for its whole run",
            holds="self.steps",
        ),
        Step(
            "device",
            in_trainer(15, "tf.tpu.outside_compilation(self.log, loss)"),
            "waits for the result of the host cluster",
            waits_for="`Trainer.log`",
        ),
        Step("host", in_trainer(15, "self.log"), "the host cluster starts"),
        Step(
            "host",
            in_trainer(9, "self.steps.read_value()"),
            "waits for the lock of `self.steps`, which the device gives back only when it is done",
            waits_for="self.steps",
        ),
    ),
    fix=Fix(
        Applicability.UNSAFE,
        "Read the variable on the device and pass its value",
        (
            Edit(Location(15, 57), Location(15, 57), ", self.steps.read_value()"),
            Edit(Location(8, 22), Location(8, 22), ", steps"),
        ),
    ),
)
NAME = Finding(
    "TPU405",
    "name= does nothing",
    in_trainer(18, 'name="train"'),
    fix=Fix(
        Applicability.SAFE,
        "Drop the argument",
        (Edit(Location(18, 54), Location(18, 68), ""),),
    ),
)
ODD_ONE = Finding(
    "TPU203",
    "100% <sure>, \u4e2d: no \x1b[31m TPU\ncomputation",
    Span("sub dir/odd.py", Location(2, 1), Location(8, 2)),
    Certainty.POSSIBLE,
)
IN_NOTEBOOK = Finding(
    "TPU401",
    "inputs must be a list of lists",
    spot(SOURCES["note.ipynb"], 3, "[x, y]"),
    trace=(Step("replica 0", spot(SOURCES["note.ipynb"], 1, "x = 1"), "gets x"),),
    fix=Fix(
        Applicability.UNSAFE, "Wrap them", (Edit(Location(3, 14), Location(3, 20), "[[x, y]]"),)
    ),
)
IN_LONG_NOTEBOOK = IN_NOTEBOOK._replace(
    span=IN_NOTEBOOK.span._replace(filename="long.ipynb"), trace=()
)
FINDINGS = (IN_NOTEBOOK, ODD_ONE, DEADLOCK, NAME)
