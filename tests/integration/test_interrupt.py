"""Ctrl-C on a real run: it ends with 130 after little work, and no process outlives it.

On an idle machine that is within a second. What is measured is the work, which is the same on a
busy one.
"""

from __future__ import annotations

import contextlib
import os
import resource
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
PATIENCE = 120  # seconds until a process must have done what a test waits for
LAST_WORK = 1.0  # seconds of computing


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three programs that take minutes to check."""
    folder: Path = tmp_path_factory.mktemp("many")
    for project in ("one", "two", "three"):
        (folder / project).mkdir()
        for number in range(150):
            text = f"# {project} {number}\nimport hub_of_{project}\n{SLOW}"
            (folder / project / f"f{number}.py").write_text(text)
        (folder / project / f"hub_of_{project}.py").write_text("")  # makes them one program
    return folder


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
        wait_for(lambda: jobs == "1" or len(group(started.pid)) > 1)
        wait_for(lambda: work_of(group(started.pid)) > 1.0)  # into the work
        assert started.poll() is None
        yield started
    finally:
        for process in group(started.pid):
            os.kill(process, signal.SIGKILL)
        started.communicate()


def test_ctrl_c_ends_it_with_little_more_work(running: subprocess.Popen[str]) -> None:
    before = work_of_ended_children() + work_of(group(running.pid))
    os.killpg(running.pid, signal.SIGINT)  # as a terminal sends it: to workers too
    out, err = running.communicate(timeout=PATIENCE)
    assert work_of_ended_children() - before < LAST_WORK
    assert running.returncode == 130
    assert (out, err) == ("", "tpulint: interrupted\n")
    wait_for(lambda: not group(running.pid))


def test_no_worker_outlives_a_killed_run(running: subprocess.Popen[str]) -> None:
    running.kill()
    running.wait()
    wait_for(lambda: not group(running.pid))


def work_of_ended_children() -> float:
    """Return the seconds that the ended children of this process, and theirs, have computed."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def work_of(processes: list[int]) -> float:
    """Return how many seconds some living processes have computed until now."""
    ticks = 0
    for process in processes:
        with contextlib.suppress(OSError):
            fields = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def group(leader: int) -> list[int]:
    """The living processes of the session that `leader` leads."""
    actual = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                output = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if output[3] == str(leader) and output[0] != "Z":
                actual.append(int(entry))
    return actual


def wait_for(happened: object) -> None:
    assert callable(happened)
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
