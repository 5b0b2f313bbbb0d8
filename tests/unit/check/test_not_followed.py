"""A check counts what it leaves out, with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rules.analysis import program
from tpulint.check import driver
from tpulint.cli.main import main
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.output.merged import merged
from tpulint.output.summary import skipped_lines
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
    assert skipped_lines(run.skipped) == [
        "1 reached functions were not followed: on the host, in a module without TPU code"
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
LINE = "2 calls of 1 function were not analyzed, because a limit was reached. See `--statistics`.\n"


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
        assert capsys.readouterr().out == f"All checks passed!\n{LINE}"
    main(["check", "--no-cache", "main.py"])
    assert capsys.readouterr().out == f"All checks passed!\n{LINE}"
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
    line = "tpulint: 2 calls of `log` were not analyzed: read often enough\n"
    assert capsys.readouterr().err == line
    main(["check", "-v", "main.py"])
    said = capsys.readouterr().err
    assert "main.py:6:29: this call of `log` was not analyzed: read often enough\n" in said


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
