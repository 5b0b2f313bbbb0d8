"""Both walks say the same of a text, so it is no matter which parser has read it."""

from __future__ import annotations

import ast
import sys
import sysconfig
from pathlib import Path

import pytest

from tpulint.syntax import function_body, ir, lazy_parse, lowering
from tpulint.syntax.expression_nodes import Constant, Other, Starred, UnaryOperation
from tpulint.syntax.lazy_module import pieces_of
from tpulint.syntax.light_nodes import NotParsed, cst
from tpulint.syntax.lower import lower, lower_python
from tpulint.syntax.nodes import walk
from tpulint.syntax.parse import parse
from tpulint.syntax.statement_nodes import Assign, ExpressionStatement, If

LIBRARY = Path(sysconfig.get_path("stdlib"))
FOLDERS = ("asyncio", "collections", "concurrent", "email", "json", "unittest", "xml")
OF_PYTHON = sorted(path for name in FOLDERS for path in (LIBRARY / name).rglob("*.py"))
OUR_OWN = sorted(Path(lowering.__file__).parent.glob("*.py"))

EXPRESSIONS = (
    "None, True, False, ..., 1, 1.5, 2j, 0x_ff, 1e400, 'a', b'a', r'\\d', u'u'",
    "'one' 'two'",
    "b'one' b'two'",
    "'a' f'{b}' f'{c!r:>{d}}' 'e'",
    "f'{f(x)=} {lambda_(y)}'",
    "(a and b) and c or d and (e and f)",
    "a or (b or c) or not d",
    "a + b * c - d // e % f ** g @ h",
    "a << b >> c | d ^ e & f",
    "-1, -1.5, -True, +1, ~1, -x, - -1, -1j",
    "a < b <= c > d >= e == f != g",
    "a is b is not c in d not in e",
    "x[1], x[1, 2], x[(1, 2)], x[1,], x[:], x[1:2, ::3], x[a:b:c], x[...]",
    "f(), f(a), f(*a, b), f(a=1, *b), f(a=1, *b, **c), f(**a, **b), f(x for x in y)",
    "f(a, *b, c, d=1, **e)(g)[h].i",
    "[*a, b], (*a, b), {*a, b}, {**a, b: c}, (), [], {}",
    "lambda: 0, lambda a, /, b=1, *c, d, e=2, **f: a + g",
    "[a for a in b if c if d for e in a], {a for a in b}, {a: b for a, b in c}",
    "(a if b else c if d else e)",
    "(a := b) + a",
)
STATEMENTS = """\
'''Words.'''
'word'

# Next.
a = b = c, d = e

# Next.
a, (b, *c), [d] = e

# Next.
a.b = c[d] = e

# Next.
a += 1; b @= c; d >>= e; f **= g

# Next.
a: int
b: 'list[int]' = []
c.d: e = f

# Next.
del a, b[c], (d, e)
del (f, g)
del h,

# Next.
import a, b.c, d.e as f

# Next.
from a import b, c as d
from . import e
from ..f.g import (h,)
from i import *

# Next.
if a:
    b
elif c:
    d
else:
    if e:
        f

# Next.
for a, b in c:
    break
else:
    pass

# Next.
for a in *b, c:
    continue

# Next.
while a: b; c
else: d

# Next.
with a, b as c, d as (e, f):
    pass

# Next.
with (a as b):
    pass

# Next.
try:
    a
except B:
    c
except (D, E) as f:
    g
except:
    h
else:
    i
finally:
    j

# Next.
raise

# Next.
raise a from b

# Next.
assert a
assert a, b

# Next.
match a:
    case [b, *c] if d:
        e
    case _:
        f

# Next.
def f(a, /, b: c = d, *e: g, h: i, j=k, **l) -> m:
    global n
    n = o
    return

# Next.
async def f():
    async with a as b:
        async for c in d:
            await e

# Next.
def f():
    x = yield
    yield a
    yield from b
    def g():
        nonlocal x
        x = 1

# Next.
@a
@b.c(d)
class E(F, *G, metaclass=H, **I):
    j = k
    def l(self, m):
        self.n = m
        self.o, self.p[q] = m

# Next.
class A:
    b = lambda self: self.c
    @property
    def d(this):
        this.e: int = 1
        def f(self): self.g = this.h = 2
"""
NEWER = {
    (3, 11): (
        "x = a[*b], a[*b, c], a[1:2, *b]\n",
        "try:\n    a\nexcept* B as c:\n    d\n",
    ),
    (3, 12): ("x = f'{f'{a}'} {b[\"c\"]}'\n",),
}


def both(text: str) -> tuple[ir.ModuleSummary, ir.ModuleSummary]:
    return lower(parse(text)), lower_python(ast.parse(text))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text: str) -> None:
    by_libcst, by_python = both(f"x = {text}\n")
    assert by_python == by_libcst
    assert by_libcst.counts != [ir.UNCOUNTED]


