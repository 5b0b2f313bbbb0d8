"""The walls of the house: what may import what, and what no file may hold.

docs/architecture.md shows the same walls in words.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tpulint.codes import CODES, SHAPE

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tpulint"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 350

# The packages of the analyzer, lowest first. A module imports from its own layer or below.
LAYERS = (
    {"", "finding", "codes", "source", "notebook", "patterns", "cache_dir"},
    {"config", "syntax", "knowledge"},
    {"analysis", "queries"},
    {"diagnostics"},
    {"rules"},
    {"pipeline", "output"},
    {"cli", "__main__"},
)
# They hand over to the runtime, when they are called and not before.
HAND_OVER = {"cli/run", "cli/pytest_plugin.py"}
RUNTIME_MAY_IMPORT = {"tpulint", "tpulint.codes", "tpulint.finding"}
RUNTIME_ROOMS = ("mark", "extract", "execute")

each_module = pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix()
)


def imports(path: Path, *, at_import: bool = False) -> Iterator[tuple[str, int]]:
    """The dotted names that the module imports, with their rows; relative ones made absolute.

    `at_import` leaves out what only runs later, in functions, or only for type checkers.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = path.relative_to(ROOT).parent.parts
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if at_import and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*up, *([node.module] if node.module else [])])
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
        waiting.extend(ast.iter_child_nodes(node))


def top(name: str) -> str:
    """The first part of a dotted name below `tpulint`, where that is a module of the package."""
    parts = name.split(".")[1:]
    inside = parts and ((PACKAGE / parts[0]).is_dir() or (PACKAGE / f"{parts[0]}.py").exists())
    return parts[0] if inside else ""


def test_every_package_is_in_one_layer_and_every_layer_exists() -> None:
    packages = {top(of(path)) for path in MODULES} - {"runtime"}
    assert sorted(packages) == sorted(name for layer in LAYERS for name in layer)


def layer(name: str) -> int:
    (found,) = [height for height, packages in enumerate(LAYERS) if name in packages]
    return found


