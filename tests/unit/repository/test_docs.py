"""The documents say what is so: generated parts, links, and the names of commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.new_rule import is_unreleased
from tpulint.cli.options import parser
from tpulint.codes import CODES
from tpulint.config import load_config
from tpulint.config.keys import KEYS
from tpulint.output import FORMATS

ROOT = Path(__file__).parents[3]
FOLDERS = (ROOT, ROOT / "docs", ROOT / "examples")
DOCUMENTS = [path for folder in FOLDERS for path in sorted(folder.glob("*.md"))]
NOT_COMPARED_YET = 8  # rules newer than the last comparison, which needs pylint and two minutes
FRAGMENT_TYPES = {"feature", "bugfix", "false_positive", "false_negative", "new_rule"}


def test_the_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/docs.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run `make docs`: {done.stdout}{done.stderr}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8"))
    missing = [
        target
        for target in targets
        if "://" not in target and not (document.parent / target).exists()
    ]
    assert not missing


def test_commands_that_install_tpulint_are_generated() -> None:
    """They are written once, in scripts/docs.py: a name that is not uploaded is not installed."""
    generated = re.compile(r"<!-- install.*?<!-- end of install -->", re.S)
    documents = [*DOCUMENTS, *ROOT.glob("*/*/README.md")]
    texts = [generated.sub("", path.read_text("utf-8")) for path in documents]
    by_hand = [line for text in texts for line in re.findall(r".*pip install .*", text)]
    elsewhere = [line for line in by_hand if "tpulint" in line or "." in line.split()]
    assert set(elsewhere) <= {
        "    python -m pip install . ./plugins/flake8",
        "    %pip install 'tpulint[runtime] @ git+https://github.com/tpulint/tpulint'",
    }
    assert any(
        "pip install" in match
        for text in documents
        for match in generated.findall(text.read_text("utf-8"))
    )


def test_every_make_target_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {
        target
        for document in DOCUMENTS
        for target in re.findall(r"(?:`|^ {4})make ([a-z-]+)", document.read_text("utf-8"), re.M)
    }
    assert named
    assert named <= targets


def test_the_readme_names_every_output_format() -> None:
    (listed,) = re.findall(r"^Formats: ([^.]+)\.", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert re.findall(r"`(\w+)`", listed) == list(FORMATS)
    table = (ROOT / "docs/command-line.md").read_text("utf-8").partition("## Formats")[2]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", table, re.M)
    assert re.findall(r"\w+", " ".join(rows)) == list(FORMATS)


def test_the_readme_counts_the_reports_as_the_page_does() -> None:
    readme, page = ((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/field.md"))
    counts = re.search(r"Of (\d+) public bug reports .*?catches (\d+), (\d+) of them", readme, re.S)
    assert counts is not None
    pattern = r"lists (\d+) public bug reports.*?For (\d+) of them.*?: (\d+) by default"
    assert re.findall(pattern, page, re.S) == [counts.groups()]


def test_the_comparison_has_a_row_for_each_rule() -> None:
    """Write it again with `python scripts/comparison.py --write` where a rule is new."""
    page = (ROOT / "docs/comparison.md").read_text("utf-8")
    rows = re.findall(r"^\| (TPU\d+) ([\w-]+) \|", page, re.M)
    expected = [(row.code, row.name) for row in CODES.values() if not row.code.startswith("TPU0")]
    missing = sorted(set(expected) - set(rows))
    assert set(rows) <= set(expected)
    assert len(missing) <= NOT_COMPARED_YET, missing


def test_every_option_that_a_document_names_exists() -> None:
    options = {word for command in parser().commands().values() for word in command.options()}
    named = {
        option
        for document in (ROOT / "README.md", ROOT / "docs/configuration.md")
        for line in re.findall(r"tpulint (?:check|rule|config)[^\n`]*", document.read_text("utf-8"))
        for option in re.findall(r"(?<=\s)--[a-z-]+", line)
    }
    assert named
    assert named <= options


def test_the_examples_of_the_configuration_are_read(tmp_path: Path) -> None:
    text = (ROOT / "docs/configuration.md").read_text("utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert len(blocks) == 1 + len(KEYS)
    (tmp_path / "tpulint.toml").touch()  # an example extends it
    (tmp_path / "team").mkdir()
    for block in blocks:
        (tmp_path / "team" / "tpulint.toml").write_text(block)
        assert load_config(str(tmp_path / "team" / "tpulint.toml")).origins


def test_the_changelog_fragments_have_a_type() -> None:
    fragments = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert {path.name.split(".")[-2] for path in fragments} <= FRAGMENT_TYPES


def test_there_are_no_changelog_fragments_before_the_first_release() -> None:
    names = [path.name for path in (ROOT / "changelog.d").iterdir()]
    assert names == ["README.md"] or not is_unreleased(ROOT)
