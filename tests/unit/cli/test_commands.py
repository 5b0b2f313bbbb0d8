"""The commands beside `check`: rule, config, clean, version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.conftest import Terminal
from tpulint import __version__
from tpulint.cache_dir import claim
from tpulint.codes import CODES
from tpulint.config.keys import KEYS


def test_rule_shows_the_page(tpulint: Terminal) -> None:
    assert tpulint("rule", "tpu201") == 0
    by_code = tpulint.out
    assert by_code.startswith("TPU201")
    assert "```" not in by_code
    tpulint("rule", "nested-outside-compilation")
    assert tpulint.out == by_code
    tpulint("rule", "TPU201", "--output-format", "markdown")
    assert tpulint.out.startswith("# TPU201")
    tpulint("rule", "TPU201", "--output-format", "json")
    assert json.loads(tpulint.out)["explanation"].startswith("# TPU201")


def test_rule_lists_all_rules(tpulint: Terminal) -> None:
    assert tpulint("rule") == 0
    rows = re.findall(r"^  (TPU\d{3}) (?:\[[*+]\]|   ) ([a-z0-9-]+): \S", tpulint.out, re.M)
    assert rows == [(row.code, row.name) for row in CODES.values()]
    assert tpulint("rule", "--output-format", "json") == 0
    items = json.loads(tpulint.out)
    assert [row["code"] for row in items] == list(CODES)
    assert "explanation" not in items[0]
    assert tpulint("rule", "--output-format", "markdown") == 0
    assert tpulint.out.count("\n- `TPU") == len(CODES)


def test_config_explains_a_key(tpulint: Terminal, here: Path) -> None:
    for key in KEYS.values():
        assert tpulint("config", key.name) == 0
        assert key.text in tpulint.out
        assert key.example.splitlines()[0] in tpulint.out
    (here / "tpulint.toml").write_text('certainty = "possible"\n')
    assert tpulint("config", "certainty") == 0
    assert 'here:    certainty = "possible"  # tpulint.toml' in tpulint.out


def test_without_a_command_the_help_is_shown(tpulint: Terminal) -> None:
    assert tpulint() == 2
    assert tpulint.out.startswith("usage: tpulint ")
    assert "report findings in files and directories" in tpulint.out
    assert tpulint.err == ""


def test_rule_all(tpulint: Terminal) -> None:
    assert tpulint("rule", "--all", "--output-format", "json") == 0
    assert [row["code"] for row in json.loads(tpulint.out)] == list(CODES)
    tpulint("rule", "--all")
    assert all(code in tpulint.out for code in CODES)


def test_config_shows_every_key_and_where_it_comes_from(tpulint: Terminal, here: Path) -> None:
    lines = ["[tool.tpulint]", 'ignore = ["TPU103"]', "jobs = 2"]
    lines += ["[tool.tpulint.per-file-ignores]", '"x/*" = ["ALL"]']
    (here / "pyproject.toml").write_text("\n".join(lines))
    assert tpulint("config", "--config", "certainty = 'possible'") == 0
    shown = tpulint.out.splitlines()
    assert shown[0] == f"# {here / 'pyproject.toml'}"
    assert 'ignore = ["TPU103"]  # pyproject.toml' in shown
    assert 'certainty = "possible"  # --config' in shown
    assert "assume-tpu = false  # default" in shown
    assert 'per-file-ignores = { "x/*" = ["ALL"] }  # pyproject.toml' in shown
    (here / "sub").mkdir()
    (here / "sub/.tpulint.toml").write_text("jobs = 7\n")
    (here / "sub/a.py").write_text("")
    tpulint("config", "sub/a.py")
    assert "jobs = 7  # sub/.tpulint.toml" in tpulint.out
    tpulint("check", "--show-settings", "sub")
    assert "jobs = 7  # sub/.tpulint.toml" in tpulint.out
    assert tpulint("config", "--schema") == 0
    assert json.loads(tpulint.out)["additionalProperties"] is False


def test_clean(tpulint: Terminal, here: Path) -> None:
    (here / ".tpulint_cache/x").mkdir(parents=True)
    assert tpulint("clean") == 2
    assert "not removed: not a cache directory of tpulint" in tpulint.err
    (here / ".tpulint_cache/x").rmdir()
    claim(".tpulint_cache")
    assert (here / ".tpulint_cache/.gitignore").read_text() == "*\n"
    assert tpulint("clean") == 0
    assert not (here / ".tpulint_cache").exists()
    assert tpulint("clean") == 0
    assert tpulint.out == ""


@pytest.mark.parametrize("word", ["version", "--version", "-V"])
def test_version(tpulint: Terminal, word: str) -> None:
    assert tpulint(word) == 0
    assert tpulint.out == f"tpulint {__version__}\n"
