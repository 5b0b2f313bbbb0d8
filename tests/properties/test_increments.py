"""Findings kept from the last run change none of the next, whatever happened between the two."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.test_one_program import STEP, Row, tree, write
from tpulint.cache_dir import DATABASE
from tpulint.check import driver
from tpulint.check.driver import BuiltProgram
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty
from tpulint.incremental import memo
from tpulint.incremental.disk import CLOCK_LAG_NS
from tpulint.incremental.model import Batch, Job

PLAIN = "import math\n\n\ndef area(radius):\n    return math.pi * radius\n"
TRAINER = """import tensorflow as tf

def train(function):
    tf.tpu.experimental.initialize_tpu_system()
    strategy = tf.distribute.TPUStrategy()

    @tf.function
    def step(x):
        strategy.run(function, args=(x,))

    step(1.0)
"""
CALLER = """import layers
import tensorflow as tf

def faulty(x):
    return tf.py_function(abs, [x], tf.float32)

layers.train({})
"""
TEXTS = (
    PLAIN,
    TRAINER,
    CALLER.format("faulty"),
    CALLER.format("tf.abs"),
    "",
    STEP.format(imports=""),
    STEP.format(imports="\nfrom shared import clipping"),
    "x = (\n",
    "import tensorflow as tf\ntf.config.set_soft_device_placement(True)\n",
    "from shared import clipping\nimport layers\n",
    "from alpha.layers import step\nfrom beta import layers\n",
)
NAMES = (
    "alpha/layers.py",
    "beta/layers.py",
    "alpha/__init__.py",
    "layers.py",
    "shared/clipping.py",
    "shared/__init__.py",
    "alpha/clipping.py",
    "requirements.txt",
    "notes.py",
    "alpha/setup.py",
    "alpha/clipping/__init__.py",
)
REQUIRED = ("tensorflow==1.15\n", "tensorflow>=2.13\n", "numpy\n")

Change = tuple[str, int, int]
changes = st.tuples(
    st.sampled_from(
        [
            "write",
            "delete",
            "rename",
            "swap",
            "link",
            "link a folder",
            "revert",
            "same size and time",
            "nothing",
        ]
    ),
    st.integers(0, 1000),
    st.integers(0, 1000),
)


def found(top: Path, cache: Path | None, jobs: int = 1) -> list[Row]:
    config = Config(root=str(top), certainty=Certainty.POSSIBLE, jobs=jobs)
    request = driver.Request(
        config, frozenset(CODES), (str(top),), cache=None if cache is None else str(cache)
    )
    run = driver.check(driver.discover(request))
    assert not run.failures, run.failures
    return [
        (
            Path(finding.span.filename).relative_to(top).as_posix(),
            finding.span.start.row,
            finding.code,
            finding.certainty.value,
            repr(finding),
        )
        for finding in run.findings
    ]


def change(top: Path, before: dict[str, str], what: Change, earlier: float, alone: bool) -> None:
    """Change one file; if not `alone`, all others get its time: only its content says so."""
    kind, which, other = what
    present = sorted(
        entry.relative_to(top).as_posix() for entry in top.rglob("*") if entry.is_file()
    )
    name = sorted({*present, *NAMES})[which % len({*present, *NAMES})]
    path = top / name
    if kind == "write":
        texts = REQUIRED if name.endswith(".txt") else TEXTS
        write({name: texts[other % len(texts)]}, top)
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif kind == "rename" and path.exists():
        target = top / NAMES[other % len(NAMES)]
        target.parent.mkdir(exist_ok=True)
        path.replace(target)
    elif kind == "swap" and path.exists() and (top / NAMES[other % len(NAMES)]).exists():
        swap(path, top / NAMES[other % len(NAMES)])
    elif kind == "link" and not path.is_symlink():
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(top / NAMES[other % len(NAMES)])  # which may be missing, or the link itself
    elif kind == "link a folder" and not (top / "linked").is_symlink():
        (top / "linked").symlink_to(top / "alpha")
    elif kind == "same size and time" and path.exists():
        overwrite(path)
    elif kind == "revert" and name in before:
        write({name: before[name]}, top)
    now = time.time() - 50
    for entry in top.rglob("*"):
        if entry.exists() and (not alone or os.stat(entry).st_mtime > now):
            os.utime(entry, (earlier, earlier))
    settle()


def swap(first: Path, other: Path) -> None:
    """Let two files change places, with their sizes and times."""
    first.replace(first.with_name("between"))
    if other.exists():
        other.replace(first)
    first.with_name("between").replace(other)


def overwrite(path: Path) -> None:
    """Change a file without changing its size or its time; done twice, it is as it was."""
    before = path.stat()
    path.write_text(path.read_text().translate(str.maketrans("tu", "ut")))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def age(top: Path, earlier: float) -> None:
    for path in [top, *top.rglob("*")]:
        os.utime(path, (earlier, earlier))
    settle()


def settle() -> None:
    """Wait until no file is taken for one that is changing now."""
    time.sleep(3 * CLOCK_LAG_NS / 1e9)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 30), steps=st.lists(changes, min_size=1, max_size=6), alone=st.booleans()
)
def test_increments_find_what_a_run_from_the_beginning_finds(
    tmp_path_factory: pytest.TempPathFactory, seed: int, steps: list[Change], alone: bool
) -> None:
    folder = tmp_path_factory.mktemp("increments")
    files = tree(seed)
    top, cache = write(files, folder / "project"), folder / ".cache"
    earlier = time.time() - 100
    age(top, earlier)
    assert found(top, cache) == found(top, None)
    for number, step in enumerate(steps):
        change(top, files, step, earlier + number + 1, alone)
        assert found(top, cache) == found(top, None)
    shutil.rmtree(folder)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The programs that are read, by the names of the files where they begin."""
    seen: list[tuple[str, ...]] = []
    read_program = driver.read_program

    def counted(batch: Batch, job: Job, *arguments: Any) -> BuiltProgram:
        seen.append(tuple(Path(seed).parent.name for seed in job.seeds))
        return read_program(batch, job, *arguments)

    monkeypatch.setattr(driver, "read_program", counted)
    return seen


