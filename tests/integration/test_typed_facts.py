"""A fact about TensorFlow is a row of data: it is reported without a change of any Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.conftest import ROOT

SECONDS = 60
KNOWLEDGE = Path("tpulint", "frontends", "tensorflow", "knowledge")


class Fact(NamedTuple):
    """`row` of `table`, and `command` where one writes another table of it: `message` of `program`.

    All are for trial, and say what no row says yet.
    """

    table: str
    row: str
    command: tuple[str, ...]
    program: str
    message: str


FACTS = {
    "a function that ends in an operation without a kernel": Fact(
        "operations.toml",
        '[[builds]]\nname = "tensorflow.audio.play"\noperations = ["PlayAudio"]\nwhy = "a trial"\n',
        ("scripts/knowledge.py", "--typed"),
        """
import tensorflow.compat.v1 as tf

def computation(x):
    tf.audio.play(x)
    return x

tf.tpu.rewrite(computation, [tf.zeros([4])])
""",
        "TPU501 `play` builds `PlayAudio`, which has no TPU kernel",
    ),
    "a name that moved": Fact(
        "renames.toml",
        '[[renamed]]\nold = "tensorflow.distribute.TPUTactics"\n'
        'new = ["tensorflow.distribute.TPUStrategy"]\nwhy = "a trial"\n',
        (),
        "import tensorflow as tf\n\nstrategy = tf.distribute.TPUTactics()\n",
        "use `tf.distribute.TPUStrategy`",
    ),
    "a method that was renamed": Fact(
        "renames.toml",
        '[[method]]\nname = "update_non_slot"\n'
        'on = "tensorflow.distribute.StrategyExtended"\nnew = "update"\nwhy = "a trial"\n',
        (),
        """
import tensorflow as tf

strategy = tf.distribute.TPUStrategy()
strategy.extended.update_non_slot([], print)
""",
        "`update_non_slot` no longer exists in TensorFlow 2.4: use `update`",
    ),
    "a folder of the program's machine": Fact(
        "folders.toml",
        '[[local]]\nstarts = "/lustre/"\nwhy = "a trial"\n',
        (),
        """
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="grpc://10.240.1.2:8470")
strategy = tf.distribute.TPUStrategy(resolver)
lines = tf.data.TextLineDataset("/lustre/names.txt").batch(8, drop_remainder=True)
batches = strategy.experimental_distribute_dataset(lines)
""",
        "TPU607 `TextLineDataset` reads a file of this machine",
    ),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what a checkout has of the analyzer."""
    without = shutil.ignore_patterns("__pycache__", "runtime")
    for name in ("tpulint", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / name, ignore=without)
    return tmp_path / "copy"


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=copy, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_a_row_is_enough(fact: Fact, copy: Path, tmp_path: Path) -> None:
    program = tmp_path / "program" / "train.py"
    program.parent.mkdir()
    program.write_text(fact.program, encoding="utf-8")
    (program.parent / "requirements.txt").write_text("tensorflow==2.15\n", encoding="utf-8")
    check = ("-m", "tpulint", "check", "--no-cache", "--certainty", "possible")
    check += ("--output-format", "concise", str(program.parent))
    before = python(copy, *check)
    assert before.returncode in (0, 1), before.stderr
    assert fact.message not in before.stdout
    with open(copy / KNOWLEDGE / fact.table, "a", encoding="utf-8") as table:
        table.write("\n" + fact.row)
    if fact.command:
        done = python(copy, *fact.command)
        assert done.returncode == 0, done.stderr
    after = python(copy, *check)
    assert after.returncode == 1, after.stderr
    assert fact.message in after.stdout
