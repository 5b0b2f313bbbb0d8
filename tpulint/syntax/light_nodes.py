"""Plain objects in place of libcst's nodes: this module stands for libcst during a parse.

libcst's native parser asks the module `libcst` for the class of each node and calls it with the
node's fields; what is None it leaves out. More than half of the nodes are blanks and punctuation,
which nobody reads here: for these nothing is made. The names and fields are libcst's own, so
mypy checks what is read of them against libcst.
"""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

__all__ = ["LightNode", "NotParsed", "cst"]

if TYPE_CHECKING:
    import libcst as cst
else:
    cst = sys.modules[__name__]

_READ = """
    Add AddAssign And AnnAssign Annotation Arg AsName Assert Assign AssignTarget
    Attribute AugAssign Await BinaryOperation BitAnd BitAndAssign BitInvert BitOr BitOrAssign
    BitXor BitXorAssign BooleanOperation Break Call ClassDef Comma CompFor CompIf Comparison
    ComparisonTarget ConcatenatedString Continue Decorator Del Dict DictComp DictElement Divide
    DivideAssign Element Ellipsis Else Equal ExceptHandler ExceptStarHandler Expr Finally Float
    FloorDivide FloorDivideAssign For FormattedString FormattedStringExpression
    From FunctionDef GeneratorExp Global GreaterThan GreaterThanEqual If
    IfExp Imaginary Import ImportAlias ImportFrom ImportStar In IndentedBlock Index Integer Is
    IsNot Lambda LeftShift LeftShiftAssign LessThan LessThanEqual List ListComp Match MatchAs
    MatchCase MatchClass MatchKeywordElement MatchList MatchMapping MatchMappingElement MatchOr
    MatchOrElement MatchSequence MatchSequenceElement MatchSingleton MatchStar MatchTuple
    MatchValue MatrixMultiply MatrixMultiplyAssign Minus Module Modulo ModuloAssign Multiply
    MultiplyAssign Name NameItem NamedExpr Nonlocal Not NotEqual NotIn Or Param
    ParamSpec Parameters Pass Plus Power PowerAssign Raise Return RightShift
    RightShiftAssign Set SetComp SimpleStatementLine SimpleStatementSuite SimpleString Slice
    StarredDictComp StarredDictElement StarredElement Subscript SubscriptElement Subtract
    SubtractAssign TemplatedString TemplatedStringExpression TemplatedStringText Try TryStar Tuple
    TypeAlias TypeParam TypeParameters TypeVar TypeVarTuple UnaryOperation While With WithItem Yield
"""
_UNREAD = """
    AssignEqual Asynchronous Colon Comment Dot EmptyLine FormattedStringText LeftCurlyBrace
    LeftParen LeftSquareBracket Newline ParamSlash ParamStar ParenthesizedWhitespace
    RightCurlyBrace RightParen RightSquareBracket Semicolon SimpleWhitespace TrailingWhitespace
"""


class NotParsed(Exception):
    """libcst refuses a text; `parse.py` finds out why."""


class LightNode(SimpleNamespace):
    """A node; None is what may be left out."""

    annotation = asname = asynchronous = cause = comma = default = exc = finalbody = guard = None
    inner_for_in = keyword = lower = module = msg = name = orelse = returns = star = star_arg = None
    star_kwarg = step = type = upper = value = None


# No line of Python may run during a parse (see `tree.py`): these are all C functions.
globals().update((name, type(name, (LightNode,), {})) for name in _READ.split())
globals().update(dict.fromkeys(_UNREAD.split(), "".format))
ParserSyntaxError = partial(NotParsed.__new__, NotParsed)


def __getattr__(name: str) -> type:
    """Return a class for a node that only a newer libcst has."""
    if name.startswith("_"):
        raise AttributeError(name)
    made = globals()[name] = type(name, (LightNode,), {})
    return made
