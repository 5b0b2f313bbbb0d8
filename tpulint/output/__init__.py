"""The formats by name: each one pure function of the findings and their context."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from tpulint.finding import Finding
from tpulint.output.context import RenderContext

Format = Callable[[Sequence[Finding], RenderContext], str]
FORMATS = {
    "full": "tpulint.output.full",
    "concise": "tpulint.output.lines",
    "grouped": "tpulint.output.lines",
    "json": "tpulint.output.json",
    "jsonl": "tpulint.output.json",
    "sarif": "tpulint.output.sarif",
    "github": "tpulint.output.lines",
    "gitlab": "tpulint.output.code_review",
    "junit": "tpulint.output.code_review",
    "pylint": "tpulint.output.lines",
    "rdjson": "tpulint.output.code_review",
    "html": "tpulint.output.html",
}
DEFAULT = "full"
# Other names that are understood: ours of before, and ruff's.
ALIASES = {"text": "concise", "json-lines": "jsonl"}
FOR_PEOPLE = ("full", "concise", "grouped")  # those that end in a summary and can be coloured
WITHOUT_FIXES = ("github", "gitlab", "junit", "pylint")


def load(name: str) -> Format:
    """Return the function of the format `name`; its module is imported only now."""
    name = ALIASES.get(name, name)
    return cast(Format, getattr(importlib.import_module(FORMATS[name]), name))
