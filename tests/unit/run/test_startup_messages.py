"""What TensorFlow writes to standard error when it is imported, before it reads its settings."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tpulint.run.command import after_import

PROGRAM = """
import os, sys
from tpulint.run.command import without_startup_messages

sys.stderr.write("before\\n")
try:
    with without_startup_messages():
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called\\n")
        os.write(2, b"I0000 00:00:1795732240.9 2334 port.cc:153] oneDNN operations\\n")
        os.write(2, b"E0000 00:00:1795732241.9 2334 cuda_platform.cc:52] failed call to cuInit\\n")
        os.write(2, b"E0000 00:00:1795732241.9 2334 loader.cc:9] the library is broken\\n")
        print("a word of the program", file=sys.stderr)
        raise ImportError("no such module")
except ImportError as error:
    print(error, file=sys.stderr)
os.write(2, b"I0000 after\\n")
"""


def test_only_messages_that_tell_nothing_are_left_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.splitlines() == [
        "before",
        "E0000 00:00:1795732241.9 2334 loader.cc:9] the library is broken",
        "a word of the program",
        "no such module",
        "I0000 after",
    ]


def test_a_program_that_asks_whether_the_module_is_there_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asked_for.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    calls: list[int] = []
    after_import("asked_for", lambda: calls.append(sys.modules["asked_for"].answer))
    assert importlib.util.find_spec("asked_for") is not None
    assert importlib.util.find_spec("asked_for") is not None
    assert calls == []
    importlib.import_module("asked_for")
    assert calls == [42]
    del sys.modules["asked_for"]
    importlib.import_module("asked_for")
    assert calls == [42]
