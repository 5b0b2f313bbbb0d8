"""The hooks of `mkdocs build`: they add pages from outside docs/, and what the playground runs.

The documents link to each other as files of the repository; on the site a link to a file that
is no page leads to the repository instead.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mkdocs.structure.files import File, Files  # noqa: E402  (the checkout comes first)

from tpulint.codes import CODES, FAMILIES  # noqa: E402

# Files of the repository that are pages of the site, by their name there.
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
PAGES |= {f"tpulint/rules/{row.path}.md": f"rules/{row.code}.md" for row in CODES.values()}
SOURCES = {page: source for source, page in PAGES.items()}
HOME = {"README.md": "index.md"}
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[#)])")
FENCE = re.compile(r"^(```\w+)[ \t]+[^\n`]+$", re.MULTILINE)
# The theme would load mermaid from another server; `make site` fetches it from npm.
MERMAID = ROOT / "build" / "npm" / "package" / "dist" / "mermaid.min.js"
# What the playground runs, as `make site` fetches it: Pyodide from npm, and the packages that
# tpulint needs. libcst 0.3 is its last release in pure Python; the analyzer asks it only for the
# ranges of findings, and does without where it cannot read a file (`match`).
PYODIDE = ROOT / "build" / "npm" / "pyodide"
PACKAGES = ROOT / "build" / "playground"
NEEDED = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
NOT_NEEDED = {"__pycache__", "runtime", "storage", "server"}  # of tpulint
PROGRAMS = (
    "deadlock_metrics.py",
    "runtime_deadlock.py",
    "estimator_host_call.py",
    "keras_fit.py",
    "strategy_loop.py",
)


def on_config(config: Any) -> Any:
    """Put the pages of the rules into the navigation, by family, and mermaid onto the pages."""
    if MERMAID.exists():
        config.extra_javascript.append(MERMAID.name)
    for entry in config.nav:
        if "Rules" in entry:
            entry["Rules"] = [{"All rules": "rules.md"}, *families()]
    return config


def families() -> list[dict[str, list[dict[str, str]]]]:
    entries = []
    for prefix, family in FAMILIES.items():
        rows = [row for row in CODES.values() if row.code.startswith(prefix)]
        pages = [
            {f"{row.code} {row.name}": f"rules/{row.code}.md"}
            for row in rows
            if f"rules/{row.code}.md" in SOURCES
        ]
        entries.append({f"{prefix}xx {family.title}": pages})
    return entries


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie outside docs/, and mermaid."""
    if MERMAID.exists():
        files.append(File.generated(config, MERMAID.name, content=MERMAID.read_bytes()))
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    for name, data in playground():
        files.append(File.generated(config, f"playground/{name}", content=data))
    return files


def playground() -> Iterator[tuple[str, bytes]]:
    """Return the files that docs/playground needs beside its own; none if they were not fetched."""
    if not (PYODIDE / NEEDED[0]).exists():
        return
    for name in NEEDED:
        yield f"pyodide/{name}", (PYODIDE / name).read_bytes()
    yield "packages.zip", packages()
    yield "programs.json", json.dumps(PROGRAMS).encode()
    for name in PROGRAMS:
        yield f"programs/{name}", (ROOT / "examples" / name).read_bytes()


def packages() -> bytes:
    """Return an archive of tpulint and the packages that it needs."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for top in (ROOT / "tpulint", PACKAGES):
            for path in sorted(top.rglob("*")):
                name = path.relative_to(ROOT if top.parent == ROOT else top)
                if path.is_file() and NOT_NEEDED.isdisjoint(name.parts):
                    written.write(path, name)
    return archive.getvalue()


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Adapt links and code fences of the repository to the site."""
    here = page.file.src_uri
    source = posixpath.dirname(SOURCES.get(here, f"docs/{here}"))
    text = LINK.sub(lambda match: link(match[1], source, posixpath.dirname(here), config), markdown)
    return FENCE.sub(r"\1", text)  # `python raises: ValueError` is for the tests


def link(target: str, source: str, here: str, config: Any) -> str:
    """Return the link on the site for one to a file, relative to the folder `source`."""
    path = posixpath.normpath(posixpath.join(source, target))
    page = PAGES.get(path) or HOME.get(path)
    if page is None and path.startswith("docs/"):
        page = path.removeprefix("docs/")
    if page is None:
        return f"{config.extra['source']}/blob/main/{path}"
    return posixpath.relpath(page, here or ".")
