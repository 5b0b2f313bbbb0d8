"""Code that a test expects to fail: it is read, and nothing of it is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tpulint.analysis.interpreter.frame import Frame

EXPECTS = "assertRaises"  # and `assertRaisesRegex`, `assertRaisesOpError`, ...
RAISES = "raises"  # pytest's
MARKS = frozenset(["expectedFailure", "xfail"])


def is_expected(name: str) -> bool:
    """Return whether a call of this name runs what must raise."""
    return name.startswith(EXPECTS) or name == RAISES


def is_entered(items: list[Any]) -> bool:
    """Return whether one of the items of a `with` expects its block to fail."""
    return any(is_expected(_called(manager)) for manager, _ in items)


def is_marked(decorators: list[Any]) -> bool:
    """Return whether a test function is marked to fail."""
    return any(_last(each) in MARKS or _called(each) in MARKS for each in decorators)


@contextmanager
def unrecorded(frame: Frame) -> Iterator[None]:
    """Record nothing meanwhile; what other modules define is still read for itself."""
    session = frame.session
    known = set(session.called)
    with frame.muted():
        yield
    own = {id(each) for each in frame.module.facts.functions}
    session.called -= {each for each in session.called - known if each not in own}


def _called(node: Any) -> str:
    return _last(node[2]) if node[0] == "call" else ""


def _last(node: Any) -> str:
    """The last name of a dotted name."""
    return str(node[3]) if node[0] == "attr" else str(node[2]) if node[0] == "name" else ""
