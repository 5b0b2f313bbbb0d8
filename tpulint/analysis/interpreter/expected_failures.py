"""Code that a test expects to fail: it is read, and nothing of it is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tpulint.analysis.interpreter.frame import Frame
from tpulint.syntax.expression_nodes import CallNode, last_name
from tpulint.syntax.nodes import Expression
from tpulint.syntax.statement_nodes import WithItem

EXPECTS = "assertRaises"  # and `assertRaisesRegex`, `assertRaisesOpError`, ...
RAISES = "raises"  # pytest's
MARKS = frozenset(["expectedFailure", "xfail"])


def is_expected(name: str) -> bool:
    """Return whether a call of this name runs what must raise."""
    return name.startswith(EXPECTS) or name == RAISES


def is_entered(items: list[WithItem]) -> bool:
    """Return whether one of the items of a `with` expects its block to fail."""
    return any(is_expected(_called(each.manager)) for each in items)


def is_marked(decorators: list[Expression]) -> bool:
    """Return whether a test function is marked to fail."""
    return any(last_name(each) in MARKS or _called(each) in MARKS for each in decorators)


@contextmanager
def unrecorded(frame: Frame) -> Iterator[None]:
    """Record nothing meanwhile; what other modules define is still read for itself."""
    session = frame.session
    known = set(session.called)
    with frame.muted():
        yield
    own = {id(each) for each in frame.module.facts.functions}
    session.called -= {each for each in session.called - known if each not in own}


def _called(node: Expression) -> str:
    return last_name(node.callee) if isinstance(node, CallNode) else ""
