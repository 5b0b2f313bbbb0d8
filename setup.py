"""The description of the distribution: README.md, with links that work on a package index."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

PAGES = "https://github.com/tpulint/tpulint/blob/main/"
FILES = "https://raw.githubusercontent.com/tpulint/tpulint/main/"


def description() -> str:
    """Return README.md with absolute addresses in place of paths of the repository."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    text = re.sub(r"(\]\()(?![a-z]+:|#)", rf"\g<1>{PAGES}", text)
    return re.sub(r'((?:src|srcset)=")(?![a-z]+:)', rf"\g<1>{FILES}", text)


setup(long_description=description(), long_description_content_type="text/markdown")