@pytest.mark.parametrize("text", STATEMENTS.split("# Next.\n"))
def test_statements(text: str) -> None:
    by_libcst, by_python = both(text)
    assert by_python == by_libcst


@pytest.mark.parametrize(
    ("version", "text"), [(version, text) for version, texts in NEWER.items() for text in texts]
)
def test_newer_syntax(version: tuple[int, int], text: str) -> None:
    if sys.version_info < version:
        pytest.skip(f"the syntax is new in Python {version[0]}.{version[1]}")
    by_libcst, by_python = both(text)
    assert by_python == by_libcst


@pytest.mark.parametrize("path", [*OF_PYTHON, *OUR_OWN], ids=lambda path: path.stem)
def test_files(path: Path) -> None:
    by_libcst, by_python = both(path.read_text(encoding="utf-8"))
    assert by_python == by_libcst


def test_strings_side_by_side_are_one_string() -> None:
    facts = lower(parse("x = getattr(a, 'some' 'thing')\n"))
    assert "something" in facts.mentions
    assert not {"some", "thing"} & set(facts.mentions)


def test_a_star_in_an_index_is_kept() -> None:
    """As CPython keeps it from 3.11 on; libcst reads it on every Python."""
    facts = lower(parse("x = a[*b]\n"))
    assert [each for each in walk(*facts.body) if isinstance(each, Starred)]


@pytest.mark.parametrize("text", ["t'{a}'", "t'{a}' t'b'"])
def test_what_only_libcst_knows_is_not_modelled(text: str) -> None:
    facts = lower(parse(f"x = {text}\n"))
    assert [each for each in walk(*facts.body) if isinstance(each, Other)]


MODULE = """
import a
def on_device(x):
    y = a.tpu.rewrite(x)
    z = y
    return z
class C:
    def helper(self, x):
        self.x = x
        y = lambda: x
        return y
"""


def parsers_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the texts that libcst is given from now on."""
    given: list[str] = []
    for module in (function_body, lazy_parse):
        original = module.tree_of

        def spying(text: str, original: object = original) -> cst.Module:
            given.append(text)
            assert callable(original)
            tree: cst.Module = original(text)
            return tree

        monkeypatch.setattr(module, "tree_of", spying)
    return given


def test_libcst_reads_what_shows_the_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    given = parsers_of(monkeypatch)
    facts = lazy_parse.summarize(MODULE)
    assert given == []  # around the bodies
    pieces_of(MODULE, facts)
    bodies = [each.body for each in facts.functions if each.rows is not None]
    assert len(bodies) == 2
    (read,) = given
    assert "rewrite" in read
    assert "helper" not in read


def test_libcst_reads_around_bodies_that_have_no_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    text = MODULE + "z = a.tpu.rewrite(on_device)\n"
    given = parsers_of(monkeypatch)
    facts = lazy_parse.summarize(text)
    (read,) = given
    assert read.count("...") == 2
    assert facts.body == lower_python(ast.parse(read)).body


def test_bodies_of_both_parsers_fit_together() -> None:
    facts = lazy_parse.summarize(MODULE)
    pieces_of(MODULE, facts)
    whole = lower(parse(MODULE))
    found = {each.name: each.local_names for each in facts.functions if each.known or each.rows}
    assert found == {each.name: each.local_names for each in whole.functions}
    assert facts.classes[0].setters == {"x": [1]}


def test_a_body_that_libcst_refuses_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(text: str) -> cst.Module:
        raise NotParsed

    monkeypatch.setattr(function_body, "tree_of", refusing)
    facts = lazy_parse.summarize(MODULE)
    first, second = (each for each in facts.functions if each.rows is not None)
    assert function_body.inside(facts, first, "    a.tpu.rewrite(x)\n") is None
    assert function_body.inside(facts, second, "    a.run(x)\n") is not None
    assert function_body.inside(facts, second, "    a.run(x\n") is None


def test_a_negative_number_is_a_number_and_no_flag_is() -> None:
    """The two walks share this, so that they agree is no proof of it."""
    facts = lower(parse("a = -1\nb = -1.5\nc = -True\nd = -e\n"))
    values = [each.value for each in facts.body if isinstance(each, Assign)]
    assert values[:2] == [Constant(-1), Constant(-1.5)]
    assert all(isinstance(each, UnaryOperation) for each in values[2:])


def test_each_branch_is_the_else_of_the_one_before() -> None:
    facts = lower(parse("if a:\n    1\nelif b:\n    2\nelse:\n    3\n"))
    (first,) = facts.body
    assert isinstance(first, If)
    (second,) = first.orelse
    assert isinstance(second, If)
    found = [first.body, second.body, second.orelse]
    assert found == [[ExpressionStatement(Constant(number))] for number in (1, 2, 3)]
