"""The files that a file imports, by its bytes, and the programs that imports join."""

from __future__ import annotations

import json

import pytest

from tpulint.absint.resolver.import_graph import (
    Files,
    ImportedNames,
    ImportGraph,
    connected,
    imports,
    statements,
)
from tpulint.disk import Disk
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED

STATEMENTS = {
    b"import a.b as c, d\n": [ImportedNames("a.b", 0, ()), ImportedNames("d", 0, ())],
    b"from . import x, y as z  # and why\n": [ImportedNames("", 1, ("x", "y"))],
    b"  from ..a.b import (p,  # one\n    q as r,\n)\n": [ImportedNames("a.b", 2, ("p", "q"))],
    b"if x: import k\n": [ImportedNames("k", 0, ())],
    b"from m import a, \\\n  b\n": [ImportedNames("m", 0, ("a", "b"))],
    b"from t import *\n": [ImportedNames("t", 0, ("*",))],
    b"x = 'to import y'\nreimport = 1\nimport_it(z)\n": [],
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_each_way_to_write_an_import(text: bytes) -> None:
    assert list(imports(text)) == STATEMENTS[text]


@pytest.mark.parametrize(
    "prose", [b"# to import (all of this\n", b"they import x\n", b"x; y import z\n"]
)
def test_what_stands_before_the_word_says_that_it_is_no_statement(prose: bytes) -> None:
    """Nothing of it is looked for then: a bracket in prose may never be closed."""
    assert not list(statements(prose * 1000))


def meant(path: str, dotted: str, *others: str) -> str | None:
    """The file that `import dotted` in `path` means, where there are these files."""
    contents = dict.fromkeys((path, *others), b"")
    return Files(Disk(contents), installed=INSTALLED).locate(path, dotted, 0)


def test_a_package_needs_no_init() -> None:
    meaning = meant("/x/net/train.py", "net.layers.dense", "/x/net/layers/dense.py")
    assert meaning == "/x/net/layers/dense.py"


@pytest.mark.parametrize(
    ("folder", "is_found"),
    [
        ("net_lib-master", True),
        ("net-lib-1.2.0", True),
        ("owner+net-lib", True),
        ("some-owner__net_lib", True),
        ("net_lib@0a1b2c3d", True),
        ("net_lib-examples", False),
        ("my-net_lib", False),
        ("lib-master", False),
        ("copy", False),
    ],
)
def test_a_checkout_of_a_package_may_have_more_in_its_name(folder: str, is_found: bool) -> None:
    """Missed before: most files of a repository that is its own package, unpacked elsewhere."""
    root = f"/x/{folder}"
    others = (f"{root}/layers/dense.py", f"{root}/layers/__init__.py", f"{root}/net/lib.py")
    meaning = meant(f"{root}/bin/train.py", "net_lib.layers.dense", *others)
    assert meaning == (f"{root}/layers/dense.py" if is_found else None)
    assert meant(f"{root}/bin/train.py", "net_lib.layers.wide", *others) is None
    assert meant(f"{root}/bin/train.py", "net_lib", *others) is None


@pytest.mark.parametrize(
    ("folder", "init", "is_found"),
    [
        ("albert-with-comet", True, True),
        ("owner+albert.grad_accum", True, True),
        ("albert-with-comet", False, False),
        ("my-albert", True, False),
        ("alberta", True, False),
    ],
)
def test_a_fork_of_a_package_has_words_after_its_name(
    folder: str, init: bool, is_found: bool
) -> None:
    """Missed before: all of a fork of ALBERT but its scripts, for they import `albert.modeling`."""
    root = f"/x/{folder}"
    others = (f"{root}/modeling.py", *([f"{root}/__init__.py"] if init else []))
    meaning = meant(f"{root}/run.py", "albert.modeling", *others)
    assert meaning == (f"{root}/modeling.py" if is_found else None)


def test_a_package_in_a_checkout_of_its_name_comes_first() -> None:
    root = "/x/net-master"
    inner = f"{root}/net/dense.py"
    assert meant(f"{root}/train.py", "net.dense", f"{root}/dense.py", inner) == inner


def test_an_init_at_the_root_moves_no_import() -> None:
    root = "/x/repository/__init__.py"
    meaning = meant("/x/repository/bin/train.py", "net.dense", root, "/x/repository/net/dense.py")
    assert meaning == "/x/repository/net/dense.py"


def test_a_folder_in_a_package_may_be_on_the_path() -> None:
    inits = ("/x/net/__init__.py", "/x/net/zoo/__init__.py", "/x/net/zoo/tall/__init__.py")
    meaning = meant("/x/net/zoo/tall/train.py", "wide.dense", *inits, "/x/net/zoo/wide/dense.py")
    assert meaning == "/x/net/zoo/wide/dense.py"


def test_modules_stand_below_src() -> None:
    assert meant("/x/bin/train.py", "net.dense", "/x/src/net/dense.py") == "/x/src/net/dense.py"


DISTRIBUTION = ("/x/README.md", "/x/layers-lib/setup.py")


@pytest.mark.parametrize("top", ["/x/layers-lib", "/x/layers-lib/src"])
def test_a_child_folder_with_a_setup_file_holds_packages(top: str) -> None:
    """Missed before: all but one file of a repository whose package is installed from a child."""
    others = (*DISTRIBUTION, f"{top}/net/__init__.py", f"{top}/net/layers/dense.py")
    assert meant("/x/bin/train.py", "net.layers.dense", *others) == f"{top}/net/layers/dense.py"
    assert meant("/x/bin/train.py", "net.layers.wide", *others) is None
    own = meant("/x/bin/train.py", "net.layers.dense", *others, "/x/net/layers/dense.py")
    assert own == "/x/net/layers/dense.py"


@pytest.mark.parametrize(
    ("dotted", "others"),
    [
        ("net", ("/x/layers-lib/setup.py", "/x/layers-lib/net/__init__.py")),  # no project's child
        ("net", ("/x/README.md", "/x/layers-lib/net/__init__.py")),  # not installed by itself
        ("net", (*DISTRIBUTION, "/x/layers-lib/net.py")),  # a tool of the distribution
        ("net", (*DISTRIBUTION, "/x/layers-lib/net/dense.py")),
        ("copy", (*DISTRIBUTION, "/x/layers-lib/copy/__init__.py")),
        (
            "net",
            (
                *DISTRIBUTION,
                *(f"/x/{a}/net/__init__.py" for a in ("layers-lib", "b")),
                "/x/b/setup.py",
            ),
        ),
        (
            "net",
            (*DISTRIBUTION, "/x/layers-lib/net/__init__.py", *(f"/x/p{n}/a.py" for n in range(64))),
        ),
    ],
)
def test_false_package_of_a_child_folder(dotted: str, others: tuple[str, ...]) -> None:
    assert meant("/x/bin/train.py", dotted, *others) is None


def test_another_project_beside_this_one_is_no_package() -> None:
    beside = ("/x/kfac/setup.py", "/x/kfac/kfac/__init__.py", "/x/kfac/notes.py")
    assert meant("/x/trainer/train.py", "kfac", *beside) is None


def test_false_program_of_all_that_is_in_a_folder_called_copy() -> None:
    inside = ("/x/copy/net/dense.py",)
    assert meant("/x/copy/net/train.py", "copy", *inside) is None
    assert meant("/x/copy/net/train.py", "net.dense", *inside) == inside[0]


def test_a_package_may_be_called_as_a_module_of_python() -> None:
    package = ("/x/copy/__init__.py", "/x/copy/net.py")
    assert meant("/x/train.py", "copy.net", *package) == package[1]


def test_programs_share_a_file_or_are_others() -> None:
    contents = {
        "/x/one.py": b"from net import dense\n",
        "/x/two.py": b"import net.dense\n",
        "/x/three.py": b"import os\n",
        "/x/net/dense.py": b"",
    }
    graph = ImportGraph(Files(Disk(contents), installed=INSTALLED))
    groups = connected(graph, ["/x/one.py", "/x/two.py", "/x/three.py"])
    assert [group.seeds for group in groups] == [["/x/one.py", "/x/two.py"], ["/x/three.py"]]
    assert "/x/net/dense.py" in groups[0].all
    groups = connected(graph, ["/x/one.py", "/x/three.py"], [["/x/one.py", "/x/three.py"]])
    assert [group.seeds for group in groups] == [["/x/one.py", "/x/three.py"]]


def test_a_notebook_imports_what_its_python_cells_say() -> None:
    """A cell that is no Python by itself says it, too; one of another language does not."""
    cells = [
        "from net import dense\n!pip install x",
        "import broken\nx = (",
        "%%time\nimport timed",
        "%%writefile f.py\nimport written",
    ]
    notebook = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    names = ("net/dense", "broken", "timed", "written")
    contents = {f"/x/{name}.py": b"" for name in names}
    contents["/x/n.ipynb"] = json.dumps(notebook).encode()
    graph = ImportGraph(Files(Disk(contents), installed=INSTALLED))
    assert set(graph.imported("/x/n.ipynb")) >= {f"/x/{name}.py" for name in names[:3]}
    assert "/x/written.py" not in graph.imported("/x/n.ipynb")
    assert (
        ImportGraph(Files(Disk({"/x/n.ipynb": b"{"}), installed=INSTALLED)).imported("/x/n.ipynb")
        == ()
    )


ADDED = {
    b'sys.path.append("../bert")': "/x/bert/dense.py",
    b"sys.path.insert(0, '../bert')  # the other project": "/x/bert/dense.py",
    b"import sys; sys.path.append('bert')": "/x/bert/dense.py",
    b'sys.path.append(os.path.join(os.path.dirname(__file__), "..", "bert"))': "/x/bert/dense.py",
    b'sys.path.insert(1, path.join(dirname(dirname(abspath(__file__))), r"bert"))': (
        "/x/bert/dense.py"
    ),
    b"sys.path.append(os.path.abspath('..'))": None,
    b'# sys.path.append("../bert")': None,
    b'sys.path.append("/x/bert")': None,
    b"sys.path.append(f'{top}/bert')": None,
    b'sys.path.append(os.path.join(top, "../bert"))': None,
    b"sys.path.append(top)": None,
}


@pytest.mark.parametrize("line", ADDED)
def test_a_literal_folder_on_the_path_of_python_holds_modules(line: bytes) -> None:
    """It is one from the file's own folder, or from the top of its project."""
    data = b"import sys\n" + line + b"\nimport dense\nimport math\n"
    contents = {"/x/net/train.py": data, "/x/README.md": b"", "/x/bert/math.py": b""}
    contents |= {"/x/bert/dense.py": b"", "/x/net/other.py": b"import dense\n"}
    files = Files(Disk(contents), installed=INSTALLED)
    graph = ImportGraph(files)
    expected = ADDED[line]
    assert graph.imported("/x/net/other.py") == ()
    assert graph.imported("/x/net/train.py") == ((expected,) if expected else ())
    assert graph.filled("/x/net/train.py") == ()
    assert files.locate("/x/net/train.py", "dense", 0) == expected
    fresh = Files(Disk(contents), installed=INSTALLED)
    assert fresh.locate("/x/net/train.py", "dense", 0) == expected
    assert fresh.locate("/x/net/other.py", "dense", 0) is None
