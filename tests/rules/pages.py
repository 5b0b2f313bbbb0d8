"""The programs that are in the rules' pages, and what each must show.

A page is documentation, tests and `tpulint rule` text at once. Every ```python
block in it is one program: the file `example.py`, or several files where lines
`# file: pkg/name.py` start a new one. A line ends with `# error: TPU201` where a
definite finding is expected and with `# possible: TPU201` where a possible one is;
nothing else may be reported, by any rule. A word after ```python gives the block a
meaning under the runtime: `runs`, `raises: DeadlockError`, `warns: StaleVariableWarning`.
What is raised carries the page's code, or the one that follows: `raises: SomeError TPU501`;
an error of TensorFlow's own, which knows no rule, has `-` there: `raises: ValueError -`.

A block that imports `tpulint.runtime` is run as it stands. Any other one that has a meaning uses
TensorFlow's own names, and is run in `emulated_tpu(num_replicas=2)`: it finds a TPU of two cores.

A ```console block is the output of `tpulint check` for the block before it; see `consoles.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

RULES = Path(__file__).parents[2] / "tpulint" / "rules"
HEADINGS = (
    "What it does",
    "Why it matters",
    "Example",
    "Use instead",
    "How sure",
    "At run time",
    "References",
)
MAIN = "example.py"

_MARK = re.compile(r"#\s*(error|possible):\s*(TPU\d{3}(?:\s*,\s*TPU\d{3})*)")
_FILE = re.compile(r"#\s*file:\s*(\S+)\s*$")
_MEANING = re.compile(r"(?:(runs)|(raises|warns):\s*(\w+)(?:\s+(TPU\d{3}|-))?)?$")
_CERTAINTY = {"error": "definite", "possible": "possible"}


@dataclass(frozen=True, order=True)
class Expected:
    """One finding: the file within the block, its row (1-based), code and certainty."""

    filename: str
    row: int
    code: str
    certainty: str


@dataclass(frozen=True)
class Block:
    """One program of a page: `line` is where its fence opens, `verb` its meaning at run time."""

    page: str
    line: int
    verb: str
    error: str
    rule: str
    files: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def uses_runtime(self) -> bool:
        """Return whether it uses the runtime by its own names."""
        return any("tpulint.runtime" in text for text in self.files.values())

    @property
    def expected(self) -> set[Expected]:
        return {
            Expected(filename, row, code.strip(), _CERTAINTY[mark.group(1)])
            for filename, text in self.files.items()
            for row, line in enumerate(text.splitlines(), 1)
            for mark in _MARK.finditer(line)
            for code in mark.group(2).split(",")
        }


@dataclass(frozen=True)
class Page:
    """One rule's page. `code` and `rule` are those of its title."""

    path: Path
    code: str
    rule: str
    headings: tuple[str, ...]
    blocks: tuple[Block, ...]


def pages(folder: Path = RULES) -> list[Page]:
    """All pages below `folder`, by name."""
    return [
        read_page(path) for path in sorted(folder.rglob("tpu[0-9]*.md"), key=lambda path: path.name)
    ]


def read_page(path: Path) -> Page:
    """The page at `path`; a malformed title or fence is a `ValueError` that names the line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    title = re.fullmatch(r"# (TPU\d{3}) ([a-z0-9-]+)", lines[0] if lines else "")
    if title is None:
        raise ValueError(f"{path.name}:1: the title is not '# TPU201 nested-outside-compilation'")
    code, rule = title.groups()
    blocks = tuple(
        Block(path.name, line, *_meaning(path, line, info, code), files=split(body))
        for line, info, body in fences(path, lines)
        if info.split(" ")[0] == "python"
    )
    return Page(path, code, rule, _headings(lines), blocks)


def split(body: list[str]) -> dict[str, str]:
    """The files of a block by name; what stands before the first `# file:` line is `example.py`."""
    texts: dict[str, list[str]] = {MAIN: []}
    current = MAIN
    for line in body:
        opened = _FILE.match(line)
        if opened is None:
            texts[current].append(line)
            continue
        current = opened.group(1)
        texts[current] = []
    if not any(line.strip() for line in texts[MAIN]):
        del texts[MAIN]
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def write(block: Block, folder: Path) -> list[str]:
    """Write the block's files and the `__init__.py` of their packages; give all their paths."""
    files = dict(block.files)
    for name in block.files:
        for package in list(PurePosixPath(name).parents)[:-1]:
            files.setdefault(str(package / "__init__.py"), "")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [str(folder / name) for name in sorted(files)]


def _meaning(path: Path, line: int, info: str, code: str) -> tuple[str, str, str]:
    found = _MEANING.match(info.removeprefix("python").strip())
    if found is None:
        raise ValueError(f"{path.name}:{line}: no such meaning: {info!r}")
    rule = "" if found.group(4) == "-" else found.group(4) or code
    return found.group(1) or found.group(2) or "", found.group(3) or "", rule


def fences(path: Path, lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line, the info string and the body of every fenced block."""
    opened: tuple[int, str] | None = None
    body: list[str] = []
    for row, line in enumerate(lines, 1):
        if opened is None and line.startswith("```"):
            opened, body = (row, line[3:].strip()), []
        elif opened is not None and line.rstrip() == "```":
            yield opened[0], opened[1], body
            opened = None
        else:
            body.append(line)
    if opened is not None:
        raise ValueError(f"{path.name}:{opened[0]}: the block is not closed")


def _headings(lines: list[str]) -> tuple[str, ...]:
    fenced = False
    found: list[str] = []
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
        elif line.startswith("## ") and not fenced:
            found.append(line[3:].strip())
    return tuple(found)
