"""What docs/proof.md takes from the tests of the runtime."""

from __future__ import annotations

from pathlib import Path

from scripts.proof import RuntimeTest, read_proofs, read_tests
from tpulint.codes import CODES

MODULE = """
import pytest
import tensorflow as tf

ROWS = [("x", "TPU601")]
OTHER = ["TPU603"]


def test_named():
    assert fault().rule == "TPU101"


@pytest.mark.any_release
def test_on_one_release():
    assert "[TPU102 device" in text()


def helper():
    return "TPU103"


if hasattr(tf.compat.v1, "estimator"):

    @pytest.mark.parametrize("row", ROWS)
    def test_of_the_estimator(row):
        assert fault() == row
"""


def test_a_test_proves_the_rules_that_it_or_its_parameters_name(tmp_path: Path) -> None:
    path = tmp_path / "test_example.py"
    path.write_text(MODULE, encoding="utf-8")
    assert list(read_tests(path)) == [
        RuntimeTest("TPU101", "test_example.py", "test_named", "both"),
        RuntimeTest("TPU102", "test_example.py", "test_on_one_release", "newest"),
        RuntimeTest("TPU601", "test_example.py", "test_of_the_estimator", "oldest"),
    ]


def test_a_mark_of_the_module_counts_for_its_tests(tmp_path: Path) -> None:
    path = tmp_path / "test_example.py"
    path.write_text(f"pytestmark = pytest.mark.any_release\n{MODULE}", encoding="utf-8")
    assert {test.release for test in read_tests(path)} == {"newest", "oldest"}


def test_each_rule_has_a_row() -> None:
    proofs = list(read_proofs())
    assert [row.page.code for row in proofs] == sorted(CODES)
    assert {row.page.code for row in proofs if row.releases} == {
        row.page.code for row in proofs if row.is_proved
    }
