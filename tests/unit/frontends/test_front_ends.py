"""Several front ends in one program. This file holds the record of package toy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from tests.unit.reading import program
from tpulint import frontends
from tpulint.absint.domain.events import Argument
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Const, External, Value
from tpulint.absint.interpreter.frame import Frame, Libraries, Library, combine
from tpulint.frontends import FrontEnd
from tpulint.frontends.settings import Settings

CALLED: list[str] = []


class ToyLibrary(Library):
    """The library of the package toy, whose calls give 7 and are written down."""

    packages = frozenset(["toy"])
    entry_names = frozenset(["launch"])

    def __init__(self, settings: Settings) -> None:
        CALLED.clear()

    def call(
        self,
        frame: Frame,
        callee: External,
        receiver: Value | None,
        args: tuple[Argument, ...],
        site: Site,
    ) -> Value:
        CALLED.append(callee.path)
        return Const(7)

    def members(self, value: External) -> frozenset[str]:
        return frozenset(["A"]) if value.path.startswith("toy.") else frozenset()


def begins(data: bytes, names: Iterable[str], tpus: bool | None) -> bool:
    return b"toy.launch" in data


FRONT_END = FrontEnd(
    frozenset(["toy"]),
    frozenset(["toy"]),
    begins,
    (b"toy.launch",),
    lambda path: path.startswith("toy."),
    f"{__name__}:ToyLibrary",
)
TENSORFLOW = """
    import tensorflow as tf

    def step(x):
        tf.print(x)
        return x

    def main(inputs):
        return tf.compat.v1.tpu.replicate(step, inputs)
"""
TOY = """
    import toy

    def other():
        toy.launch()
"""


@pytest.fixture(autouse=True)
def second_front_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(frontends, "MODULES", [*frontends.MODULES, __name__])
    frontends.front_ends.cache_clear()
    frontends.installed.cache_clear()
    yield
    frontends.front_ends.cache_clear()
    frontends.installed.cache_clear()


def test_a_front_end_is_selected_by_what_a_program_imports() -> None:
    tensorflow, toy = frontends.front_ends()
    assert frontends.used_by(["from tensorflow import keras"]) == [tensorflow]
    assert frontends.used_by(["x = 1", "import toy.layers as layers"]) == [toy]
    assert frontends.used_by(["import toy", "import tensorflow"]) == [tensorflow, toy]
    assert frontends.used_by(["import os"]) == [tensorflow]  # a package of the project's leads on


def test_its_bytes_and_packages_are_asked_for() -> None:
    assert frontends.is_start(b"toy.launch(f)", ())
    assert frontends.is_start(b"tpu.replicate(f)", ())
    assert not frontends.is_start(b"other.launch(f)", ())
    assert {"toy", "tensorflow"} <= frontends.installed()
    assert frontends.sign_in(b"toy.launch(f)") == "toy.launch"
    assert frontends.sign_in(b"tpu.replicate(f)") == "tpu.replicate"
    assert frontends.sign_in(b"other.launch(f)") == ""
    assert frontends.is_of_library("toy.launch")
    assert not frontends.is_of_library("other.launch")


def test_a_framework_without_a_front_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set(frontends.frameworks_not_read().values())
    assert names == {"JAX", "PyTorch/XLA"}
    packages = (b"toy",)
    monkeypatch.setitem(frontends.FRAMEWORKS, "j", frontends.Framework("Toy", packages))
    assert set(frontends.frameworks_not_read().values()) == {"PyTorch/XLA"}


def test_a_program_of_one_front_end_is_read_with_that_alone() -> None:
    assert not program(TOY).computations
    assert CALLED == ["toy.launch"]
    assert len(program(TENSORFLOW).computations) == 1


def test_several_are_active_in_one_program() -> None:
    both = program(TENSORFLOW + TOY)
    assert [computation.call.last for computation in both.computations] == ["replicate"]
    assert any(call.last == "print" for call in both.computations[0].calls)
    assert CALLED == ["toy.launch"]
    assert not both.failures


def test_the_library_that_knows_more_than_nothing_answers() -> None:
    several = combine([Library(), ToyLibrary(Settings())])
    assert isinstance(several, Libraries)
    assert several.members(External("toy.Kind.A")) == {"A"}
    assert several.members(External("other.Kind.A")) == frozenset()
    assert several.condition_of_call(UNKNOWN) is None
    assert several.entry_names == {"launch"}
    assert len(several.parts) == 2
