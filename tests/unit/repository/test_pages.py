"""The harness of the rules' pages reads what is written, and would see a wrong page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.execution import execute
from tpulint.testing import Expected, read_page, write

PAGE = """\
# TPU201 nested-outside-compilation

## What it does
Says so.

```python
a = 1
b(a)  # error: TPU201, TPU203
c(a)  # possible: TPU103
```

```console
$ not python
```

## Example
```python raises: ValueError TPU501
# file: pkg/inner/tool.py
x = 1  # error: TPU201
# file: main.py
from pkg.inner import tool
```
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tpu201_nested_outside_compilation.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_page_is_read_with_its_headings_files_and_marks(tmp_path: Path) -> None:
    page = read_page(written(tmp_path, PAGE))
    assert (page.code, page.rule) == ("TPU201", "nested-outside-compilation")
    assert page.headings == ("What it does", "Example")
    single, several = page.blocks
    assert single.expected == {
        Expected("example.py", 2, "TPU201", "definite"),
        Expected("example.py", 2, "TPU203", "definite"),
        Expected("example.py", 3, "TPU103", "possible"),
    }
    assert (single.verb, single.error, single.rule) == ("", "", "TPU201")
    assert (several.verb, several.error, several.rule) == ("raises", "ValueError", "TPU501")
    assert list(several.files) == ["pkg/inner/tool.py", "main.py"]
    assert several.expected == {Expected("pkg/inner/tool.py", 1, "TPU201", "definite")}


def test_the_files_of_a_block_are_written_as_packages(tmp_path: Path) -> None:
    block = read_page(written(tmp_path, PAGE)).blocks[1]
    names = [Path(name).relative_to(tmp_path).as_posix() for name in write(block, tmp_path)]
    assert names == [
        "main.py",
        "pkg/__init__.py",
        "pkg/inner/__init__.py",
        "pkg/inner/tool.py",
    ]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("# Nested outside compilation\n", "title"),
        ("# TPU201 nested\n```python runz\n```\n", "no such meaning"),
        ("# TPU201 nested\n```python raises\n```\n", "no such meaning"),
        ("# TPU201 nested\n```python runs remote: ValueError\n```\n", "no such meaning"),
        ("# TPU201 nested\n```python\na = 1\n", "not closed"),
    ],
)
def test_a_malformed_page_is_refused_with_its_line(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        read_page(written(tmp_path, text))


def test_programs_run_apart_and_report_how_they_end(tmp_path: Path) -> None:
    text = """\
# TPU103 unseen-host-update
```python runs
import tensorflow as tf
tf.compat.v1.disable_eager_execution()
```
```python runs
import tensorflow as tf
assert tf.executing_eagerly()
```
```python raises: ValueError
class Wrong(ValueError):
    rule = "TPU103"
raise Wrong("no")
```
```python raises: ValueError -
raise ValueError("one of TensorFlow's own")
```
```python runs
import tensorflow as tf
assert len(tf.config.list_logical_devices("TPU")) == 2
```
```python runs
import time
import tensorflow as tf
import tpulint.runtime
time.sleep(0.5)  # the one after it ends first
assert not tf.config.list_logical_devices("TPU")
```
```python warns: Stale
import warnings
class Stale(UserWarning):
    rule = "TPU103"
warnings.warn(Stale("old"))
```
"""
    blocks = read_page(written(tmp_path, text)).blocks
    switched, fresh, wrong, plain, emulated, bare, stale = execute(blocks).values()
    assert not switched.raised, switched.text
    assert not fresh.raised, fresh.text
    assert wrong.raised[:2] == ("Wrong", "ValueError")
    assert wrong.rule == "TPU103"
    assert "Wrong: no" in wrong.text
    assert (blocks[3].error, blocks[3].rule, plain.rule) == ("ValueError", "", "")
    assert not emulated.raised, emulated.text
    assert not bare.raised, bare.text
    assert stale.warned == (("Stale", "TPU103"),)
