"""libcst's trees of light nodes, and that nobody else ever meets a light node."""

from __future__ import annotations

import gc
import sys
import threading
from pathlib import Path
from types import FrameType

import libcst
import pytest

from tpulint.syntax import light_nodes
from tpulint.syntax.deep_stack import deeply
from tpulint.syntax.light_nodes import LightNode, NotParsed
from tpulint.syntax.positions import twins
from tpulint.syntax.tree import tree_of

SOURCES = sorted(Path(light_nodes.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.name))
def test_each_node_has_the_name_and_the_fields_of_libcsts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    pairs = list(twins(tree_of(text), libcst.parse_module(text)))
    assert pairs
    for light, node in pairs:
        assert type(light).__name__ == type(node).__name__
        for name in set(node.__dataclass_fields__) - set(vars(light)) - {"__slots__"}:
            assert getattr(node, name) in (None, libcst.MaybeSentinel.DEFAULT, "!=")


def test_a_node_of_a_newer_libcst_is_known_by_its_name() -> None:
    made = light_nodes.__getattr__("NodeOfTomorrow")
    assert made is light_nodes.__dict__.pop("NodeOfTomorrow")
    assert isinstance(made(value=1), LightNode)
    assert not hasattr(light_nodes, "__path__")


@pytest.mark.parametrize("text", ["x = 1\n", "x = = 1\n"], ids=["sound", "not sound"])
def test_libcst_makes_its_own_nodes_after_a_parse(text: str) -> None:
    try:
        tree_of(text)
    except NotParsed:
        assert text != "x = 1\n"
    assert sys.modules["libcst"] is libcst
    assert libcst.parse_module("x = 1\n").code == "x = 1\n"
    with pytest.raises(libcst.ParserSyntaxError):
        libcst.parse_module("x = = 1\n")


def test_a_process_that_has_no_libcst_has_none_after_a_parse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "libcst")
    assert tree_of("x = 1\n").body
    with pytest.raises(NotParsed):
        tree_of("x = = 1\n")
    assert "libcst" not in sys.modules


def test_no_line_of_python_runs_in_a_parse() -> None:
    """So CPython changes to no other thread while a stand-in is in the place of libcst."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    text = text.replace("from __future__ import annotations\n", "")
    called = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and sys.modules["libcst"] is light_nodes:
            called.append(frame.f_code.co_name)

    def parsed() -> object:
        sys.setprofile(note)
        try:
            return tree_of(text)
        finally:
            sys.setprofile(None)

    assert deeply(parsed)
    assert not called


def test_no_other_thread_ever_sees_the_stand_in() -> None:
    seen: set[object] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(sys.modules.get("libcst"))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        deeply(lambda: [tree_of(f"x{number} = 1\n") for number in range(2_000)])
    finally:
        sys.setswitchinterval(before)
        done.set()
        watcher.join()
    assert seen == {libcst}


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_a_parse_as_before(collects: bool) -> None:
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        tree_of("x = 1\n")
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
