"""An edit that no program can see costs a run no more than none does."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tpulint.check import driver
from tpulint.codes import CODES
from tpulint.config import Config
from tpulint.finding import Certainty
from tpulint.incremental.disk import CLOCK_LAG_NS

EARLIER = time.time() - 100
# Seconds after which a file is no longer taken for one that changes.
SETTLED = 3 * CLOCK_LAG_NS / 1e9
STEP = """import tensorflow as tf
import layers


def step(x):
    print_it = tf.strings.as_string(layers.scaled(x))
    return print_it


tf.compat.v1.tpu.rewrite(step, [[1.0]])
"""
FILES = {
    "train.py": STEP,
    "layers.py": "def scaled(x):\n    return x\n",
    "beside.py": "import math\n\nRADIUS = 1.0\n",
    "wrong.py": "import tensorflow as tf\n\nx = tf.tpu.no_such_name\n",
    "book.ipynb": '{"cells": [{"cell_type": "code", "source": "import math"}]}',
    "setup.py": "setup(install_requires=['tensorflow>=2.13'])\n",
    "quiet.py": "import layers\n\nx = 1  # noqa: TPU101\n",
}
Found = list[tuple[str, int, str]]


def write(top: Path, files: dict[str, str], age: float = 0) -> None:
    for name, text in files.items():
        (top / name).write_text(text, encoding="utf-8")
        os.utime(top / name, (EARLIER + age, EARLIER + age))
    time.sleep(SETTLED)


def check(top: Path) -> Found:
    config = Config(root=str(top), certainty=Certainty.POSSIBLE, jobs=1)
    cache = str(top / ".cache")
    request = driver.Request(config, frozenset(CODES), (str(top),), cache=cache)
    result = driver.check(driver.discover(request))
    return [(Path(e.span.filename).name, e.span.start.row, e.code) for e in result.findings]


@pytest.fixture
def analyzed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An item where programs were found or read again."""
    seen: list[str] = []

    def counting(step: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            seen[:] = ["analyzed"]
            return step(*arguments)

        return counted

    for name in ("divide", "read_program"):
        monkeypatch.setattr(driver, name, counting(getattr(driver, name)))
    return seen


@pytest.fixture
def before(tmp_path: Path, analyzed: list[str]) -> Found:
    """The findings in a project that is checked for the first time."""
    write(tmp_path, FILES)
    actual = check(tmp_path)
    assert {name for name, _, _ in actual} == {"quiet.py", "train.py", "wrong.py"}
    assert analyzed.pop() == "analyzed"
    return actual


def test_an_edit_of_a_file_of_no_program_analyzes_nothing(
    tmp_path: Path, before: Found, analyzed: list[str]
) -> None:
    for age in (1, 2):
        write(tmp_path, {"beside.py": f"import math\n\nRADIUS = {age}.5\n"}, age)
        assert check(tmp_path) == before
    assert not analyzed


def test_a_suppression_in_such_a_file_is_found_where_it_is_now(
    tmp_path: Path, before: Found, analyzed: list[str]
) -> None:
    write(tmp_path, {"quiet.py": "\n" + FILES["quiet.py"]}, age=1)
    assert check(tmp_path) == [("quiet.py", 4, "TPU002"), *before[1:]]
    assert not analyzed


def test_an_edit_beside_after_one_of_the_program_analyzes_nothing(
    tmp_path: Path, before: Found, analyzed: list[str]
) -> None:
    write(tmp_path, {"train.py": "\n" + STEP}, age=1)
    after = check(tmp_path)
    assert after != before
    assert analyzed.pop() == "analyzed"
    write(tmp_path, {"beside.py": "import math\n"}, age=1)
    assert check(tmp_path) == after
    assert not analyzed


def test_a_program_that_was_recalled_sees_edits_of_its_files(
    tmp_path: Path, before: Found, analyzed: list[str]
) -> None:
    write(tmp_path, {"other.py": STEP.replace("layers", "math")})
    check(tmp_path)
    write(tmp_path, {"other.py": "\n" + STEP.replace("layers", "math")}, age=1)
    check(tmp_path)
    analyzed.clear()
    write(tmp_path, {"layers.py": "def scaled(x):\n    return [x]\n"}, age=1)
    check(tmp_path)
    assert analyzed == ["analyzed"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", "\n" + STEP),
        ("layers.py", "def scaled(x):\n    return tf.strings.as_string(x)\n"),
        ("beside.py", "import math, layers\n"),
        ("beside.py", STEP),
        ("beside.py", "import math\nimport tensorflow as tf\nx = tf.tpu.no_such_name\n"),
        ("wrong.py", "\n" + FILES["wrong.py"]),
        ("quiet.py", FILES["quiet.py"].partition("#")[0]),
        ("book.ipynb", '{"cells": [{"cell_type": "code", "source": "import layers"}]}'),
        ("another.py", ""),
        ("setup.py", "setup(install_requires=['tensorflow==1.15'])\n"),
    ],
    ids=[
        "the program",
        "what it imports",
        "another import",
        "a new program",
        "a name",
        "a name moved",
        "a suppression gone",
        "a notebook",
        "a new file",
        "a requirement",
    ],
)
def test_an_edit_that_a_check_can_see_is_analyzed(
    name: str, text: str, tmp_path: Path, before: Found, analyzed: list[str]
) -> None:
    write(tmp_path, {name: text}, age=1)
    actual = check(tmp_path)
    assert analyzed == ["analyzed"]
    (tmp_path / ".cache").rename(tmp_path / "elsewhere")
    assert actual == check(tmp_path)


def test_a_file_that_goes_is_analyzed(tmp_path: Path, before: Found, analyzed: list[str]) -> None:
    (tmp_path / "beside.py").unlink()
    assert check(tmp_path) == before
    assert analyzed == ["analyzed"]


def test_the_setting_of_soft_placement_by_way_of_another_import(
    tmp_path: Path, before: Found, analyzed: list[str]
) -> None:
    """The new import brings a setting to a program that the edited file is not read for."""
    setter = "import tensorflow as tf\ntf.config.set_soft_device_placement(True)\n"
    write(tmp_path, {"setter.py": setter, "main.py": "import train\n"})
    assert check(tmp_path) == before
    write(tmp_path, {"main.py": "import setter\nimport train\n"}, age=1)
    assert check(tmp_path) == [row for row in before if row[0] != "train.py"]
