"""The state of the process: the emulated TPU that is open, and the options of steps.

The emulator is one object that holds all of its state, wherever that is defined. This module knows
none of the parts, so that whatever has a part can be above it. The options are those that
TensorFlow's signatures have no place for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast

_Part = TypeVar("_Part")
_Event = ParamSpec("_Event")


class Emulator:
    """An emulated TPU: the parts that it is opened with, and those made when they are first used.

    `outer` is the one that the code around had before, to which it returns at the end.
    """

    def __init__(self, outer: Emulator | None, parts: tuple[object, ...]) -> None:
        self.outer = outer
        self.is_open = True
        self._parts = {type(part): part for part in parts}

    def part(self, kind: type[_Part]) -> _Part:
        """Return the part of the class `kind`, made by `kind()` if there is none yet."""
        part = self._parts.get(kind)
        if part is None:  # `setdefault` is atomic: two threads that come here get one part
            part = self._parts.setdefault(kind, kind())
        return cast(_Part, part)


_opened_here: ContextVar[Emulator | None] = ContextVar("tpulint_emulator", default=None)
_open: list[Emulator] = []
"""The open emulators of this process, last opened last.

A thread that the program or TensorFlow starts inherits no context variable. It sees the last one.
"""


def current() -> Emulator | None:
    """Return the emulator that the code around has opened, or else the last of the process."""
    emulator = _opened_here.get()
    # A context may be copied while an emulator is open, and outlive it: as that of a task does.
    while emulator is not None and not emulator.is_open:
        emulator = emulator.outer
    if emulator is None and _open:
        return _open[-1]
    return emulator


def current_part(kind: type[_Part]) -> _Part:
    """Return the part of the class `kind` of the emulator that must be open."""
    emulator = current()
    assert emulator is not None
    return emulator.part(kind)


@contextmanager
def opened(*parts: object) -> Iterator[None]:
    """Let an emulator with these parts be the current one in the context, in all threads."""
    emulator = Emulator(current(), parts)
    _opened_here.set(emulator)
    _open.append(emulator)
    try:
        yield
    finally:
        emulator.is_open = False
        _open.remove(emulator)
        # No `reset`: a generator, as a fixture is, may be closed in another context than begun.
        _opened_here.set(emulator.outer)


class Listeners(Generic[_Event]):
    """The functions that are called at each event of a kind.

    They are of the process: steps run in TensorFlow's threads, which see no context variable.
    """

    def __init__(self) -> None:
        self._functions: list[Callable[_Event, None]] = []

    def __bool__(self) -> bool:
        return bool(self._functions)

    def __call__(self, *event: _Event.args, **more: _Event.kwargs) -> None:
        for function in tuple(self._functions):
            function(*event, **more)

    @contextmanager
    def including(self, function: Callable[_Event, None]) -> Iterator[None]:
        """Call `function`, too, at each event in the context."""
        self._functions.append(function)
        try:
            yield
        finally:
            self._functions.remove(function)


@dataclass(frozen=True)
class Options:
    """`host_variables`: the treatment of a plain variable that the device program touches.

    "lock": the step holds it for the device program's whole run, as TPUExecute holds its variables.
    "snapshot": its value is read at the start and written back at the end, and nothing is held.

    `deadline`: the longest that a step may take, in seconds, whatever it waits for; None for no
    limit.

    `compile`: "never" lets XLA check a device program, and TensorFlow's own kernels run it. XLA's
    compiler takes minutes for a large convolutional network.
    """

    host_variables: Literal["lock", "snapshot"] = "lock"
    deadline: float | None = None
    compile: Literal["always", "never"] = "always"


_current: ContextVar[Options | None] = ContextVar("tpulint_options", default=None)
_of_process = Options()
"""The options where none are set around the code: a thread does not inherit those of another."""


def current_options() -> Options:
    """Return the options of a computation that is built now."""
    return _current.get() or _of_process


@contextmanager
def options(**changes: Any) -> Iterator[Options]:
    """Run computations built in the context with these options (the fields of `Options`).

    Raises:
        TypeError: there is no such option.
    """
    token = _current.set(replace(current_options(), **changes))
    try:
        yield current_options()
    finally:
        _current.reset(token)


@contextmanager
def process_options(**changes: Any) -> Iterator[None]:
    """Run the computations that any thread builds while the context is open with these options."""
    # A program may build computations in threads, which see no context variable of this one.
    global _of_process
    before = _of_process
    _of_process = replace(before, **changes)
    try:
        yield
    finally:
        _of_process = before
