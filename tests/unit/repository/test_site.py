"""The documentation site is built without a warning, and its links lead to pages."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tpulint.codes import CODES

ROOT = Path(__file__).parents[3]
SECONDS = 300


class Links(HTMLParser):
    """The places to which a page leads, and those from which the browser loads something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        arguments = dict(attrs)
        if tag == "a" and arguments.get("href"):
            self.links.append(arguments["href"] or "")
        elif tag == "link" and arguments.get("rel") == "stylesheet":
            self.loaded.append(arguments["href"] or "")
        elif tag in ("script", "img") and arguments.get("src"):
            self.loaded.append(arguments["src"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_rule_has_a_page(site: Path) -> None:
    pages = {path.parent.name for path in (site / "rules").glob("*/index.html")}
    assert pages == {row.code for row in CODES.values()}


def test_every_link_leads_to_a_file(site: Path) -> None:
    missing = []
    for page in site.rglob("*.html"):
        for link in Links(page.read_text(encoding="utf-8")).links:
            target = link.partition("#")[0]
            if "://" in link or link.startswith("mailto:") or not target:
                continue
            folder = site if target.startswith("/") else page.parent
            path = folder / target.lstrip("/")
            if not (path.is_file() or (path / "index.html").is_file()):
                missing.append(f"{page.relative_to(site)}: {link}")
    assert missing == []


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = {
        address
        for page in site.rglob("*.html")
        for address in Links(page.read_text(encoding="utf-8")).loaded
    }
    assert loaded
    assert {address for address in loaded if "//" in address} == set()
