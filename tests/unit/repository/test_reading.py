"""Files of users are read by one function, and written by few."""

from __future__ import annotations

import ast
from pathlib import Path

from scripts.imports import ANALYZER, PACKAGE

READING = {"read_text", "read_bytes", "getline", "getlines"}
OPENING = {"open", "fdopen", "open_code"}
MODULES = {"os", "io", "tokenize", "codecs", "builtins", "gzip", "zipfile", "tarfile"}
READER = "disk.py"
# They read files of the package itself.
OF_THE_PACKAGE = {
    "codes.py",
    "frontends/tensorflow/knowledge/names.py",
    "frontends/tensorflow/knowledge/operations.py",
    "frontends/tensorflow/knowledge/tables.py",
    "installation.py",  # the record that pip keeps of it
    "rules/__init__.py",
}
# The program, as Python would; what IPython writes for it; and Drive's folder, which it locks.
RUNNING = {"run/program.py", "run/ipython_commands.py", "run/surroundings.py"}
# The objects of a running program's buckets, and certificates.
STORAGE = {f"storage/{name}.py" for name in ("activity", "api", "objects", "proxy")}
TESTING = {"testing.py"}  # the pages of rules, in the tests of those who wrote them
WRITING = {
    "cache_dir.py",
    "cli/commands.py",
    "cli/options.py",  # standard output, whose reader has gone
    "cli/report.py",
    "run/session.py",
}


def opens(path: Path) -> bool:
    """Return whether a module opens files."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.Call) and is_opening(node.func) for node in ast.walk(tree))


def is_opening(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in OPENING
    if not isinstance(called, ast.Attribute):
        return False
    of_module = isinstance(called.value, ast.Name) and called.value.id in MODULES
    return called.attr in READING or (called.attr in OPENING and of_module)


def test_files_of_users_are_read_by_one_function() -> None:
    opening = {path.relative_to(PACKAGE).as_posix() for path in ANALYZER if opens(path)}
    assert opening == {READER} | OF_THE_PACKAGE | RUNNING | STORAGE | TESTING | WRITING


def test_what_is_opened_to_be_written_is_not_read() -> None:
    for name in WRITING - {"cli/options.py"}:
        tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        modes = [
            ast.literal_eval(node.args[1])
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and is_opening(node.func) and len(node.args) > 1
        ]
        assert modes
        for mode in modes:
            assert isinstance(mode, str)
            assert set(mode) & set("wx")
