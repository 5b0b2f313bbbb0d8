"""The picture of the packages shows each package, and the fewest arrows that say all."""

from __future__ import annotations

from scripts.imports import LAYERS, circular
from scripts.package_picture import LABELS, box_of, package_graph, reduced


def test_every_package_is_in_a_box() -> None:
    packages = {name for names in LAYERS for name in names}
    assert {box_of(f"tpulint.{name}") for name in packages} <= LABELS.keys()
    assert package_graph().keys() == LABELS.keys()


def test_the_boxes_import_each_other_in_no_circle() -> None:
    assert not circular(package_graph())


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set[str](), "d": {"c"}}
    assert reduced(graph) == {"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": {"c"}}
