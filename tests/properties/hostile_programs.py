"""Programs that grow, nest or refer to themselves beyond what anybody writes."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

HEADER = "from anywhere import unseen\nfrom tensorflow.compat.v1 import tpu\n\na = b = c = (1,)\n"
FOOTER = "\ntpu.rewrite(lambda *x: x, [a, b, c])\n"

NAMES = st.sampled_from("abc")
GROWTHS = (
    "{0} = ({1}, {2})",
    "{0} = [{1}, {2}]",
    "{0} = {{'x': {1}, 'y': {2}}}",
    "{0} = {{**dict(x={1}), 'y': {2}}}",
    "{0} = {1} + {2}",
    "{0} += {1}",
    "{0} = [*{1}, *{2}]",
    "{0} = {1} * 2",
    "{0} = [{1}] * 64",
    "{0} = list(zip({1}, {2}))",
    "{0} = list(enumerate({1}))",
    "{0} = [(x, {1}) for x in {2}]",
    "{0} = (lambda x, y: (x, y))({1}, {2})",
    "{0} = (lambda *x, **y: (x, y))(*{1}, x={2})",
    "{0} = {1} if unseen else [{1}, {2}]",
    "{0} = f'{{{1}}}{{{2}}}'",
    "{0} = str({1}) + 'text' + str({2})",
    "{0} = 'text'",
    "{0} = []",
    "{0} = {{}}",
    "{0}.append({1})",
    "{0}.insert(0, {1})",
    "{0}.extend({1})",
    "{0}.update(x={1}, y={2})",
    "{0}.setdefault('z', {1})",
    "{0}['x'] = {1}",
    "{0}[unseen] = {1}",
    "{0} = type('A', (), {{}})(); {0}.x = {1}",
    "unseen.x = {1}; {0} = unseen.__dict__",
)
NESTS = (
    ("(", ")"),
    ("[", "]"),
    ("{1: ", "}"),
    ("f(", ")"),
    ("a[", "]"),
    ("-", ""),
    ("not ", ""),
    ("lambda: ", ""),
    ("(lambda x=", ": x)"),
    ("(1 if ", " else 2)"),
    ("1 if b else ", ""),
    ("[x for x in ", "]"),
    ("{x: 1 for x in ", "}"),
    ("(x := ", ")"),
    ("f(*", ")"),
    ("f(**", ")"),
    ("a[1:", "]"),
)
LINKS = ("+ a", "** a", "and a", "or unseen.x", "< a", "if a else a", ".x", ".f()", "[0]", "()")
BLOCKS = (
    "def f(x):",
    "class A:",
    "if unseen:",
    "for a in b:",
    "while unseen:",
    "with unseen as a:",
    "async def f(x):",
)
PATTERNS = ("[{}]", "({})", "{{'x': {}}}", "A({})", "A(x={})", "[1, *_, {}]")
REPEATED = (
    "elif unseen.x{0}:\n    a = {0}\n",
    "@unseen\n",
    "case {0}:\n    a = b\n",
    "except E{0}:\n    a = b\n",
)
CODECS = (
    "undefined",
    "idna",
    "punycode",
    "unicode_escape",
    "raw_unicode_escape",
    "utf-7",
    "utf-16",
    "cp037",
    "rot13",
    "hex",
    "zlib",
    "nothing",
)


@st.composite
def growing(draw: st.DrawFn) -> str:
    """Some assignments, all of them again and again."""
    lines = draw(st.lists(st.tuples(st.sampled_from(GROWTHS), NAMES, NAMES, NAMES), max_size=6))
    text = "\n".join(line.format(*names) for line, *names in lines)
    return f"{text}\n" * draw(st.integers(1, 30))


@st.composite
def nested(draw: st.DrawFn) -> str:
    before, after = draw(st.sampled_from(NESTS))
    depth = draw(st.integers(1, 3000))
    return f"a = {before * depth}1{after * depth}\n"


@st.composite
def chained(draw: st.DrawFn) -> str:
    link = draw(st.sampled_from(LINKS))
    return f"a = a {f'{link} ' * draw(st.integers(1, 3000))}\n"


@st.composite
def blocks(draw: st.DrawFn) -> str:
    headers = draw(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=95))
    lines = [" " * depth + header for depth, header in enumerate(headers)]
    return "\n".join([*lines, " " * len(lines) + "a = b"]) + "\n"


@st.composite
def patterns(draw: st.DrawFn) -> str:
    pattern = "x"
    for _ in range(draw(st.integers(1, 60))):
        pattern = draw(st.sampled_from(PATTERNS)).format(pattern)
    return f"match unseen:\n    case {pattern}:\n        a = x\n"


@st.composite
def repeated(draw: st.DrawFn) -> str:
    number = draw(st.integers(1, 3000))
    kind = draw(st.integers(0, 3))
    rows = [REPEATED[kind].format(index) for index in range(number)]
    if kind == 2:
        rows = [f"    {row}".replace("\n    a", "\n        a") for row in rows]
    start = ("if unseen:\n    a = b\n", "", "match unseen:\n", "try:\n    unseen()\n")[kind]
    return start + "".join(rows) + ("def f(): pass\n" if kind == 1 else "")


@st.composite
def classes(draw: st.DrawFn) -> str:
    """A class of many bases, or the last of a long line, or of a lattice."""
    number = draw(st.integers(1, 1500))
    kind = draw(st.sampled_from(["many", "line", "lattice"]))
    rows = ["class B0: pass", "class C0: pass"]
    for index in range(1, number):
        if kind == "many":
            rows.append(f"class B{index}: pass")
        elif kind == "line":
            rows.append(f"class B{index}(B{index - 1}): pass")
        elif index < 200:
            rows.append(f"class B{index}(B{index - 1}, C{index - 1}): pass")
            rows.append(f"class C{index}(C{index - 1}): pass")
    bases = ", ".join(f"B{index}" for index in range(number)) if kind == "many" else "B0"
    last = min(number, 200) - 1 if kind == "lattice" else number - 1
    return "\n".join([*rows, f"class D({bases}): pass", f"a = B{last}().x; b = D().y()"]) + "\n"


BODIES = st.one_of(growing(), nested(), chained(), blocks(), patterns(), repeated(), classes())


@st.composite
def encoded(draw: st.DrawFn) -> str:
    return f"# coding: {draw(st.sampled_from(CODECS))}\n# outside_compilation \u00e9\n"


@st.composite
def projects(draw: st.DrawFn) -> Mapping[str, bytes]:
    """Some programs that have nothing to do with one another, and modules that import in rings."""
    bodies = draw(st.lists(BODIES, min_size=2, max_size=4))
    files = {f"p{n}.py": HEADER + body + FOOTER for n, body in enumerate(bodies)}
    files["encoded.py"] = draw(encoded())
    modules = [f"m{n}" for n in range(draw(st.integers(1, 4)))]
    for name in modules:
        imported = draw(st.lists(st.sampled_from(modules), max_size=3))
        stars = "".join(f"from {module} import *\n" for module in imported)
        used = "\ntpu.rewrite(nowhere, [a, x])\n"
        files[f"{name}.py"] = HEADER + stars + used
    return {name: text.encode() for name, text in files.items()}