def of(path: Path) -> str:
    """The dotted name of the module at `path`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def hands_over(path: Path) -> bool:
    return path.relative_to(PACKAGE).as_posix().startswith(tuple(HAND_OVER))


@each_module
def test_imports_run_down_the_layers(path: Path) -> None:
    if top(of(path)) == "runtime":
        return
    height = layer(top(of(path)))
    for name, row in imports(path):
        if name.split(".")[0] == "tpulint" and top(name) != "runtime":
            assert layer(top(name)) <= height, f"{path.name}:{row} imports {name}"


@each_module
def test_only_the_runtime_imports_tensorflow(path: Path) -> None:
    outside = top(of(path)) != "runtime"
    for name, row in imports(path, at_import=hands_over(path)):
        if outside:
            assert name.split(".")[0] != "tensorflow", f"{path.name}:{row}"
            assert top(name) != "runtime", f"{path.name}:{row} imports {name}"


@each_module
def test_the_runtime_knows_of_the_analyzer_only_codes_and_findings(path: Path) -> None:
    if top(of(path)) != "runtime":
        return
    for name, row in imports(path):
        if name.split(".")[0] == "tpulint" and not name.startswith("tpulint.runtime"):
            allowed = name in RUNTIME_MAY_IMPORT or name.rpartition(".")[0] in RUNTIME_MAY_IMPORT
            assert allowed, f"{path.name}:{row} imports {name}"


@each_module
def test_the_rooms_of_the_runtime_run_one_way(path: Path) -> None:
    parts = of(path).split(".")
    if parts[:2] != ["tpulint", "runtime"] or len(parts) < 3 or parts[2] not in RUNTIME_ROOMS:
        return
    later = RUNTIME_ROOMS[RUNTIME_ROOMS.index(parts[2]) + 1 :]
    for name, row in imports(path):
        for forbidden in later:
            assert not name.startswith(f"tpulint.runtime.{forbidden}"), f"{path.name}:{row}"


def test_only_one_file_imports_private_modules_of_tensorflow() -> None:
    private = tuple(f"tensorflow.{name}" for name in ("python", "core", "compiler", "tsl"))
    importing = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        for name, _ in imports(path)
        if name.startswith(private)
    }
    using = {
        path.relative_to(PACKAGE).parent.as_posix()
        for path in MODULES
        for name, _ in imports(path)
        if name.startswith("tpulint.runtime.tensorflow_internals.modules")
    }
    assert importing == {"runtime/tensorflow_internals/modules.py"}
    assert using == {"runtime/tensorflow_internals"}


@each_module
def test_a_rule_imports_no_other_rule(path: Path) -> None:
    own = re.match(r"tpu\d{3}_", path.name)
    if path.parent.name != "rules" or own is None:
        return
    for name, row in imports(path):
        other = re.match(r"tpulint\.rules\.(tpu\d{3}_)", name)
        assert other is None or other[1] == own[0], f"{path.name}:{row} imports {name}"


def test_only_the_gateway_knows_libcst() -> None:
    knowing = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        for name, _ in imports(path)
        if name.split(".")[0] == "libcst"
    }
    assert knowing <= {"syntax"}


def loaded_after(*arguments: str, folder: Path) -> set[str]:
    """The top-level modules that a run of `tpulint ARGUMENTS` has loaded at its end."""
    script = (
        "import sys\n"
        "from tpulint.cli.main import main\n"
        "try:\n"
        "    status = main(sys.argv[1:])\n"
        "except SystemExit as exit:\n"
        "    status = exit.code\n"
        "assert not status, status\n"
        "print('loaded', *{name.split('.')[0] for name in sys.modules})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_the_version_is_told_without_libcst_and_tensorflow(tmp_path: Path) -> None:
    assert not {"libcst", "tensorflow", "numpy"} & loaded_after("version", folder=tmp_path)


def test_files_without_a_trigger_word_are_passed_without_libcst(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import math\nprint(math.pi)\n", encoding="utf-8")
    loaded = loaded_after("check", "--no-cache", ".", folder=tmp_path)
    assert not {"libcst", "tensorflow", "numpy"} & loaded


def test_a_check_never_imports_tensorflow(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\n"
        "def computation(x):\n"
        "    return tf.compat.v1.tpu.outside_compilation(abs, x)\n"
        "y = tf.compat.v1.tpu.rewrite(computation, [[1.0]])\n",
        encoding="utf-8",
    )
    loaded = loaded_after("check", "--no-cache", "--exit-zero", ".", folder=tmp_path)
    assert "libcst" in loaded
    assert not {"tensorflow", "numpy"} & loaded


def tracked() -> list[Path]:
    """The files of the repository, or of the folder where it is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in str(path)]


def test_every_file_of_code_is_one_room() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in tracked()
        if path.suffix == ".py" and path.exists()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert not long


def test_no_path_of_a_machine_stands_in_the_repository() -> None:
    machine = re.compile(rb"(?<![\w.~$}/-])/(?:work|root|home|tmp)/\w")
    hits = [
        f"{path.relative_to(ROOT)}:{row}"
        for path in tracked()
        if path.exists() and path.name != ".gitignore"
        for row, line in enumerate(path.read_bytes().splitlines(), 1)
        if machine.search(line)
    ]
    assert not hits


def test_codes_are_unique_and_their_names_too() -> None:
    rows = list(CODES.values())
    assert len({row.name for row in rows}) == len(rows)
    assert len({row.module for row in rows}) == len(rows)
    source = (PACKAGE / "codes.py").read_text(encoding="utf-8")
    assert len(re.findall(r'Code\(\s*"TPU', source)) == len(rows)
    for code in CODES:
        assert re.fullmatch(SHAPE, code)
