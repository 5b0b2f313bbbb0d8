"""Work on a deep thread leaves this thread, and libcst, as they were."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import libcst
import pytest

from tpulint.syntax.deep_stack import deeply, until_done
from tpulint.syntax.tree import tree_of


def test_libcst_checks_nodes_made_by_hand_after_a_parse() -> None:
    assert tree_of("x = 1\n").code == "x = 1\n"
    with pytest.raises(libcst.CSTValidationError):
        libcst.Name("")


def test_a_parse_that_fails_leaves_it_checking_too() -> None:
    with pytest.raises(libcst.ParserSyntaxError):
        tree_of("x = = 1\n")
    with pytest.raises(libcst.CSTValidationError):
        libcst.Name("")


def test_what_is_entered_is_left_when_the_outermost_work_is_done() -> None:
    told: list[str] = []

    @contextmanager
    def manager() -> Iterator[None]:
        told.append("entered")
        yield
        told.append("left")

    def work() -> None:
        deeply(lambda: until_done(manager()))
        told.append("went on")

    deeply(work)
    assert told == ["entered", "went on", "left"]


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
