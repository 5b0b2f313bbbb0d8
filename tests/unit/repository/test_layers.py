"""The imports that are allowed between packages, and the contents that no file may have.

docs/architecture.md shows the same layers in words.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from io import StringIO
from pathlib import Path

import pytest

from scripts.imports import (
    ANALYZER,
    LAYERS,
    MODULES,
    PACKAGE,
    ROOT,
    circular,
    dotted,
    import_graph,
    imports,
    is_own,
    package_of,
    upward,
)
from tpulint.codes import CODES, SHAPE

LONGEST = 600
RUNTIME = [path for path in MODULES if package_of(dotted(path)) == "runtime"]

# The packages that read Python, whatever its libraries: a second front end needs no change there.
PYTHON_ONLY = ("absint.domain", "absint.interpreter", "absint.resolver")
KNOWN_TO_PYTHON = {*PYTHON_ONLY, "syntax", "finding", "source", "disk", "notebook", "ordering"}
LIBRARIES = re.compile(
    r"(?i)tensorflow|keras|(?<!ou)tpu|flax|estimator|gpu|autograph|\b(?:tf|jax|torch)\b"
)
# The packages that ask front ends, and the modules of TensorFlow's that they may name: the program,
# which all front ends build together, and all that a map has to know.
ANY_FRAMEWORK = ("check", "explain", "map", "map.pictures", "output")
FRAMEWORKS = re.compile(r"(?i)tensorflow|keras|estimator|autograph|\b(?:tf|jax|torch)\b")
ASKED = (
    *("frontends.tensorflow.program", "frontends.tensorflow.build_program"),
    "frontends.tensorflow import map_facts",
)
# The part of the analysis that rules and queries know, its result: the values of a front end
# among it; its hooks are the interpreter's.
VALUES = (
    *("arity", "branch_tests", "keras_models", "prefilter", "program"),
    *("shapes", "strategy"),
)
RESULT = (
    "absint.domain",
    *("file_facts", "frontends.settings", "frontends.tensorflow.knowledge"),
    *(f"frontends.tensorflow.{name}" for name in ("spelling_search", "target_release")),
)
# They hand over to the runtime, when they are called and not before.
HAND_OVER = ("run/", "cli/pytest_plugin.py", "cli/ipython.py")
RUNTIME_MAY_IMPORT = {"tpulint"} | {
    f"tpulint.{name}" for name in ("codes", "finding", "hardware", "storage.session")
}
# The runtime's directories and files, lowest first.
RUNTIME_LAYERS: tuple[set[str], ...] = (
    {"emulator", "tensorflow_internals"},
    {"source_location"},
    {"errors"},
    {"pods"},
    {"emulate", "python_functions"},
    {"mark"},
    {"extract"},
    {"schedule"},
    {"execute"},
    {"outside", "results"},
    {"driver", "embedding", "feeds"},
    {"patches", "replicate"},
    {"emulated"},
    {"", "run_statistics"},
)
# What gives TensorFlow's own functions another meaning, for which it needs the private ones.
PATCHING = ("tensorflow_internals", "pods", "emulate", "embedding")


def test_every_package_is_in_one_layer_and_every_layer_exists() -> None:
    packages = {package_of(dotted(path)) for path in ANALYZER}
    assert sorted(packages) == sorted(name for names in LAYERS for name in names)


def test_no_import_runs_up_the_layers() -> None:
    assert not upward()


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert not circular(import_graph())


def test_circles_are_found() -> None:
    assert circular({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == ["b", "c"]
    assert not circular({"a": {"b", "c"}, "b": {"c"}, "c": set()})


def test_imports_in_functions_and_for_type_checkers_are_counted() -> None:
    graph = import_graph()
    assert "tpulint.notebook" in graph["tpulint.source"]  # in a function
    assert "tpulint.absint.domain.program" in graph["tpulint.incremental.model"]  # TYPE_CHECKING


def test_rules_and_their_questions_know_only_the_result_of_the_analysis() -> None:
    beyond = [
        f"{dotted(path)}:{row} imports {name}"
        for path in ANALYZER
        if package_of(dotted(path)) in ("queries", "diagnostics", "rules")
        for name, row in imports(path)
        if package_of(name).startswith(("absint.", "frontends")) and not _is_result(name)
    ]
    assert not beyond


def _is_result(name: str) -> bool:
    """Return whether a module belongs to the result of the analysis."""
    if package_of(name) == "frontends.tensorflow":
        return name.split(".")[3] in VALUES
    return package_of(name) in RESULT


def test_what_reads_python_imports_no_front_end() -> None:
    beyond = [
        f"{dotted(path)}:{row} imports {name}"
        for path in MODULES
        if package_of(dotted(path)) in PYTHON_ONLY
        for name, row in imports(path)
        if is_own(name) and package_of(name) not in KNOWN_TO_PYTHON
    ]
    assert not beyond


def test_what_reads_python_names_no_library() -> None:
    """Comments may: they cite where a fact stands."""
    paths = [path for path in MODULES if package_of(dotted(path)) in PYTHON_ONLY]
    assert len(paths) > 20
    naming = [
        f"{dotted(path)}:{token.start[0]} {token.string}"
        for path in paths
        for token in tokenize.generate_tokens(StringIO(path.read_text(encoding="utf-8")).readline)
        if token.type in (tokenize.NAME, tokenize.STRING)
        if LIBRARIES.search(token.string.replace("tpulint", ""))
    ]
    assert not naming


def test_the_steps_of_a_check_know_front_ends_by_their_record() -> None:
    """Their docstrings and messages name no framework either; comments may."""
    paths = [path for path in MODULES if package_of(dotted(path)) in ANY_FRAMEWORK]
    assert len(paths) > 35
    naming = [
        f"{dotted(path)}:{row} {line.strip()}"
        for path in paths
        for row, line in enumerate(_code(path), 1)
        if FRAMEWORKS.search(line) and not any(module in line for module in ASKED)
    ]
    assert not naming


def _code(path: Path) -> list[str]:
    """Return the lines of a module without its comments, which cite where a fact stands."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.partition("#")[0] for line in lines]


