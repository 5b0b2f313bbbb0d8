"""Work on a deep thread leaves this thread as it was."""

from __future__ import annotations

import sys
import threading

import pytest

from tpulint.syntax.deep_stack import deeply


def test_the_thread_recurses_deeply_and_its_limits_are_its_own() -> None:
    def down(left: int) -> threading.Thread:
        return down(left - 1) if left else threading.current_thread()

    limits = sys.getrecursionlimit(), threading.stack_size()
    assert deeply(lambda: down(20_000)) is not threading.current_thread()
    assert (sys.getrecursionlimit(), threading.stack_size()) == limits


def test_its_error_comes_out_as_itself() -> None:
    error = KeyError("lost")

    def work() -> None:
        raise error

    with pytest.raises(KeyError) as raised:
        deeply(work)
    assert raised.value is error
