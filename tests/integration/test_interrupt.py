"""Ctrl-C on a real run: it ends within a second, with 130, and no process outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import ROOT

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")

SLOW = "import tensorflow as tf\n" + "".join(
    f"def step_{number}(x):\n    return tf.compat.v1.tpu.outside_compilation(lambda y: y, x)\n"
    f"print(tf.compat.v1.tpu.rewrite(step_{number}, [[1.0]]))\n"
    for number in range(60)
)
START, END = 30, 1  # seconds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three programs that take minutes to check."""
    made: Path = tmp_path_factory.mktemp("many")
    for project in ("one", "two", "three"):
        (made / project).mkdir()
        for number in range(150):
            text = f"# {project} {number}\nimport hub_of_{project}\n{SLOW}"
            (made / project / f"f{number}.py").write_text(text)
        (made / project / f"hub_of_{project}.py").write_text("")  # makes them one program
    return made


@pytest.fixture(params=["programs", "alone"])
def running(folder: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A check at its work: side by side over programs, or alone."""
    jobs = "1" if request.param == "alone" else "2"
    command = [sys.executable, "-m", "tpulint", "check", "--no-cache", "--jobs", jobs, str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
        start_new_session=True,
    )
    try:
        wait_for(lambda: jobs == "1" or len(group(started.pid)) > 1, START)
        time.sleep(1)  # into the work
        assert started.poll() is None
        yield started
    finally:
        for process in group(started.pid):
            os.kill(process, signal.SIGKILL)
        started.communicate()


def test_ctrl_c_ends_it_within_a_second(running: subprocess.Popen[str]) -> None:
    begun = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)  # as a terminal sends it: to workers too
    out, err = running.communicate(timeout=START)
    took = time.monotonic() - begun
    assert took < patience()
    assert running.returncode == 130
    assert (out, err) == ("", "tpulint: interrupted\n")
    wait_for(lambda: not group(running.pid), patience())


def test_no_worker_outlives_a_killed_run(running: subprocess.Popen[str]) -> None:
    running.kill()
    running.wait()
    wait_for(lambda: not group(running.pid), patience())


def patience() -> float:
    """A second, or as much longer as the machine has more to do than it can."""
    return END * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def group(leader: int) -> list[int]:
    """The living processes of the session that `leader` leads."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                said = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if said[3] == str(leader) and said[0] != "Z":
                found.append(int(entry))
    return found


def wait_for(happened: object, seconds: float) -> None:
    assert callable(happened)
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
