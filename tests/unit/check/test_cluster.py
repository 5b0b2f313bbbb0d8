"""A check with `--scheduler` where Dask is not installed."""

from __future__ import annotations

import sys

import pytest

from tpulint.check.cluster import connected
from tpulint.config import ConfigError


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    output = r"pip install .*\[distributed\]'"
    with pytest.raises(ConfigError, match=output), connected("tcp://127.0.0.1:9"):
        pass
