"""The hosts that are processes, for the tests that run in a network of their own."""

from __future__ import annotations

import pytest

from tests.runtime.pods.with_workers import shared_workers


@pytest.fixture
def workers() -> tuple[str, ...]:
    """The addresses of the hosts."""
    return shared_workers()[0]


@pytest.fixture
def numbers() -> list[int]:
    """The process of each host."""
    return shared_workers()[1]
