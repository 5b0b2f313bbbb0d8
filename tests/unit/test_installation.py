"""What a user is told to install an extra with: it works wherever tpulint was installed from."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from tpulint.installation import install

URL = "https://github.com/tpulint/tpulint"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("origin", "argument"),
    [
        ({"url": "file:///a/b%20c", "dir_info": {}}, "'/a/b c[lsp]'"),
        ({"url": "file:///a/b", "dir_info": {"editable": True}}, "-e '/a/b[lsp]'"),
        (
            {"url": URL, "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"'tpulint[lsp] @ git+{URL}@{COMMIT}'",
        ),
        (
            {"url": "https://example.org/tpulint-0.1.0.whl", "archive_info": {}},
            "'tpulint[lsp] @ https://example.org/tpulint-0.1.0.whl'",
        ),
    ],
)
def test_the_record_of_an_installation_says_where_it_is_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, origin: dict[str, object], argument: str
) -> None:
    (tmp_path / "METADATA").write_text("Name: tpulint\nVersion: 0\n")
    (tmp_path / "direct_url.json").write_text(json.dumps(origin))
    recorded = importlib.metadata.PathDistribution(tmp_path)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: recorded)
    assert install("lsp") == f"python -m pip install {argument}"


def test_a_checkout_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    root = Path(__file__).parents[2]
    assert install("lsp") == f"python -m pip install '{root}[lsp]'"


def test_a_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "METADATA").write_text("Name: tpulint\nVersion: 0\n")
    recorded = importlib.metadata.PathDistribution(tmp_path)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: recorded)
    monkeypatch.setattr("tpulint.installation.__file__", str(tmp_path / "tpulint/x.py"))
    assert install("lsp") == "python -m pip install 'tpulint[lsp]'"
