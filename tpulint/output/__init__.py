"""The formats by name: one pure function of the findings and their context per format."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from tpulint.finding import Finding
from tpulint.output.context import RenderContext

Format = Callable[[Sequence[Finding], RenderContext], str]
# The module that holds `render_FORMAT`.
FORMATS = {
    "full": "full",
    "concise": "lines",
    "grouped": "lines",
    "json": "json",
    "jsonl": "json",
    "sarif": "sarif",
    "github": "lines",
    "gitlab": "code_review",
    "azure": "lines",
    "junit": "code_review",
    "pylint": "lines",
    "rdjson": "code_review",
    "html": "html",
}
DEFAULT = "full"
# Other names that are understood: ours of before, and ruff's.
ALIASES = {"text": "concise", "json-lines": "jsonl"}
FOR_PEOPLE = ("full", "concise", "grouped")  # those that end in a summary and can be coloured
WITHOUT_FIXES = ("github", "azure", "gitlab", "junit", "pylint")


def load(name: str) -> Format:
    """Return the function of the format `name`; its module is imported only now."""
    name = ALIASES.get(name, name)
    module = importlib.import_module(f"tpulint.output.{FORMATS[name]}")
    return cast(Format, getattr(module, f"render_{name}"))
