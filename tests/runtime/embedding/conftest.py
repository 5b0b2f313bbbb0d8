"""The watchdog and the strategy of the emulator's tests."""

from __future__ import annotations

from tests.runtime.emulate.conftest import strategy, watchdog

__all__ = ["strategy", "watchdog"]
