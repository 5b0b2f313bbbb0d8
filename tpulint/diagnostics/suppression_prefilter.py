"""Decide by bytes whether reading a file's suppressions can matter; for most it cannot."""

from __future__ import annotations

import re

OWN_NOQA = re.compile(rb"noqa\s*:[^\n]*TPU\d", re.IGNORECASE)


def may_name_own_codes(data: bytes) -> bool:
    """Return whether these bytes can hold a suppression that names tpulint or a code of its own."""
    if b"tpulint:" in data:
        return True
    return (b"noqa" in data or b"NOQA" in data) and OWN_NOQA.search(data) is not None
