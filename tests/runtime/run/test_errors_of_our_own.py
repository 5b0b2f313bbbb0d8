"""The message where the emulator itself fails: one line, which does not blame the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime import driver
from tpulint.runtime.execute.raising import report_internal_errors, token_for

ROOT = Path(__file__).parents[3]
SECONDS = 240
BROKEN = """\
import tensorflow as tf
from tpulint.runtime.extract import {module} as module

def broken(*args, **kwargs):
    op = tf.Graph.get_operations(tf.compat.v1.get_default_graph())[0]
    return {{}}[op.name]

broken.__code__ = broken.__code__.replace(co_filename=module.__file__)
tf.compat.v1.disable_eager_execution()
module.{name} = broken
import tpulint.runtime.driver as driver
driver.extract = broken
x = tf.compat.v1.placeholder(tf.float32, [], name="given")
tf.compat.v1.tpu.rewrite(lambda x: x * 2.0, [x])
"""


def run(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "tpulint", "run", "--replicas", "2", "program.py"],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.any_release
def test_the_user_reads_one_short_message(tmp_path: Path) -> None:
    program = BROKEN.format(module="program", name="extract")
    done = run(tmp_path, program)
    assert done.returncode == 70, done.stderr
    assert re.search(
        r"^tpulint: tpulint cannot run this program, by an error of its own at the operation "
        r"'given' \(Placeholder\)\n  KeyError: 'given' \(tpulint/runtime/extract/program\.py:\d+, "
        r"tpulint .*, TensorFlow .*\)\n.*says nothing against the program, which is unchanged\. "
        r"Please report it.*issues\n  at .*program\.py:13\n",
        done.stderr,
        re.MULTILINE,
    ), done.stderr
    assert "Traceback" not in done.stderr
    assert "[TPU" not in done.stderr
    whole = run(tmp_path, program, TPULINT_TRACEBACK="1")
    assert whole.returncode == 1
    assert "KeyError: 'given'" in whole.stderr
    assert "Traceback" in whole.stderr


@pytest.mark.parametrize("kind", [KeyError, AssertionError, TypeError])
def test_what_fails_while_a_step_is_built(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def broken(*_: object) -> None:
        raise kind("here")

    monkeypatch.setattr(driver, "extract", broken)
    with pytest.raises(tpu.InternalError, match="error of its own") as caught:
        tpu.rewrite(lambda x: x * 2.0, [tf.constant(1.0)])
    assert caught.value.rule == ""


def in_a_graph(function: Callable[[], None]) -> None:
    tf.function(
        lambda: tf.numpy_function(report_internal_errors(function), [], tf.bool), autograph=False
    )()


def test_what_fails_while_a_step_runs() -> None:
    def broken() -> None:
        raise IndexError("here")

    with pytest.raises(tpu.InternalError, match="IndexError: here"):
        in_a_graph(broken)


def test_a_fault_is_none() -> None:
    def fault() -> None:
        raise token_for(tpu.DeadlockError("they wait"))

    with pytest.raises(tpu.DeadlockError, match="they wait"):
        in_a_graph(fault)


def test_what_the_program_raises_is_its_own() -> None:
    def wrong(x: object) -> object:
        raise KeyError("the user's")

    with pytest.raises(KeyError, match="the user's"):
        tpu.rewrite(wrong, [tf.constant(1.0)])
