"""A check says how much it has analyzed, and counts what it leaves out, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rules.analysis import program
from tpulint.check import driver
from tpulint.cli.main import main
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.output.json import merged
from tpulint.output.summary import coverage_lines
from tpulint.testing import write

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
    assert coverage_lines(run.context.coverage, run.skipped) == [
        "Checked 1 TPU program in 1 of 2 files.",
        "1 reached function was not followed: on the host, in a module without TPU code",
    ]


NAMES = " + ".join(f"name{number}" for number in range(60))
CALLED_OFTEN = f"""
from tensorflow.compat.v1 import tpu
def log(x):
    return {NAMES}
def top(x):
    {"; ".join(["log(x)"] * 5)}
    return x
tpu.rewrite(top, [1.0])
"""
LINE = "2 calls were not analyzed: 2 beyond a limit of the analysis. See `--statistics`.\n"
CHECKED = "Checked 1 TPU program in 1 of 1 file."


@pytest.fixture
def called_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a program that calls a large function twice more than it is read."""
    (tmp_path / "main.py").write_text(CALLED_OFTEN)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("called_often")
def test_calls_that_a_limit_cuts_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A silent gap: a function that is called often was read a few times, and nothing said so."""
    for _ in range(2):  # the second check takes its result from the cache
        main(["check", "main.py"])
        assert capsys.readouterr().out == f"{CHECKED}\n{LINE}"
    main(["check", "--no-cache", "main.py"])
    assert capsys.readouterr().out == f"{CHECKED}\n{LINE}"
    main(["check", "-q", "main.py"])
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("called_often")
def test_other_formats_count_the_cut_calls_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["check", "--output-format", "json", "main.py"])
    assert capsys.readouterr() == ("[]\n", f"tpulint: {LINE}")


@pytest.mark.usefixtures("called_often")
def test_the_statistics_name_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--statistics", "main.py"])
    line = "tpulint: 2 calls of `log` not analyzed: analyzed for earlier calls only\n"
    assert capsys.readouterr().err == f"tpulint: {CHECKED}\n{line}"
    main(["check", "-v", "main.py"])
    output = capsys.readouterr().err
    assert (
        "main.py:6:29: this call of `log` was not analyzed: analyzed for earlier calls only\n"
        in output
    )


@pytest.mark.usefixtures("called_often")
def test_sarif_has_a_notification_of_each_cut_call(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", "--output-format", "sarif", "main.py"])
    text = capsys.readouterr().out
    for log in (text, merged([text, text])[0]):
        (invocation,) = json.loads(log)["runs"][0]["invocations"]
        notes = invocation["toolExecutionNotifications"]
        columns = [
            note["locations"][0]["physicalLocation"]["region"]["startColumn"] for note in notes
        ]
        assert columns == [29, 37]
        coverage = json.loads(log)["runs"][0]["properties"]["coverage"]
        assert coverage["callsNotAnalyzed"] == {"limit": 2 if log is text else 4}


def test_sarif_of_an_incomplete_check_is_not_successful(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--output-format", "sarif", "missing.py"]) == 2
    text = capsys.readouterr().out
    for log in (text, merged([text, text])[0]):
        (invocation,) = json.loads(log)["runs"][0]["invocations"]
        assert not invocation["executionSuccessful"]
        (note,) = invocation["toolExecutionNotifications"]
        assert note["level"] == "error"
        assert note["message"]["text"] == "missing.py: no such file or directory"
        (location,) = note["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "missing.py"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to an empty project."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_clean_check_says_what_it_has_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A false calm: "All checks passed!" was said of projects of which a sixth had been read."""
    files = program(
        """
        # file: train.py
        import tensorflow as tf
        import step
        tf.compat.v1.tpu.rewrite(step.train, [tf.ones([8])])
        # file: step.py
        import tensorflow as tf
        def train(x):
            return x + 1
        def evaluate(x):
            return tf.unique(x)
        def report(path):
            return open(path)
        # file: reading.py
        import tensorflow as tf
        def rows(name):
            return tf.data.TFRecordDataset(name)
        # file: notes.py
        TEXT = "about a TPU"
        """
    )
    write(files, project)
    for _ in range(2):  # the second check takes its result from the cache
        assert main(["check"]) == 0
        assert capsys.readouterr().out == "Checked 1 TPU program in 2 of 4 files.\n"
    assert main(["check", "reading.py"]) == 0
    assert capsys.readouterr().out == "No TPU program found in 1 file.\n"
    main(["check", "step.py"])
    assert capsys.readouterr().out == "Checked 1 TPU program in 1 of 1 file.\n"
    main(["check", "--statistics"])
    output = capsys.readouterr().err
    assert "tpulint: 1 function that uses TensorFlow: nothing that was read calls it\n" in output


