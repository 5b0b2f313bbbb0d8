"""Findings depend on the files alone: not on processes, order, folders or project marks."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tpulint.check import driver, executor
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty

Row = tuple[str, int, str, str, str]

STEP = """import tensorflow as tf
{imports}

def step(x):
    return tf.py_function(abs, [x], tf.float32)
"""
MAIN = """import tensorflow as tf
from {package} import layers{imports}
{soft}
strategy = tf.distribute.TPUStrategy()


@tf.function
def train(x):
    return strategy.run(layers.step, args=(x,))
"""
MODEL_FN = """import tensorflow.compat.v1 as tf
from {package} import loss


def model_fn(features, labels, mode, params):
    return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss.loss_of(features))


estimator = tf.estimator.tpu.TPUEstimator(model_fn, train_batch_size=8)
"""
LOSS = """import tensorflow.compat.v1 as tf


def loss_of(features):
    return tf.reduce_mean(tf.py_func(abs, [features], tf.float32))
"""
SOFT = "tf.config.set_soft_device_placement(True)"
SHARED = "import tensorflow as tf\n\n\ndef clipped(x):\n    return tf.clip_by_value(x, 0.0, 1.0)\n"
MARKS: Mapping[str, Sequence[str]] = {
    "none": (),
    "pyproject": ("pyproject.toml",),
    "git": (".git/HEAD",),
}


def tree(seed: int) -> dict[str, str]:
    """Some programs beside one another, some of which share a module or have no `__init__`."""
    draw = random.Random(seed)
    files = {"shared/clipping.py": SHARED, "README.md": ""}
    for package in ("alpha", "beta", "gamma", "delta"):
        shares = draw.random() < 0.5
        if draw.random() < 0.6:
            imports = "\nfrom shared import clipping" if shares else ""
            soft = SOFT if draw.random() < 0.5 else ""
            place = draw.choice([f"{package}/main.py", f"{package}_main.py", f"bin/{package}.py"])
            files[place] = MAIN.format(package=package, imports=imports, soft=soft)
            files[f"{package}/layers.py"] = STEP.format(imports=imports)
        else:
            files[f"{package}/main.py"] = MODEL_FN.format(package=package)
            files[f"{package}/loss.py"] = LOSS
        if draw.random() < 0.5:
            files[f"{package}/__init__.py"] = ""
    return files


def write(files: Mapping[str, str], folder: Path) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def found(paths: Sequence[Path], top: Path, jobs: int = 1) -> set[Row]:
    """The findings below `top` of a run over `paths`."""
    config = Config(root=str(top), certainty=Certainty.POSSIBLE, jobs=jobs)
    request = driver.Request(config, frozenset(CODES), tuple(map(str, paths)))
    run = driver.check(driver.discover(request))
    assert not run.failures, run.failures
    return {
        (
            Path(finding.span.filename).relative_to(top).as_posix(),
            finding.span.start.row,
            finding.code,
            finding.certainty.value,
            finding.message,
        )
        for finding in run.findings
        if Path(finding.span.filename).is_relative_to(top)
    }


@pytest.fixture(params=range(8))
def files(request: pytest.FixtureRequest) -> dict[str, str]:
    return tree(request.param)


@pytest.fixture
def expected(files: dict[str, str], tmp_path: Path) -> set[Row]:
    """Return the findings in a program that is read from its own folder in one process."""
    top = write(files, tmp_path / "expected")
    return found([top], top)


def test_the_number_of_processes_changes_nothing(
    files: dict[str, str], expected: set[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "MIN_FILES_FOR_POOL", 1)
    monkeypatch.setattr(executor, "MIN_CHUNK_FILES", 2)
    top = write(files, tmp_path / "again")
    assert found([top], top, jobs=2) == expected


def test_the_order_of_files_changes_nothing(
    files: dict[str, str], expected: set[Row], tmp_path: Path
) -> None:
    top = write(files, tmp_path / "again")
    paths = [top / name for name in files if name.endswith(".py")]
    random.Random(len(files)).shuffle(paths)
    assert found(paths, top) == expected
    assert found(paths[::-1], top) == expected


@pytest.mark.parametrize("mark", MARKS)
def test_the_folder_around_and_the_marks_in_it_say_nothing(
    mark: str, files: dict[str, str], expected: set[Row], tmp_path: Path
) -> None:
    marks = dict.fromkeys(MARKS[mark], "")
    top = write({**files, **marks}, tmp_path / "around" / "one")
    write(tree(len(files)), tmp_path / "around" / "other")
    assert found([top], top) == expected
    assert found([tmp_path / "around"], top) == expected
    alone = [found([top / name], top) for name in files if name.endswith(".py")]
    assert set().union(*alone) == expected
    packages = {(top / name).parent for name in files if name.endswith(".py")}
    assert set().union(*(found([package], top) for package in packages)) == expected


def test_programs_say_different_things() -> None:
    """The trees hold both: programs under soft placement and others, with and without a package."""
    texts = [text for seed in range(8) for text in tree(seed).values()]
    assert any(SOFT in piece for piece in texts)
    assert any("strategy" in piece and SOFT not in piece for piece in texts)


RING_MODULE = """from tensorflow.compat.v1 import tpu
from {before} import *


def inner_{name}(x):
    return tpu.outside_compilation(unseen_{name}, x)


def step_{name}(x):
    return tpu.outside_compilation(inner_{other}, x)


tpu.rewrite(step_{name}, [1.0])
"""
STAR_IMPORTS: Mapping[str, Mapping[str, str]] = {
    "ring": {
        "a.py": RING_MODULE.format(before="b", name="a", other="b"),
        "b.py": RING_MODULE.format(before="a", name="b", other="a"),
    },
    "package": {
        "p/__init__.py": "from p.m import *\nfrom p.n import *\n",
        "p/m.py": RING_MODULE.format(before="p", name="m", other="n"),
        "p/n.py": RING_MODULE.format(before="p", name="n", other="m"),
    },
    "itself": {"a.py": RING_MODULE.format(before="a", name="a", other="a")},
}


@pytest.mark.parametrize("kind", STAR_IMPORTS)
def test_star_imports_in_a_ring_name_what_they_would(kind: str, tmp_path: Path) -> None:
    modules = STAR_IMPORTS[kind]
    top = write(modules, tmp_path)
    paths = [top / name for name in modules]
    rows = found(paths, top)
    programs = {name for name in modules if not name.endswith("__init__.py")}
    assert {name for name, _, code, certainty, _ in rows if certainty == "definite"} == programs
    assert {code for _, _, code, _, _ in rows} == {"TPU201"}
    assert found(paths[::-1], top) == rows
    assert set().union(*(found([path], top) for path in paths)) == rows
