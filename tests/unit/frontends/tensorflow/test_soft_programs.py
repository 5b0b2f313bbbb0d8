"""Soft placement by entry point, found backwards from who asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tpulint.absint.resolver.import_graph import Files, ImportGraph, importers
from tpulint.check.programs import SoftPlacement
from tpulint.file_facts import ON, PERHAPS, is_test
from tpulint.frontends.tensorflow.knowledge.tf_names import INSTALLED

FILES = ("/a.py", "/b.py", "/c.py", "/d.py", "/test_e.py", "/f_test.py")
OUTSIDE = "/site/g.py"  # is imported, and no file of the check
PATHS = (*FILES, OUTSIDE)

Imports = Mapping[str, frozenset[str]]


def forwards(imports: Imports, setters: Mapping[str, str], entry: str) -> str | None:
    """Return the answer for the program that starts at `entry`, by all that it imports."""
    reached, waiting = {entry}, [entry]
    while waiting:
        new = imports[waiting.pop()] - reached
        reached |= new
        waiting += new
    states = {
        setters[name] for name in reached & set(setters) if name == entry or not is_test(name)
    }
    return ON if ON in states else PERHAPS if states else None


@given(
    st.fixed_dictionaries(
        {path: st.frozensets(st.sampled_from(PATHS), max_size=2) for path in PATHS}
    ),
    st.dictionaries(st.sampled_from(FILES), st.sampled_from([ON, PERHAPS]), min_size=1),
)
def test_backwards_is_forwards(imports: Imports, setters: Mapping[str, str]) -> None:
    graph = ImportGraph(
        Files(installed=INSTALLED),
        {path: tuple(sorted(names)) for path, names in imports.items()},
    )
    ways = importers(graph, FILES)
    placement = SoftPlacement(ways, setters, FILES)  # each is run as a program by itself
    seen = {*FILES, *((OUTSIDE,) if any(OUTSIDE in imports[file] for file in FILES) else ())}
    above = {
        path: [start for start in PATHS if path in imports[start] and start in seen]
        for path in PATHS
    }
    for path in FILES:
        programs, waiting = {path}, [path]
        while waiting:
            new = set(above[waiting.pop()]) - programs
            programs |= new
            waiting += new
        programs -= {OUTSIDE}  # is no script, and is imported
        if not is_test(path):
            programs = {program for program in programs if not is_test(program)} or {path}
        states = {forwards(imports, setters, program) for program in programs}
        expected = ON if states == {ON} else PERHAPS if states != {None} else None
        assert placement.of(path) == expected
