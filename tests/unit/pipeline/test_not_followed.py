"""A check counts what it leaves out, with the reason."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import program
from tests.rules.pages import write
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.output.statistics import skipped_lines
from tpulint.pipeline import driver

PROGRAM = """
import tensorflow as tf
import reading

strategy = tf.distribute.TPUStrategy()

def main():
    rows = reading.rows("file")

    @tf.function
    def train(x):
        return strategy.run(lambda x: x + 1, args=(x,))
    train(rows)
# file: reading.py
def rows(name):
    return open(name).readlines()
"""


def test_host_code_without_a_tpu_is_counted(tmp_path: Path) -> None:
    write(program(PROGRAM), tmp_path)
    request = driver.Request(Config(root=str(tmp_path)), frozenset(CODES), (str(tmp_path),))
    run = driver.check(driver.discover(request))
    assert dict(run.skipped) == {"on the host, in a module without TPU code": 1}
    assert skipped_lines(run.skipped) == [
        "1 reached functions were not followed: on the host, in a module without TPU code"
    ]
