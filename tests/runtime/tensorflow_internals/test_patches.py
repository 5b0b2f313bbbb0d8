"""The declared patches are all that is replaced, and what is installed can be undone."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

import tpulint.runtime  # noqa: F401  (declares the patches)
from scripts.patch_table import declared as declared_in
from tpulint.runtime.tensorflow_internals import patching
from tpulint.runtime.tensorflow_internals.patching import PATCHES, Patch, When

ROOT = Path(__file__).parents[3]
RUNTIME = ROOT / "tpulint" / "runtime"

SCRIPT = """
import importlib.util
import sys
import tensorflow
from tests.runtime.tensorflow_internals.attributes import attributes, changed

# The modules that the runtime loads are loaded before, by a copy of its file: only what is there is
# compared.
spec = importlib.util.spec_from_file_location("modules", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
tensorflow.config.list_logical_devices()
tensorflow.compat.v1.disable_control_flow_v2()
untouched = attributes()

import tpulint.runtime as tpu
from tpulint.runtime.tensorflow_internals import graphs, patching, threads

print("import:", *changed(untouched, attributes()))
tpu.install()
imported = attributes()
print("ALWAYS:", *changed(untouched, imported))
with tpu.emulated_tpu(2):
    print("EMULATED:", *changed(imported, attributes()))
print("after EMULATED:", *changed(imported, attributes()))
with graphs.control_flow_v2():
    print("BUILDING:", *changed(imported, attributes()))
print("after BUILDING:", *changed(imported, attributes()))
with threads.cancellable_calls():
    print("INTERRUPTIBLE:", *changed(imported, attributes()))
print("after INTERRUPTIBLE:", *changed(imported, attributes()))
with patching.installed(patching.When.ALWAYS):
    patching._users.clear()  # as if `install` had not been called
    patching._users[patching.When.ALWAYS] += 1
print("after ALWAYS:", *changed(untouched, attributes()))
tpu.install()
print("again ALWAYS:", *changed(untouched, attributes()))
"""


@pytest.fixture(scope="module")
def differences() -> dict[str, set[str]]:
    """The attributes of TensorFlow that differ from before the import, step by step."""
    path = RUNTIME / "tensorflow_internals" / "modules.py"
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    steps = [line.partition(":") for line in done.stdout.splitlines()]
    return {step: set(names.split()) for step, _, names in steps}


def of_this_release(patch: Patch) -> bool:
    def number(release: str) -> tuple[int, ...]:
        return tuple(int(part) for part in release.split(".")[:2])

    here = number(tf.__version__)
    return number(patch.since) <= here and (not patch.until or here <= number(patch.until))


@pytest.mark.parametrize("when", When)
def test_exactly_the_declared_attributes_are_replaced(
    when: When, differences: dict[str, set[str]]
) -> None:
    listed = {patch.target for patch in PATCHES if patch.when is when and of_this_release(patch)}
    assert listed == differences[when.name]


def test_what_is_declared_anywhere_is_imported_with_the_runtime() -> None:
    written = Counter(
        (row.when, row.target) for path in RUNTIME.rglob("*.py") for row in declared_in(path)
    )
    assert len(written) > 60
    assert Counter((patch.when.name, patch.target) for patch in PATCHES) == written


@pytest.mark.parametrize("when", When)
def test_every_patch_is_undone(when: When, differences: dict[str, set[str]]) -> None:
    assert differences[f"after {when.name}"] == set()


def test_patches_can_be_installed_again(differences: dict[str, set[str]]) -> None:
    assert differences["again ALWAYS"] == differences["ALWAYS"]


def test_the_import_replaces_nothing(differences: dict[str, set[str]]) -> None:
    assert differences["import"] == set()


class Patched:
    """A class that patches are tried on: they see it as TensorFlow's."""

    def double(self, value: int) -> int:
        return 2 * value

    @property
    def name(self) -> str:
        return "original"


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two patches of `Patched`, and no others."""
    monkeypatch.setattr(patching, "PATCHES", [])
    target = f"{__name__}.Patched"

    @patching.patch(f"{target}.double", why="", when=When.BUILDING)
    def double(original: Callable[[object, int], int], self: object, value: int) -> int:
        return original(self, value) + 1

    @patching.patch(f"{target}.name", why="", when=When.BUILDING)
    def name(original: Callable[[object], str], self: object) -> str:
        return f"no {original(self)}"


@pytest.mark.usefixtures("declared")
def test_a_replacement_calls_the_original_while_it_is_installed() -> None:
    value = Patched()
    with patching.installed(When.BUILDING):
        assert (value.double(2), value.name) == (5, "no original")
    assert (value.double(2), value.name) == (4, "original")


@pytest.mark.usefixtures("declared")
def test_patches_are_there_until_the_last_context_ends() -> None:
    value = Patched()
    outer, inner = patching.installed(When.BUILDING), patching.installed(When.BUILDING)
    with outer:
        inner.__enter__()
    assert value.double(2) == 5
    inner.__exit__(None, None, None)
    assert value.double(2) == 4


@pytest.mark.usefixtures("declared")
def test_what_another_has_put_in_its_place_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what that calls is as the original then."""
    value = Patched()
    with patching.installed(When.BUILDING):
        wrapped = Patched.double
        monkeypatch.setattr(Patched, "double", lambda self, value: wrapped(self, value) + 10)
        assert value.double(2) == 15
    assert value.double(2) == 14
    monkeypatch.undo()
    assert Patched.double is wrapped
    assert value.double(2) == 4


@pytest.mark.usefixtures("declared")
def test_patches_are_undone_where_a_later_one_fails() -> None:
    patching.patch(f"{__name__}.Patched.missing", why="", when=When.BUILDING)(print)
    before = dict(vars(Patched))
    with pytest.raises(AttributeError, match="missing"), patching.installed(When.BUILDING):
        pass
    assert dict(vars(Patched)) == before


@pytest.mark.usefixtures("declared")
@pytest.mark.parametrize("only", [{"since": "2.15"}, {"until": "2.15"}])
def test_what_only_some_releases_have_may_be_missing(only: dict[str, str]) -> None:
    patching.patch(f"{__name__}.Patched.missing", why="", when=When.BUILDING, **only)(print)
    with patching.installed(When.BUILDING):
        assert not hasattr(Patched, "missing")


@pytest.mark.usefixtures("declared")
def test_a_patch_is_left_out_where_the_attribute_that_replaced_it_is_there() -> None:
    target = f"{__name__}.Patched"
    patching.patch(f"{target}.double", why="", when=When.BUILDING, unless=f"{target}.name")(print)
    with patching.installed(When.BUILDING):
        assert Patched().double(2) == 5
