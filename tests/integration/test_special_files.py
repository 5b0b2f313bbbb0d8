"""Only regular files are read, whatever their name, and only up to a size that is reported."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.conftest import ROOT
from tests.integration.programs import NESTED
from tpulint.check import per_file
from tpulint.disk import CONFIGURATION_LIMIT_BYTES, SOURCE_LIMIT_BYTES
from tpulint.server.project import ClientSettings, ServerProject

MEMORY_BYTES = 3 * 1024**3
DEADLINE = 60  # seconds
CONFIGURATIONS = (".tpulint.toml", "tpulint.toml", "pyproject.toml")
REQUIREMENTS = ("requirements.txt", "setup.cfg", "environment.yml", "Pipfile")
MODULES = ("m.py", "setup.py", "n.ipynb")
NAMES = (".gitignore", *CONFIGURATIONS, *REQUIREMENTS, *MODULES)
KINDS = ("device", "fifo", "socket")
PROGRAM = f"import m, n\n{NESTED}"


def make(kind: str, path: Path) -> None:
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
        os.chdir(here)


def check(folder: Path, *arguments: str, data: bytes | None = None) -> tuple[int, str, str]:
    """Run tpulint with so much memory and time as it may need."""
    done = subprocess.run(
        [sys.executable, "-m", "tpulint", *arguments],
        cwd=folder,
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=DEADLINE,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(params=KINDS)
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project in which every name that is looked for is no file."""
    (tmp_path / "main.py").write_text(PROGRAM)
    for name in NAMES:
        make(request.param, tmp_path / name)
    return tmp_path


def test_what_is_no_file_is_passed_over_and_named(special: Path) -> None:
    for _ in ("cold", "warm"):
        status, out, err = check(special, "check", "--output-format", "concise", "-v")
        assert status == 1
        assert out.startswith("main.py:")
        for name in NAMES:
            assert f"tpulint: {name}: passed over: it is not a regular file\n" in err
        assert err.count("passed over") == len(NAMES)
    assert check(special, "check")[2] == ""


@pytest.mark.parametrize("kind", ["device", "fifo"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "special"],
        ["check", "--config", "special"],
        ["check", "--baseline", "special"],
        ["explain", "special"],
        ["map", "special"],
        ["merge", "special"],
    ],
    ids=" ".join,
)
def test_what_is_named_and_no_file_is_an_error(
    tmp_path: Path, kind: str, arguments: list[str]
) -> None:
    make(kind, tmp_path / "special")
    status, _, err = check(tmp_path, *arguments)
    assert status == 2
    assert "special: " in err
    assert "it is not a regular file" in err


def test_the_language_server_and_flake8_read_no_more(
    special: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(special)
    snapshot = ServerProject(str(special), ClientSettings()).analyze({})
    assert snapshot is not None
    codes = [item.code for findings in snapshot.findings.values() for item in findings]
    assert codes == ["TPU201"]
    assert [
        finding.code for finding in per_file.check("main.py", PROGRAM.encode()).findings
    ] == codes
    assert not per_file.check("m.py", b"").findings


def test_a_large_module_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "m.py").write_bytes(b"#" * (SOURCE_LIMIT_BYTES + 1))
    (tmp_path / "n.py").write_bytes(b"#" * SOURCE_LIMIT_BYTES)
    status, out, err = check(tmp_path, "check", "--output-format", "concise")
    assert (status, err) == (1, "")
    assert "m.py:1:1: TPU001 cannot be read: it is larger than 10 MiB" in out
    assert "main.py:" in out
    assert out.count("TPU001") == 1
    status, _, err = check(tmp_path, "check", "m.py")
    assert (status, err) == (2, "tpulint: m.py: cannot be read: it is larger than 10 MiB\n")


@pytest.mark.parametrize("name", [".gitignore", "requirements.txt"])
def test_a_large_file_beside_the_program_is_passed_over_and_reported(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / name).write_bytes(b"x\n" * CONFIGURATION_LIMIT_BYTES)
    for _ in ("cold", "warm"):
        status, _, err = check(tmp_path, "check")
        assert status == 1
        assert err == f"tpulint: warning: {name}: passed over: it is larger than 1 MiB\n"


def test_a_large_module_outside_of_the_check_is_reported(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "m.py").write_bytes(b"#" * (SOURCE_LIMIT_BYTES + 1))
    (tmp_path / "tpulint.toml").write_text('exclude = ["m.py"]\n')
    for _ in ("cold", "warm"):
        status, _, err = check(tmp_path, "check")
        assert status == 1
        assert err == "tpulint: warning: m.py: passed over: it is larger than 10 MiB\n"


def test_a_large_configuration_and_input_are_errors(tmp_path: Path) -> None:
    (tmp_path / "tpulint.toml").write_bytes(b"#" * (CONFIGURATION_LIMIT_BYTES + 1))
    status, _, err = check(tmp_path, "check")
    assert status == 2
    assert err.endswith("tpulint.toml: cannot read: it is larger than 1 MiB\n")
    status, _, err = check(tmp_path, "check", "--isolated", "-", data=b"#" * 11_000_000)
    assert (status, err) == (2, "tpulint: - is larger than 10 MiB\n")


@pytest.mark.parametrize("arguments", [["check", ""], ["check", "a.py", ""], ["explain", ""]])
def test_an_empty_argument_is_no_path(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "a.py").write_text("")
    status, out, err = check(tmp_path, *arguments)
    assert (status, out) == (2, "")
    assert "'' is not a path\n" in err


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(NESTED)
    for option in ("-o", "--write-baseline"):
        status, _, err = check(tmp_path, "check", option, "/dev/full")
        assert (status, err) == (2, "tpulint: /dev/full: cannot write: No space left on device\n")
    status, out, _ = check(tmp_path, "check", "--output-format", "concise", "-o", "/dev/stdout")
    assert status == 1
    assert out.startswith("a.py:")