def project(folder: Path) -> Path:
    text = tree(0)["shared/clipping.py"]
    main = "from {0} import layers\nimport tensorflow as tf\nx = tf.distribute.TPUStrategy()\n"
    files = {"shared/clipping.py": text, "notes.py": PLAIN}
    for name in ("one", "two"):
        files[f"{name}/main.py"] = main.format(name) + "x.run(layers.step, args=(1,))\n"
        files[f"{name}/layers.py"] = STEP.format(imports="")
    return write(files, folder / "project")


def test_only_the_programs_of_an_edited_file_are_read_again(
    tmp_path: Path, read: list[tuple[str, ...]]
) -> None:
    top, cache = project(tmp_path), tmp_path / ".cache"
    age(top, time.time() - 100)
    first = found(top, cache)
    assert len(read) == 2
    for name, again in (("notes.py", []), ("two/layers.py", [("two",)])):
        read.clear()
        (top / name).write_text((top / name).read_text() + "\n# words\n")
        age(top, time.time() - 50)
        assert found(top, cache) == first
        assert read == again


def test_an_edit_of_a_caller_that_shows_no_sign_is_read(
    tmp_path: Path, read: list[tuple[str, ...]]
) -> None:
    cache = tmp_path / ".cache"
    top = write({"layers.py": TRAINER, "start.py": CALLER.format("tf.abs")}, tmp_path / "project")
    age(top, time.time() - 100)
    assert found(top, cache) == []
    read.clear()
    (top / "start.py").write_text(CALLER.format("faulty"))
    age(top, time.time() - 50)
    assert [(name, code) for name, _, code, *_ in found(top, cache)] == [("start.py", "TPU501")]
    assert len(read) == 1


def test_a_file_that_was_looked_for_and_comes_is_read(
    tmp_path: Path, read: list[tuple[str, ...]]
) -> None:
    top, cache = project(tmp_path), tmp_path / ".cache"
    (top / "one" / "layers.py").unlink()
    age(top, time.time() - 100)
    before = found(top, cache)
    read.clear()
    write({"one/layers.py": STEP.format(imports="")}, top)
    age(top, time.time() - 100)
    assert len(found(top, cache)) > len(before)
    assert ("one",) in read


