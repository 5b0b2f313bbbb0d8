"""Statements of the summary language, each with names for its parts."""

from __future__ import annotations

from tpulint.syntax.nodes import Block, Expression, Node, Statement, node


@node
class Assign(Statement):
    targets: list[Expression]
    value: Expression


@node
class AugmentedAssign(Statement):
    op: str
    target: Expression
    value: Expression


@node
class AnnotatedAssign(Statement):
    target: Expression
    annotation: Expression
    value: Expression | None


@node
class ExpressionStatement(Statement):
    value: Expression


@node
class Return(Statement):
    place: int
    value: Expression | None


@node
class If(Statement):
    place: int
    test: Expression
    body: Block
    orelse: Block


@node
class For(Statement):
    place: int
    target: Expression
    iterated: Expression
    body: Block
    orelse: Block


@node
class While(Statement):
    place: int
    test: Expression
    body: Block
    orelse: Block


@node
class WithItem(Node):
    manager: Expression
    target: Expression | None


@node
class With(Statement):
    place: int
    items: list[WithItem]
    body: Block


@node
class Handler(Node):
    """`except caught as name:`."""

    caught: Expression | None
    name: str | None
    body: Block


@node
class Try(Statement):
    body: Block
    handlers: list[Handler]
    orelse: Block
    final: Block


@node
class Define(Statement):
    """A `def`."""

    function: int


@node
class DefineClass(Statement):
    class_: int


@node
class Alias(Node):
    name: str
    asname: str | None


@node
class Import(Statement):
    names: list[Alias]


@node
class ImportFrom(Statement):
    """`from module import names`; `names` is None for `*`. level: the dots before `module`."""

    module: str
    level: int
    names: list[Alias] | None


@node
class Scoping(Statement):
    """`global` or `nonlocal`; the function's local names say what it means."""

    names: list[str]


@node
class Delete(Statement):
    targets: list[Expression]


@node
class Raise(Statement):
    items: list[Expression]


@node
class Assert(Statement):
    items: list[Expression]


@node
class Pass(Statement):
    pass


@node
class Jump(Statement):
    """kind: "break" or "continue"."""

    kind: str


@node
class Case(Node):
    """One case of a `match`, its pattern left out."""

    guard: Expression | None
    body: Block


@node
class Match(Statement):
    subject: Expression
    cases: list[Case]
