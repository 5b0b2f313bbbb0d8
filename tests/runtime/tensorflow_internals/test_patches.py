"""The table of patches is complete, and what is installed can be undone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from tpulint.runtime.tensorflow_internals import graphs, patching
from tpulint.runtime.tensorflow_internals.patch_table import PATCHES, Patch, When

ROOT = Path(__file__).parents[3]
RUNTIME = ROOT / "tpulint" / "runtime"

# `modules` is loaded by its path: an import would install the patches.
SCRIPT = """
import importlib.util
import sys
import tensorflow
from tests.runtime.tensorflow_internals.attributes import attributes, changed

spec = importlib.util.spec_from_file_location("modules", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
tensorflow.config.list_logical_devices()
tensorflow.compat.v1.disable_control_flow_v2()
untouched = attributes()

import tpulint.runtime as tpu
from tpulint.runtime.tensorflow_internals import graphs, threads
from tpulint.runtime.patches import install

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
undo = install()
undo()
print("after ALWAYS:", *changed(untouched, attributes()))
install()
print("again ALWAYS:", *changed(untouched, attributes()))
undo()
print("after again:", *changed(untouched, attributes()))
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
def test_the_table_lists_exactly_the_attributes_that_are_replaced(
    when: When, differences: dict[str, set[str]]
) -> None:
    listed = {patch.target for patch in PATCHES if patch.when is when and of_this_release(patch)}
    assert listed == differences[when.name]


@pytest.mark.parametrize("when", When)
def test_every_patch_is_undone(when: When, differences: dict[str, set[str]]) -> None:
    assert differences[f"after {when.name}"] == set()


def test_patches_can_be_installed_again(differences: dict[str, set[str]]) -> None:
    assert differences["again ALWAYS"] == differences["ALWAYS"]
    assert differences["after again"] == set()


def test_a_patch_that_the_table_does_not_list_is_refused() -> None:
    with pytest.raises(KeyError, match="not in the table"):
        patching.patched("tensorflow.python.framework.ops.Graph.as_default", None)


def test_patches_are_undone_where_a_later_one_fails() -> None:
    def patches() -> Iterator[object]:
        yield graphs.control_flow_v2()
        raise ZeroDivisionError

    switch = "tensorflow.python.ops.control_flow_util.ENABLE_CONTROL_FLOW_V2"
    module, name = patching.owner_of(switch)
    before = getattr(module, name)
    with pytest.raises(ZeroDivisionError):
        patching.install(patches())  # type: ignore[arg-type]
    assert getattr(module, name) is before