def test_a_child_folder_that_becomes_a_distribution_is_looked_into(tmp_path: Path) -> None:
    main = "from net import layers\nimport tensorflow as tf\nx = tf.distribute.TPUStrategy()\n"
    files = {"README.md": "", "my-lib/net/layers.py": STEP.format(imports="")}
    files["my-lib/net/__init__.py"] = ""
    files["bin/main.py"] = main + "x.run(layers.step, args=(1,))\n"
    top, cache = write(files, tmp_path / "project"), tmp_path / ".cache"
    age(top, time.time() - 100)
    before = found(top, cache)
    write({"my-lib/setup.py": ""}, top)
    age(top, time.time() - 90)
    after = found(top, cache)
    assert ("my-lib/net/layers.py", "TPU501") in [(name, code) for name, _, code, *_ in after]
    (top / "my-lib").rename(top / "its-lib")
    age(top, time.time() - 80)
    renamed = found(top, cache)
    assert [row[1:4] for row in renamed] == [row[1:4] for row in after]
    (top / "its-lib" / "setup.py").unlink()
    age(top, time.time() - 70)
    assert found(top, cache) == before


def test_a_folder_that_a_program_puts_on_the_path_is_looked_into(tmp_path: Path) -> None:
    """Neither the edit of that line nor the file that comes there changes an import."""
    main = "import sys\nsys.path.append('../{}')\nimport layers\nimport tensorflow as tf\n"
    main += "x = tf.distribute.TPUStrategy()\nx.run(layers.step, args=(1,))\n"
    files = {"bin/main.py": main.format("other"), "net/layers.py": STEP.format(imports="")}
    top, cache = write(files, tmp_path / "project"), tmp_path / ".cache"
    age(top, time.time() - 100)
    before = found(top, cache)
    (top / "bin" / "main.py").write_text(main.format("net"))
    age(top, time.time() - 90)
    after = found(top, cache)
    assert ("net/layers.py", "TPU501") in [(name, code) for name, _, code, *_ in after]
    (top / "net").rename(top / "late")
    age(top, time.time() - 80)
    assert found(top, cache) == before
    (top / "late").rename(top / "net")
    age(top, time.time() - 70)
    assert found(top, cache) == after


def test_a_module_that_a_package_lacked_and_gets_is_read(
    tmp_path: Path, read: list[tuple[str, ...]]
) -> None:
    top, cache = project(tmp_path), tmp_path / ".cache"
    (top / "one" / "__init__.py").write_text("")
    with (top / "one" / "main.py").open("a") as file:
        file.write("from one.extra import area\n")
    age(top, time.time() - 100)
    found(top, cache)
    read.clear()
    (top / "one" / "extra.py").write_text(PLAIN)
    age(top, time.time() - 100)
    found(top, cache)
    assert read == [("one",)]


def test_false_change_of_a_folder_above_that_no_import_can_mean(
    tmp_path: Path, read: list[tuple[str, ...]]
) -> None:
    top, cache = project(tmp_path), tmp_path / ".cache"
    age(top, time.time() - 100)
    first = found(top, cache)
    (tmp_path / "tmpk3a_91").mkdir()
    (top / "notes.py").write_text("")
    age(top, time.time() - 50)
    read.clear()
    assert found(top, cache) == first
    assert read == []


def test_results_are_bounded_and_rubbish_is_none(
    tmp_path: Path, read: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    top, cache = project(tmp_path), tmp_path / ".cache"
    age(top, time.time() - 100)
    first = found(top, cache)
    (cache / DATABASE).write_bytes(random.Random(1).randbytes(99))
    (top / "notes.py").write_text("")
    read.clear()
    assert found(top, cache) == first
    assert len(read) == 2
    monkeypatch.setattr(memo, "LIMIT_BYTES", 10)
    (top / "two" / "main.py").write_text("x = 1\n")
    (top / "one" / "layers.py").write_text(STEP.format(imports="\nimport math"))
    age(top, time.time() - 50)
    found(top, cache)
    read.clear()
    found(top, cache)
    assert read == [("one",)]
