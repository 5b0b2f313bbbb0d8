"""The emulator that code sees, in threads and contexts of all kinds."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tpulint.runtime import emulator


class Part:
    """The state of something that the emulator knows nothing of."""


def in_thread(function: Callable[[], object]) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_a_part_is_the_one_given_or_is_made_once() -> None:
    part = Part()
    with emulator.opened(part):
        assert emulator.current_part(Part) is part
    with emulator.opened():
        other = emulator.current_part(Part)
        assert other is not part
        assert emulator.current_part(Part) is other


def test_an_inner_emulator_takes_the_place_of_the_outer_one() -> None:
    assert emulator.current() is None
    with emulator.opened():
        outer = emulator.current()
        with emulator.opened():
            assert emulator.current() not in (None, outer)
        assert emulator.current() is outer
    assert emulator.current() is None


def test_all_threads_see_the_emulator_that_is_open() -> None:
    with emulator.opened():
        assert in_thread(emulator.current) is emulator.current() is not None
        with emulator.opened():
            assert in_thread(emulator.current) is emulator.current()
    assert in_thread(emulator.current) is None


def test_a_thread_keeps_the_emulator_that_it_has_opened() -> None:
    entered, leave = threading.Event(), threading.Event()
    seen: list[object] = []

    def other() -> None:
        with emulator.opened():
            entered.set()
            assert leave.wait(60)
            seen.append(emulator.current())

    with emulator.opened():
        own = emulator.current()
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(60)
        assert emulator.current() is own
        leave.set()
        thread.join()
        assert seen
        assert own not in seen
    assert emulator.current() is None


def test_a_context_that_was_copied_sees_no_emulator_that_is_closed() -> None:
    with emulator.opened():
        copied = contextvars.copy_context()
    assert copied.run(emulator.current) is None
    with emulator.opened():
        assert copied.run(emulator.current) is emulator.current()


def test_an_emulator_may_be_closed_in_another_context() -> None:
    opened = emulator.opened()
    contextvars.copy_context().run(opened.__enter__)
    assert emulator.current() is not None
    contextvars.copy_context().run(opened.__exit__, None, None, None)
    assert emulator.current() is None