def test_missed_before_a_layer_that_nothing_calls(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a layer's `call` does runs on the device, though it may not name TensorFlow itself."""
    (project / "train.py").write_text(
        "import tensorflow as tf\n"
        "class Block(tf.keras.layers.Layer):\n"
        "    def call(self, x):\n"
        "        return self.inner(x)\n"
        "    def other(self, x):\n"
        "        return self.inner(x)\n"
        "tf.compat.v1.tpu.rewrite(abs, [tf.ones([8])])\n"
    )
    main(["check", "--statistics"])
    output = capsys.readouterr().err
    assert "tpulint: 1 function that uses TensorFlow: nothing that was read calls it\n" in output


def test_missed_before_an_optimizer_whose_base_is_not_seen(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A silent gap: a helper that is not here gives `tf`, and the device runs the update."""
    (project / "train.py").write_text(
        "from helpers import *\n"
        "from tensorflow.compat.v1 import tpu\n"
        "class Rectified(tf.keras.optimizers.Optimizer):\n"
        "    def _resource_apply_dense(self, grad, var):\n"
        "        return var.assign_sub(grad)\n"
        "class Helper:\n"
        "    def update_state(self, x):\n"
        "        return x.other()\n"
        "tpu.rewrite(abs, [1.0])\n"
    )
    main(["check", "--statistics"])
    output = capsys.readouterr().err
    assert "tpulint: 1 function that uses TensorFlow: nothing that was read calls it\n" in output


def test_other_frameworks_are_not_checked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "a.py": "import os, jax.numpy as jnp\n",
        "b.py": "from jax import jit\n",
        "c.py": "import torch_xla.core.xla_model as xm\n",
        "d.py": "import jaxtyping\n",
    }
    for name, text in texts.items():
        (project / name).write_text(text)
    for _ in range(2):
        assert main(["check"]) == 0
        assert capsys.readouterr().out == (
            "No TPU program found in 4 files."
            " Not checked: 2 files with JAX, 1 file with PyTorch/XLA.\n"
        )
    (project / "c.py").write_text("def train(strategy):\n    strategy.run(lambda: 1)\n")
    main(["check"])
    assert capsys.readouterr().out == "Checked 1 TPU program in 1 of 4 files.\n"


def test_device_code_that_was_not_read_is_counted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = program(
        """
        # file: train.py
        import numpy as np
        import tensorflow as tf
        import tensorflow_addons as tfa
        import registry
        def step(x):
            np.sqrt(8)
            np.prod(x.shape)
            x = tf.nn.relu(x)
            x = tfa.activations.gelu(x)
            return registry.pick("net")(x)
        tf.compat.v1.tpu.rewrite(step, [tf.ones([8])])
        # file: registry.py
        def pick(name):
            return globals()[name]
        """
    )
    write(files, project)
    main(["check"])
    assert capsys.readouterr().out == (
        "Checked 1 TPU program in 2 of 2 files.\n"
        "2 calls were not analyzed: 1 of unknown functions, 1 of other packages."
        " See `--statistics`.\n"
    )
    main(["check", "--statistics"])
    assert capsys.readouterr().err.splitlines()[1:] == [
        "tpulint: 1 call of `tensorflow_addons.activations.gelu` not analyzed:"
        " `tensorflow_addons` is not in the project",
        "tpulint: 1 call of `?` not analyzed: nothing tells which function it is",
    ]
    main(["check", "--output-format", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["properties"]["coverage"] == {
        "programs": 1,
        "filesRead": 2,
        "files": 2,
        "functionsNotReached": 0,
        "callsNotAnalyzed": {"outside": 1, "unknown": 1},
    }
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 2


REGISTRY = """
# file: train.py
import tensorflow as tf
from registry import TRAINERS

strategy = tf.distribute.TPUStrategy()

class Layer(tf.keras.layers.Layer):
    def __init__(self, activation):
        super().__init__()
        self.activation = activation

    def call(self, x):
        return super().call(self.activation(x))

def main(name, flags):
    trainer = TRAINERS[name](flags)
    layer = Layer(TRAINERS[flags.activation])

    @tf.function
    def step(x):
        trainer.train_step(x)
        trainer.optimizer.apply_gradients(x)
        trainer.names.append(x)
        trainer.report()
        return layer(x)

    strategy.run(step, args=(tf.ones([8]),))
# file: registry.py
import os

def load(name):
    return os.environ[name]

TRAINERS = {name: load(name) for name in os.listdir()}
"""


def test_methods_of_an_object_from_a_registry_are_counted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A silent gap: the step of a trainer that a registry gives was neither read nor reported."""
    write(program(REGISTRY), project)
    main(["check", "--statistics"])
    output = capsys.readouterr().err
    reason = "not analyzed: nothing tells which function it is"
    counted = [line for line in output.splitlines() if line.endswith(reason)]
    assert counted == [
        f"tpulint: 1 call of `activation` {reason}",
        f"tpulint: 1 call of `train_step` {reason}",
    ]


def test_missed_before_a_schedule_that_takes_only_the_step(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A silent gap: an unseen function that was given a variable, and no tensor, was not named."""
    (project / "train.py").write_text(
        "import tensorflow.compat.v1 as tf\n"
        "def build(schedule):\n"
        "    def step(x):\n"
        "        return x * schedule(global_step=tf.train.get_or_create_global_step())\n"
        "    return tf.tpu.rewrite(step, [tf.ones([8])])\n"
    )
    assert main(["check"]) == 0
    assert "1 call was not analyzed: 1 of unknown functions." in capsys.readouterr().out
    main(["explain", "."])
    assert "schedule: nothing tells which function it is" in capsys.readouterr().out


# What the device does in code of the project that nothing leads to, and the line that says so.
GAPS = {
    "a function that is given to code that is not read": (
        "import grids\n"
        "import tensorflow.compat.v1 as tf\n"
        "def step(x):\n"
        "    def body(i):\n"
        "        return i + x\n"
        "    return grids.loop(body)\n"
        "tf.tpu.rewrite(step, [tf.ones([8])])\n",
        "1 call of `grids.loop` not analyzed: `grids` is not in the project",
    ),
    "a parameter that is called without arguments": (
        "import tensorflow.compat.v1 as tf\n"
        "def build(optimizer_of):\n"
        "    def step(x):\n"
        "        optimizer_of()\n"
        "        return x\n"
        "    return tf.tpu.rewrite(step, [tf.ones([8])])\n",
        "1 call of `optimizer_of` not analyzed: nothing tells which function it is",
    ),
    "a layer behind more branches than are kept apart": (
        "import tensorflow as tf\n"
        "strategy = tf.distribute.TPUStrategy()\n"
        "class Last(tf.keras.layers.Layer):\n"
        "    def call(self, x):\n"
        "        return x\n"
        "def build(flags):\n"
        "    first = x = tf.keras.Input([8])\n"
        + "".join(
            f"    if flags.{name}:\n        x = tf.keras.layers.Dense(8)(first)\n"
            for name in "abcdef"
        )
        + "    if flags.last:\n"
        "        x = Last()(first)\n"
        "    return tf.keras.Model(first, tf.keras.layers.Flatten()(x))\n"
        "with strategy.scope():\n"
        "    model = build(tf.compat.v1.flags.FLAGS)\n"
        "@tf.function\n"
        "def train(x):\n"
        "    return strategy.run(model, args=(x,))\n",
        "1 call of `Flatten` not analyzed: may be given one of more than 6 values",
    ),
    "a function in a module that gets TensorFlow by a star": (
        "from common import *\n"
        "def schedule():\n"
        "    return tf.train.get_or_create_global_step()\n"
        "tf.tpu.rewrite(abs, [tf.ones([8])])\n"
        "# file: common.py\n"
        "import tensorflow.compat.v1 as tf\n",
        "1 function that uses TensorFlow: nothing that was read calls it",
    ),
}


@pytest.mark.parametrize(("text", "line"), GAPS.values(), ids=GAPS)
def test_missed_before(
    text: str, line: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Silent gaps: code of the device was neither read nor reported."""
    write(program(f"# file: train.py\n{text}"), project)
    main(["check", "--statistics"])
    assert f"tpulint: {line}\n" in capsys.readouterr().err
