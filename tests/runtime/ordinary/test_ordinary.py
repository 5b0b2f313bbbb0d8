"""Ordinary programs print on an emulated TPU what they print without one (see README.md)."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import tensorflow as tf

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LONGEST = 900
"""Seconds that all programs may take in one way; a quiet core needs about 60."""

pytestmark = pytest.mark.timeout(2 * LONGEST)
HAS_ESTIMATOR = hasattr(tf.compat.v1, "estimator")
"""The older releases run the programs of Estimator, the newer ones all others."""
FOLDER = HERE / ("estimator" if HAS_ESTIMATOR else "programs")
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
TPULINT_RUN = ["-m", "tpulint", "run", "--replicas", "2"]
IN_THE_CONTEXT = """\
import sys
import programs
from tpulint.runtime import emulated_tpu

with emulated_tpu(2):
    programs.main()
"""
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
# All three enter the same context, so a quarter of the programs shows the rest of the other two.
NAMES_OF = {"plain": NAMES, "run": NAMES, "context": NAMES[::4], "pytest": NAMES[2::4]}


def command(way: str, transcripts: Path) -> list[str]:
    """Return the arguments of Python that run all programs in that way."""
    program = [str(HERE / "programs.py"), str(FOLDER), str(transcripts)]
    if way == "plain":
        return program
    if way == "run":
        return [*TPULINT_RUN, *program]
    if way == "context":
        return ["-c", IN_THE_CONTEXT, *program[1:], *NAMES_OF[way]]
    plugin = ["-p", "no:cacheprovider", "-p", "no:xdist", "--tpulint-emulate", "2"]
    return ["-m", "pytest", "-q", *plugin, "-c", os.devnull, str(HERE / "under_pytest.py")]


def python(way: str, arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run Python with what the programs need, in `folder`."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={
            **os.environ,
            "ORDINARY_DEVICES": "cpu" if way == "plain" else "tpu",
            "ORDINARY_FOLDER": str(FOLDER),
            "ORDINARY_NAMES": " ".join(NAMES_OF[way]),
            "ORDINARY_TRANSCRIPTS": str(Path(folder) / "transcripts.json"),
            "PYTHONPATH": f"{HERE}{os.pathsep}{ROOT}",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_USE_LEGACY_KERAS": "0",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )


@functools.lru_cache
def ended(way: str) -> tuple[subprocess.CompletedProcess[str], dict[str, list[str]]]:
    """Return the process that ran all programs in that way, and their transcripts."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "transcripts.json"
        process = python(way, command(way, written), folder)
        # Plain TensorFlow crashed in a thread of its own once: that says nothing about tpulint.
        if way == "plain" and process.returncode < 0:
            process = python(way, command(way, written), folder)
        has_written = process.returncode == 0 and written.exists()
        return process, json.loads(written.read_text(encoding="utf-8")) if has_written else {}


def transcript(way: str, name: str) -> list[str]:
    """Return what the program has printed in that way."""
    process, transcripts = ended(way)
    assert name in transcripts, f"{process.returncode}: {process.stdout}{process.stderr}"
    return transcripts[name]


def rounded(line: str) -> tuple[str, list[float]]:
    """Return a line without its numbers, and the numbers."""
    return NUMBER.sub("#", line), [float(number) for number in NUMBER.findall(line)]


def are_equal(line: str, other: str) -> bool:
    """Return whether two lines are equal up to the last digits of numbers."""
    (words, numbers), (other_words, others) = rounded(line), rounded(other)
    return words == other_words and all(
        math.isclose(number, same, rel_tol=1e-3, abs_tol=3e-4)
        for number, same in zip(numbers, others, strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_program_ends_without_a_tpu(name: str) -> None:
    *printed, end = transcript("plain", name)
    assert printed
    assert end.startswith(("ends", "exits with")), end


@pytest.mark.parametrize(
    ("name", "way"),
    [(name, way) for way, names in NAMES_OF.items() if way != "plain" for name in names],
)
def test_a_program_runs_as_without_a_tpu(name: str, way: str) -> None:
    plain, emulated = transcript("plain", name), transcript(way, name)
    both = "\n".join([f"{name} without a TPU:", *plain, f"{name}, {way}:", *emulated])
    assert len(plain) == len(emulated), both
    assert all(map(are_equal, plain, emulated)), both


def test_a_program_that_exits_has_its_status(tmp_path: Path) -> None:
    program = str(HERE / "programs" / "exits_with_status.py")
    process = python("run", [*TPULINT_RUN, program], str(tmp_path))
    assert process.returncode == 3, process.stderr
    assert process.stdout.split() == ["2.0", "4.0", "6.0", "8.0", "cleans", "up"]
