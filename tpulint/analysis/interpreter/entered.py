"""Contexts and functions that are entered by `with` and left at its end."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from tpulint.analysis.domain.events import Context

T = TypeVar("T")


class HasContext(Protocol):
    """A frame, as far as this file is concerned."""

    context: Context


class Entered:
    """A context that holds in a `with` block; `end` is the one that the block ended in."""

    __slots__ = ("_before", "_frame", "end")

    def __init__(self, frame: HasContext, context: Context) -> None:
        self._frame = frame
        self._before = frame.context
        self.end = context

    def __enter__(self) -> Entered:
        self._frame.context = self.end
        return self

    def __exit__(self, *_: object) -> None:
        self.end = self._frame.context
        self._frame.context = self._before


class Scoped:
    """The scopes that are open before a `with` block, and again after it."""

    __slots__ = ("_frame", "_scopes")

    def __init__(self, frame: HasContext) -> None:
        self._frame = frame
        self._scopes = frame.context.scopes

    def __enter__(self) -> None:
        """Leave the context as it is."""

    def __exit__(self, *_: object) -> None:
        if self._frame.context.scopes is not self._scopes:
            self._frame.context = self._frame.context._replace(scopes=self._scopes)


class Pushed(Generic[T]):
    """An item that is at the end of a list in a `with` block."""

    __slots__ = ("_end", "_holder")

    def __init__(self, holder: list[T], end: T) -> None:
        self._holder = holder
        self._end = end

    def __enter__(self) -> None:
        self._holder.append(self._end)

    def __exit__(self, *_: object) -> None:
        self._holder.pop()
