"""`tpulint run` runs a program as Python itself would: the same words, names, ends and tracebacks.

Python is the oracle: each program is run by both. None imports TensorFlow, and so nor does tpulint.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 240
SILENT = "\nNo TPU computation ran to its end.\n"

SURROUNDINGS = """\
import inspect, pickle, sys
def function(): pass
print(__name__, __file__, __package__, sys.argv, sys.path)
print(pickle.loads(pickle.dumps(function)) is function, inspect.getsource(function))
print("tensorflow" in sys.modules)
"""
ENDS = {
    "nothing": "print('done')",
    "a number": "import sys; sys.exit(3)",
    "a large number": "import sys; sys.exit(259)",
    "words": "import sys; sys.exit('these words')",
    "None": "import sys; sys.exit()",
    "SystemExit by hand": "raise SystemExit(4)",
    "an error": "def inner():\n    raise ValueError('no')\ninner()",
    "an error from an error": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError(1)",
    "a syntax error": "def broken(:\n    pass\n",
    "a hook of its own": "import sys\nsys.excepthook = lambda *a: print('hook', a[0])\n1 / 0",
    "an error in a module": "import helper",
    "os._exit": "import os; os._exit(7)",
    "a closed standard output": "import sys; sys.stdout.close()",
    "a closed standard error": "import sys; sys.stderr.close()",
    "a folder that is gone": (
        "import os, tempfile\nwith tempfile.TemporaryDirectory() as gone:\n    os.chdir(gone)\n"
    ),
}


def by(command: list[str], folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def tpulint_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return by(["-m", "tpulint", "run"], folder, list(arguments))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("raise RuntimeError('in the helper')\n")
    package = tmp_path / "package"
    package.mkdir()
    for place in (tmp_path / "script.py", package / "__main__.py", package / "part.py"):
        place.write_text(SURROUNDINGS)
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.write(tmp_path / "script.py", "__main__.py")
    (package / "__init__.py").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["script.py"],
        ["./script.py", "-m", "--replicas", "3", "--", "-V", "--help"],
        ["package/part.py", "one"],
        ["package", "--two"],
        ["program.zip", "three"],
        ["-m", "script", "--report", "html"],
        ["-m", "package", "-m", "x"],
        ["-m", "package.part"],
    ],
    ids=" ".join,
)
def test_the_program_finds_itself_as_under_python(folder: Path, arguments: list[str]) -> None:
    python = by([], folder, arguments)
    ours = tpulint_run(folder, "--replicas", "2", *arguments)
    assert (ours.returncode, ours.stdout) == (0, python.stdout)
    assert ours.stderr.startswith("tpulint run: ")
    assert ours.stderr.endswith(SILENT)
    assert "False" in python.stdout.splitlines()[-1]


@pytest.mark.parametrize("end", ENDS)
def test_the_program_ends_as_under_python(folder: Path, end: str) -> None:
    (folder / "ends.py").write_text(ENDS[end] + "\n")
    python, ours = by([], folder, ["ends.py"]), tpulint_run(folder, "ends.py")
    assert (ours.returncode, ours.stdout) == (python.returncode, python.stdout)
    words, headline, report = ours.stderr.partition("tpulint run: ")
    assert words == python.stderr
    if end == "os._exit":  # it ends the process at once, as its name says
        assert not headline
    else:
        assert report.startswith(f"ends.py on 8 replicas: exit status {python.returncode} after ")


def test_the_report_is_the_last_word(folder: Path) -> None:
    (folder / "late.py").write_text(
        "import atexit, concurrent.futures, os, sys, threading, time\n"
        "def say(what): print(what, file=sys.stderr, flush=True)\n"
        "atexit.register(say, 'atexit')\n"
        "if os.fork() == 0:\n"
        "    sys.exit('child')\n"
        "os.wait()\n"
        "ending = threading.Event()\n"
        "def outlive(): ending.wait(), time.sleep(0.3), say('thread')\n"
        "threading.Thread(target=outlive).start()\n"
        "concurrent.futures.ThreadPoolExecutor(1).submit(say, 'pool').result()\n"
        "say('end')\n"
        "ending.set()\n"
    )
    ours = tpulint_run(folder, "late.py")
    lines = ours.stderr.splitlines()
    # The child says its own last words, and reports nothing.
    assert lines[:3] == ["child", "atexit", "pool"]
    assert lines[3:6] == ["end", "thread", "atexit"]
    assert lines[6].startswith("tpulint run: late.py")
    assert ours.stderr.count("tpulint run: ") == 1


def test_ctrl_c_ends_the_program_and_the_report_still_comes(folder: Path) -> None:
    (folder / "slow.py").write_text("import time\nprint('on', flush=True)\ntime.sleep(600)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "tpulint", "run", "slow.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Processes that a shell starts in the background ignore it, and so do its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "KeyboardInterrupt" in words
    assert words.endswith(SILENT)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give the SCRIPT"),
        (["-m"], "give the SCRIPT"),
        (["gone.py"], "gone.py: no such file"),
        (["--replicas", "0", "script.py"], "--replicas: must be a whole number from 1"),
        (["--hosts", "0", "script.py"], "--hosts: must be a whole number from 1"),
        (["--deadline", "0", "script.py"], "--deadline: must be more than 0"),
        (["--replicas", "2", "--topology", "2x2", "script.py"], "not allowed with"),
        (["--reprot", "html", "script.py"], "--report"),
        (["--report-file", "gone/report.txt", "script.py"], "no place for a file"),
    ],
)
def test_wrong_usage_is_one_line_and_2(folder: Path, arguments: list[str], words: str) -> None:
    ours = tpulint_run(folder, *arguments)
    assert ours.returncode == 2
    assert ours.stdout == ""
    assert words in ours.stderr
    assert ours.stderr.startswith("tpulint: ")
    assert ours.stderr.count("\n") == 1


def test_without_tensorflow_one_line_says_so(folder: Path) -> None:
    without_site_packages = ["-S", "-m", "tpulint", "run", "script.py"]
    ours = by(without_site_packages, folder, [])
    assert ours.returncode == 2
    output = f"tpulint: run: TensorFlow is not installed: python -m pip install '{ROOT}[runtime]'\n"
    assert (ours.stdout, ours.stderr) == ("", output)


def test_the_report_goes_to_the_file_that_is_asked_for(folder: Path) -> None:
    arguments = ["--report-file", "report.txt", "script.py"]
    ours = tpulint_run(folder, *arguments)
    assert ours.stderr == "tpulint: the report is in report.txt\n"
    assert (folder / "report.txt").read_text().endswith(SILENT)
