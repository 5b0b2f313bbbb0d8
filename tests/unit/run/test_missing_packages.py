"""`tpulint run` without a package of its extra says so, before the program begins."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

from tpulint.config import ConfigError
from tpulint.run.command import require_packages


@pytest.fixture
def lacks(monkeypatch: Any) -> Callable[[str], None]:
    def lack(missing: str) -> None:
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == missing else object()
        )

    return lack


def test_tensorflow(lacks: Callable[[str], None]) -> None:
    lacks("tensorflow")
    with pytest.raises(ConfigError, match="run: TensorFlow is not installed: python -m pip"):
        require_packages("run", None)


def test_what_serves_buckets(lacks: Callable[[str], None]) -> None:
    lacks("trustme")
    with pytest.raises(ConfigError, match=r"worker: trustme, .* leave `gs://` alone: --storage"):
        require_packages("worker", "buckets")
    require_packages("worker", "cloud")
