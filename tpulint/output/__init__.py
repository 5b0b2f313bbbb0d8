"""The formats by name: each one pure function of the findings and their context."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import cast

from tpulint.finding import Finding
from tpulint.output.context import Context

Format = Callable[[Sequence[Finding], Context], str]
FORMATS = {
    "text": "tpulint.output.text",
    "full": "tpulint.output.full",
    "json": "tpulint.output.json",
    "jsonl": "tpulint.output.json",
    "sarif": "tpulint.output.sarif",
    "github": "tpulint.output.github",
    "gitlab": "tpulint.output.gitlab",
    "junit": "tpulint.output.junit",
    "html": "tpulint.output.html",
}


def load(name: str) -> Format:
    """The function of the format `name`; its module is imported only now."""
    return cast(Format, getattr(importlib.import_module(FORMATS[name]), name))
