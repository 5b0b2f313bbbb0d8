"""Findings at a requirement that allows releases without the names that a project uses."""

from __future__ import annotations

from pathlib import Path

from tests.rules.analysis import findings, program, reported
from tpulint.check import driver
from tpulint.config import Config
from tpulint.finding import Certainty, Finding

PROJECT = """
# file: setup.py
from setuptools import setup

setup(
    name="trainer",
    install_requires=["numpy", "tensorflow>=1.12"],
)
# file: trainer/model.py
import tensorflow as tf
from tensorflow.contrib import tpu as contrib_tpu


def model_fn(features, labels, mode, params):
    layer = tf.keras.layers.experimental.SyncBatchNormalization()
    return contrib_tpu.TPUEstimatorSpec(mode, loss=tf.contrib.tpu.cross_replica_sum(layer))


def train(strategy, step):
    strategy.experimental_run_v2(step)
    return contrib_tpu.RunConfig, strategy.experimental_run_v2
"""
MESSAGE = (
    "`tensorflow>=1.12` allows TensorFlow 2.0 to 2.21, where 4 names used here no longer exist:"
    " `tensorflow.contrib.tpu` (trainer/model.py:2), `tf.contrib.tpu.cross_replica_sum`"
    " (trainer/model.py:7), `experimental_run_v2` (trainer/model.py:11), and 1 more;"
    " list them with `--target-tensorflow`"
)


def removed(folder: Path) -> list[Finding]:
    every = findings(program(PROJECT), folder)
    return [finding for finding in every if finding.code == "TPU802"]


def test_an_open_requirement_is_one_finding(tmp_path: Path) -> None:
    (finding,) = removed(tmp_path)
    assert finding.message == MESSAGE
    assert finding.certainty is Certainty.POSSIBLE
    assert finding.span.filename == str(tmp_path / "setup.py")
    assert (finding.span.start, finding.span.end) == ((5, 33), (5, 49))
    assert [step.span.start.row for step in finding.trace] == [2, 7, 11]


def test_a_configured_release_names_each_place(tmp_path: Path) -> None:
    removed(tmp_path)
    config = Config(root=str(tmp_path), jobs=1, target_tensorflow="2.18")
    request = driver.Request(config, frozenset(["TPU802"]), (str(tmp_path),))
    actual = driver.check(driver.discover(request)).findings
    assert sorted(item.span.start.row for item in actual) == [2, 6, 7, 11, 12]


def test_a_file_by_itself_names_each_place(tmp_path: Path) -> None:
    removed(tmp_path)
    (tmp_path / "trainer" / "other.py").write_text("import tensorflow as tf\n", encoding="utf-8")
    for name, count in (("model.py", 1), ("other.py", 0)):
        config = Config(root=str(tmp_path), certainty=Certainty.POSSIBLE, jobs=1)
        path = str(tmp_path / "trainer" / name)
        request = driver.Request(config, frozenset(["TPU802"]), (path,))
        assert len(driver.check(driver.discover(request)).findings) == count


def test_a_single_release_is_not_open(tmp_path: Path) -> None:
    pinned = PROJECT.replace("tensorflow>=1.12", "tensorflow==2.18")
    assert {finding.filename for finding in reported(pinned, tmp_path, ["TPU802"])} == {
        "trainer/model.py"
    }


PINNED = """
# file: requirements.txt
tensorflow=={release}
# file: train.py
import tensorflow as tf
{rows}
"""
GONE = ["tf.contrib.tpu.RunConfig", "tf.contrib.tpu.TPUConfig", "tf.contrib.layers.layer_norm"]
LATER = ["tf.distribute.experimental.TPUStrategy", "tf.distribute.OneDeviceStrategy"]


def of_pin(release: str, listed: list[str], folder: Path) -> list[Finding]:
    """Return what is said of a file with these names, whose project asks for one release."""
    text = PINNED.replace("{release}", release).replace("{rows}", "\n".join(listed))
    return [
        finding
        for finding in findings(program(text), folder)
        if finding.code in ("TPU801", "TPU802")
    ]


def test_false_alarm_a_release_that_lacks_many_names_is_one_finding(tmp_path: Path) -> None:
    """A bot had raised the requirement of a project, and 77 findings repeated that."""
    (finding,) = of_pin("2.5.3", [*GONE, "tf.contrib.tpu.TPUEstimator"], tmp_path)
    assert (finding.code, finding.span.filename) == ("TPU802", str(tmp_path / "requirements.txt"))
    assert finding.message == (
        "`tensorflow==2.5.3` asks for a TensorFlow in which 4 names used here no longer exist:"
        " `tf.contrib.tpu.RunConfig` (train.py:2), `tf.contrib.tpu.TPUConfig` (train.py:3),"
        " `tf.contrib.layers.layer_norm` (train.py:4), and 1 more; list them with"
        " `--target-tensorflow`"
    )
    assert (
        finding.trace[0].message == "`tf.contrib.tpu.RunConfig` no longer exists in TensorFlow 2.0"
    )


def test_a_few_names_that_a_release_lacks_are_named_in_their_places(tmp_path: Path) -> None:
    actual = of_pin("2.5.3", GONE, tmp_path)
    assert [item.span.start.row for item in actual] == [2, 3, 4]


def test_an_open_requirement_of_releases_before_the_name(tmp_path: Path) -> None:
    """The finding began with `allows TensorFlow 2.21 to 1.15`."""
    text = PINNED.replace("=={release}", ">=1.14,<2").replace(
        "{rows}", "tf.keras.layers.experimental.SyncBatchNormalization"
    )
    (finding,) = findings(program(text), tmp_path)
    assert finding.message.startswith(
        "`tensorflow>=1.14,<2` asks for a TensorFlow in which a name used here does not exist yet:"
    )


def test_false_alarm_a_release_that_is_too_old_is_one_finding(tmp_path: Path) -> None:
    (finding,) = of_pin("1.11", LATER * 2, tmp_path)
    assert (finding.code, finding.span.filename) == ("TPU801", str(tmp_path / "requirements.txt"))
    assert finding.message.startswith(
        "`tensorflow==1.11` asks for a TensorFlow in which 2 names used here do not exist yet:"
    )
    step = finding.trace[0].message
    assert step == "`tf.distribute.experimental.TPUStrategy` comes with TensorFlow 1.14"
    assert len(of_pin("1.11", LATER, tmp_path)) == 2
