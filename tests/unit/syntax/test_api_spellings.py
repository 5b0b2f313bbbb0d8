"""The names of a package are found in any expression."""

from __future__ import annotations

import pytest

from tpulint.syntax import api_spellings
from tpulint.syntax.api_spellings import FileSpellings, spelled

# Expressions around a name, and statements around an expression.
AROUND = (
    *("f({})", "f(a={})", "f(*{})", "[{}]", "({}, 1)", "{{1: {}}}", "{{{}: 1}}", "{{{}}}"),
    *("{} + 1", "-{}", "1 < {}", "a[{}]", "a[{}:]", "a[:{}]", "not {}", "a and {}", "{} or a"),
    *("{} if a else b", "a if {} else b", "a if b else {}", "lambda: {}", "lambda x={}: x"),
    *("[{} for a in b]", "[a for a in {}]", "[a for a in b if {}]", "{{a: {} for a in b}}"),
    *("({} for a in b)", "(x := {})", "f'{{{}}}'", "f'{{a:{{{}}}}}'", "{}.b(1)", "{}(1)", "{}[1]"),
)
STATEMENTS = (
    *("{}", "x = {}", "x += {}", "x: {} = 1", "x: int = {}", "assert {}", "del a[{}]"),
    *("def f(x: {}, y={}) -> {}: return {}", "class A({}): x = {}", "raise {}", "if {}: {}"),
    *("while {}: {}", "for x in {}: {}", "with {} as x: {}", "async def f(): await {}"),
    *("def f(): yield {}", "@{}\ndef f(): pass", "try: {}\nexcept {}: {}\nfinally: {}"),
    *("match {}:\n  case {}: {}\n  case [a, 1.5, None] if {}: {}", "{}.x = {}"),
)
HEAD = "import package as p\n"


def found(text: str) -> FileSpellings:
    spellings = spelled(HEAD + text, "package")
    assert spellings is not None
    return spellings


def sources() -> list[str]:
    whole = [statement.replace("{}", "p.q.r") for statement in STATEMENTS]
    return [*whole, *(word.format("p.q.r") for word in AROUND)]


@pytest.mark.parametrize("text", sources())
def test_any_place_is_looked_at(text: str) -> None:
    names = {name.paths[0] for name in found(text).names}
    assert names & {"package.q.r", "package.q.r.b"}


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("import package as p", "p = 1"),
        ("import package as p", "def f(p): pass"),
        ("import package as p", "for p in q: pass"),
        ("import package as p", "with q as p: pass"),
        ("import package as p", "p: int = 1"),
        ("import package as p", "(p) = 1"),
        ("import package as p", "[p for p in q]"),
        ("import package as p", "import q as p"),
        ("import package as p", "class p: pass"),
        ("import package as p", "setattr(p, 'q', 1)"),
        ("import package as p", "\uff50 = 1"),
        ("import package.q", "package = 1"),
        ("from package import *\nimport package as p", "p = 1"),
        ("from package import p", "p = 1"),
    ],
)
def test_a_name_that_may_mean_others_is_left_out(head: str, body: str) -> None:
    read = "package.q" if head.endswith("package.q") else "p.q"
    bound = spelled(f"{head}\n{read}\n", "package")
    rebound = spelled(f"{head}\n{body}\n{read}\n", "package")
    assert bound is not None
    assert rebound is not None
    assert any(name.written == read for name in bound.names)
    assert not any(name.written == read for name in rebound.names)


def test_a_name_that_is_only_gone_into_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_spellings, "nodes", None)
    spellings = spelled("import package as p\np.q.r = p.s(p.t)\n", "package")
    assert spellings is not None
    assert {name.written for name in spellings.names} >= {"p.s", "p.t"}