@pytest.mark.parametrize("text", ["tpu_flag", "'tf.function'", "KERAS", "may_make_tpu_strategy"])
def test_names_of_libraries_are_found(text: str) -> None:
    assert LIBRARIES.search(text)
    assert not LIBRARIES.search("output")


def test_a_context_is_entered_by_with() -> None:
    """Only the frame sets its context: nobody else has to restore it by hand."""
    setting = {
        path.name
        for path in MODULES
        if package_of(dotted(path)).startswith(("absint.", "frontends"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if node.attr == "context"
    }
    assert setting == {"frame.py"}


def test_only_the_runtime_imports_tensorflow() -> None:
    beyond = [
        f"{dotted(path)}:{row} imports {name}"
        for path in MODULES
        if path not in RUNTIME
        for name, row in imports(
            path, at_import=path.relative_to(PACKAGE).as_posix().startswith(HAND_OVER)
        )
        if name.split(".")[0] == "tensorflow" or (is_own(name) and package_of(name) == "runtime")
    ]
    assert not beyond


def test_the_order_of_both_halves_knows_neither() -> None:
    beyond = [
        f"{dotted(path)}:{row} imports {name}"
        for path in MODULES
        if package_of(dotted(path)) == "ordering"
        for name, row in imports(path)
        if is_own(name) and package_of(name) != "ordering"
    ]
    assert not beyond


def test_the_runtime_knows_of_the_analyzer_only_codes_and_findings() -> None:
    beyond = [
        f"{dotted(path)}:{row} imports {name}"
        for path in RUNTIME
        for name, row in imports(path)
        if is_own(name) and not name.startswith(("tpulint.runtime", "tpulint.ordering"))
        if not RUNTIME_MAY_IMPORT & {name, name.rpartition(".")[0]}
    ]
    assert not beyond


def runtime_package(name: str) -> str:
    """Return the directory or file directly in the runtime that a dotted name leads into."""
    parts = name.removeprefix("tpulint.runtime").split(".")
    path = PACKAGE / "runtime" / (parts[1] if len(parts) > 1 else "")
    inside = len(parts) > 1 and (path.is_dir() or path.with_suffix(".py").exists())
    return parts[1] if inside else ""


def test_no_import_of_the_runtime_runs_up_its_layers() -> None:
    assert {runtime_package(dotted(path)) for path in RUNTIME} == set().union(*RUNTIME_LAYERS)
    height = {name: number for number, names in enumerate(RUNTIME_LAYERS) for name in names}
    upward = [
        f"{dotted(path)}:{row} imports {name}"
        for path in RUNTIME
        for name, row in imports(path)
        if name.startswith("tpulint.runtime.")
        if height[runtime_package(name)] > height[runtime_package(dotted(path))]
    ]
    assert not upward


@pytest.mark.parametrize(
    ("driver", "step"),
    [
        ("runtime", "mark.replicate.mark"),
        ("runtime", "extract.program.extract"),
        ("runtime", "schedule.schedule.schedule"),
        ("runtime", "execute.step.execute"),
        ("check", "discover.find_files"),
        ("check", "programs.prefilter"),
        ("check", "programs.split_into_programs"),
        ("check", "analysis.summarize"),
        ("frontends.tensorflow", "build_program.build_program"),
        ("check", "analysis.run_rules"),
        ("check", "resolve.resolve"),
        ("check", "resolve.rendered"),
    ],
)
def test_each_step_is_called_once_and_by_the_driver(driver: str, step: str) -> None:
    name = f"tpulint.{driver}.{step}"
    (importing,) = [path for path in MODULES if name in {target for target, _ in imports(path)}]
    expected = "runtime" if driver == "runtime" else "check"
    assert importing == PACKAGE / expected / "driver.py"
    calls = [
        node
        for node in ast.walk(ast.parse(importing.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == step.rpartition(".")[2]
    ]
    assert len(calls) == 1


def test_the_architecture_is_one_page() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 92
    named = re.findall(r"`((?:check|frontends|runtime|cli)/[a-z_/]+\.py)`", page)
    assert len(named) >= 10
    assert [name for name in named if not (PACKAGE / name).is_file()] == []


def test_no_two_public_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(dotted(path))
    assert len(places) > 300
    assert not {name: modules for name, modules in places.items() if len(modules) > 1}


def test_only_one_file_imports_private_modules_of_tensorflow_and_no_stage_needs_them() -> None:
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
    assert using == {"runtime", *(f"runtime/{name}" for name in PATCHING)}


def test_a_rule_imports_no_other_rule() -> None:
    beyond = [
        f"{path.name}:{row} imports {name}"
        for path in (PACKAGE / "rules").glob("*/*.py")
        for name, row in imports(path)
        if re.match(r"tpulint\.rules\.(?!base\.)\w+\.", name)
    ]
    assert not beyond


def test_only_the_gateway_knows_libcst() -> None:
    knowing = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        for name, _ in imports(path)
        if name.split(".")[0] == "libcst"
    }
    assert knowing == {"diagnostics"}


def loaded_after(*arguments: str, folder: Path) -> set[str]:
    """The modules that a run of `tpulint ARGUMENTS` has loaded at its end."""
    script = (
        "import sys\n"
        "from tpulint.cli.main import main\n"
        "try:\n"
        "    status = main(sys.argv[1:])\n"
        "except SystemExit as exit:\n"
        "    status = exit.code\n"
        "assert not status, status\n"
        "print('loaded', *sys.modules)\n"
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


def test_the_version_is_shown_without_libcst_and_tensorflow(tmp_path: Path) -> None:
    unwanted = {"libcst", "tensorflow", "numpy", "tpulint.rules"}
    assert not unwanted & loaded_after("version", folder=tmp_path)


def test_files_without_a_trigger_word_are_passed_without_the_parser(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import math\nprint(math.pi)\n", encoding="utf-8")
    loaded = loaded_after("check", "--no-cache", ".", folder=tmp_path)
    assert not {"tpulint.syntax.tree", "libcst", "tensorflow", "numpy", "tpulint.rules"} & loaded
    # Each of these takes longer than the search of the file.
    slow = {"tpulint.absint.domain", "tpulint.syntax.ir", "concurrent.futures", "dataclasses"}
    assert not slow & loaded
    assert "tpulint.notebook" not in loaded


@pytest.mark.parametrize(
    ("option", "style", "is_loaded"),
    [("", "full", False), (", name='a'", "full", True), (", name='a'", "github", False)],
)
def test_a_check_loads_libcst_for_a_fix_only_and_never_tensorflow(
    option: str, style: str, is_loaded: bool, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\n"
        "def computation(x):\n"
        "    return tf.compat.v1.tpu.outside_compilation(abs, x)\n"
        f"y = tf.compat.v1.tpu.rewrite(computation, [[1.0]]{option})\n",
        encoding="utf-8",
    )
    arguments = ("--no-cache", "--exit-zero", "--output-format", style, ".")
    loaded = loaded_after("check", *arguments, folder=tmp_path)
    assert "tpulint.rules.replicate.tpu405_deprecated_name" in loaded
    assert ("libcst" in loaded) == is_loaded
    assert not {"tensorflow", "numpy"} & loaded


@pytest.mark.parametrize("style", ["text", "mermaid", "svg", "html"])
def test_a_map_never_imports_tensorflow(style: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import tensorflow as tf\ny = tf.compat.v1.tpu.rewrite(tf.abs, [[1.0]])\n",
        encoding="utf-8",
    )
    loaded = loaded_after(
        "map", "--no-cache", "--output-format", style, "program.py", folder=tmp_path
    )
    assert not {"tensorflow", "numpy"} & loaded


def test_a_check_does_not_load_the_pictures(tmp_path: Path) -> None:
    """Only those formats that draw something do."""
    script = (
        "import sys\n"
        "from tpulint.cli.main import main\n"
        "main(['check', '--no-cache', '.'])\n"
        "assert not [name for name in sys.modules if 'tpulint.map' in name]\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60)


def tracked() -> list[Path]:
    """The files of the repository, or of the folder where it is no checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split("\0") if name]
    files = [path for path in ROOT.rglob("*") if path.is_file()]
    return [path for path in files if not re.search(r"/(\.venv|node_modules)", path.as_posix())]


def test_no_file_of_code_is_long() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in tracked()
        if path.suffix == ".py" and path.exists()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert not long


def test_no_path_of_a_machine_is_in_the_repository() -> None:
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
    assert len({row.path for row in rows}) == len(rows)
    for code in CODES:
        assert re.fullmatch(SHAPE, code)
