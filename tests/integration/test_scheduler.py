"""`--scheduler`: what the workers of a Dask cluster find is what a run of one machine finds."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import distributed
import pytest

from tests.integration.conftest import ROOT
from tpulint.check import cluster
from tpulint.cli.main import main

CHECK = ["check", "--isolated", "--no-cache", "--certainty", "possible"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples several times over, each copy a project of its own."""
    for number in range(3):
        shutil.copytree(ROOT / "examples", tmp_path / f"copy{number}")
    (tmp_path / "requirements.txt").write_text("tensorflow>=2.12\n")
    monkeypatch.chdir(tmp_path)
    # Workers begin their own interpreters, which must find the code under test.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@contextlib.contextmanager
def workers(count: int) -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        scheduler_port=0,
        dashboard_address=None,
    ) as started:
        yield started


def checked(*arguments: str) -> int:
    return main([*CHECK, *arguments, "."])


class Killer(threading.Thread):
    """Kills the first worker that is at work, and notes which one it was."""

    def __init__(self, started: distributed.LocalCluster) -> None:
        super().__init__(daemon=True)
        self._cluster = started
        self.killed: str | None = None
        self.ended = threading.Event()

    def run(self) -> None:
        while self.killed is None and not self.ended.is_set():
            for state in list(self._cluster.scheduler.workers.values()):
                if state.processing:
                    for nanny in self._cluster.workers.values():
                        if nanny.worker_address == state.address and nanny.pid:
                            os.kill(nanny.pid, signal.SIGKILL)
                            self.killed = state.address
                            return
            time.sleep(0.001)


@pytest.mark.parametrize("count", [2, 4])
def test_a_worker_that_dies_costs_a_retry_and_nothing_else(
    folder: Path, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked("--output-format", "json", "-o", "here") == 1
    with workers(count) as started:
        killer = Killer(started)
        killer.start()
        status = checked(
            "--output-format", "json", "-o", "there", "--scheduler", started.scheduler_address
        )
        killer.ended.set()
        killer.join(10)
    assert killer.killed is not None
    assert status == 1
    assert capsys.readouterr().err == ""
    here = Path("here").read_bytes()
    assert here.count(b'"code"') >= 9
    assert Path("there").read_bytes() == here


def test_a_program_that_no_worker_survives_is_read_here(folder: Path) -> None:
    import dask

    assert checked("--output-format", "json", "-o", "here") == 1
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), workers(1) as started:
        killer = Killer(started)
        killer.start()
        status = checked(
            "--output-format", "json", "-o", "there", "--scheduler", started.scheduler_address
        )
        killer.ended.set()
        killer.join(10)
    assert killer.killed is not None
    assert status == 1
    assert Path("there").read_bytes() == Path("here").read_bytes()


def test_programs_that_are_known_are_not_sent(folder: Path) -> None:
    with workers(1) as started:
        arguments = ["--isolated", "--certainty", "possible", "--cache-dir", ".cache"]
        arguments += ["--scheduler", started.scheduler_address, "--output-format", "json"]
        assert main(["check", *arguments, "-o", "first.json", "."]) == 1
        Path("later-on.py").write_text("")  # another run, though nobody can import that
        address = started.scheduler_address
    assert main(["check", *arguments, "-o", "second.json", "."]) == 1, f"{address} is gone"
    assert Path("second.json").read_bytes() == Path("first.json").read_bytes()


def test_without_a_scheduler_the_run_ends_at_once(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    assert checked("--scheduler", "tcp://127.0.0.1:9") == 2
    assert "--scheduler tcp://127.0.0.1:9: no connection" in capsys.readouterr().err


def test_without_workers_the_run_ends_after_a_while(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "IDLE_SECONDS", 2.0)
    with workers(0) as started:
        assert checked("--scheduler", started.scheduler_address) == 2
    assert "no worker for 2 seconds" in capsys.readouterr().err


def test_an_interrupt_takes_the_programs_back(folder: Path) -> None:
    with workers(0) as started:
        command = [sys.executable, "-m", "tpulint", *CHECK, "--scheduler"]
        run = subprocess.Popen([*command, started.scheduler_address, "."])
        tasks = started.scheduler.tasks
        assert soon(lambda: bool(tasks))
        run.send_signal(signal.SIGINT)
        assert run.wait(120) == 130
        assert soon(lambda: not tasks)


def soon(holds: object, seconds: float = 120.0) -> bool:
    """Return whether something begins to hold within some seconds."""
    assert callable(holds)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False
