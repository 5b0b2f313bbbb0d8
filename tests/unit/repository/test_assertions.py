"""Every test asserts something; the scan finds those that do not."""

from __future__ import annotations

from pathlib import Path

from scripts.assertions import ROOT, without_assertion


def found(folder: Path, **files: str) -> list[str]:
    tests = folder / "tests"
    tests.mkdir()
    for name, text in files.items():
        (tests / f"{name}.py").write_text(text, encoding="utf-8")
    return [place.rpartition(" ")[2] for place in without_assertion(tests)]


def test_every_test_of_the_project_asserts_something() -> None:
    assert not list(without_assertion(ROOT / "tests"))


def test_a_call_that_only_must_not_fail_is_found(tmp_path: Path) -> None:
    assert found(tmp_path, test_a="def test_a():\n    run()\n") == ["test_a"]


def test_a_fixture_that_asserts_is_not_the_tests_own_assertion(tmp_path: Path) -> None:
    text = "def ready():\n    assert True\ndef test_a(ready):\n    ready.start()\n"
    assert found(tmp_path, test_a=text) == ["test_a"]


def test_assertions_in_the_test_count(tmp_path: Path) -> None:
    text = (
        "def test_a():\n    assert run()\n"
        "def test_b():\n    with pytest.raises(KeyError):\n        run()\n"
        "def test_c():\n    subprocess.run(['true'], check=True)\n"
        "def test_d():\n    mocked.assert_called_once()\n"
    )
    assert found(tmp_path, test_a=text) == []


def test_assertions_in_helpers_count_wherever_they_are(tmp_path: Path) -> None:
    tests = (
        "from tests.helpers import same\n"
        "from tests import helpers\n"
        "def check():\n    assert run()\n"
        "def test_a():\n    check()\n"
        "def test_b():\n    same(1)\n"
        "def test_c():\n    helpers.same(1)\n"
        "def test_d():\n    helpers.other(1)\n"
    )
    helpers = "def same(x):\n    assert x\ndef other(x):\n    return x\n"
    assert found(tmp_path, test_a=tests, helpers=helpers) == ["test_d"]
