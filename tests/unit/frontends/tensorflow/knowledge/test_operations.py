"""The table of operations says what TensorFlow says; what is typed in says nothing else."""

from __future__ import annotations

import time
from operator import attrgetter
from typing import Any

import pytest

from scripts import knowledge
from scripts.releases import NEWEST
from tpulint.frontends.tensorflow.knowledge import operations


def test_the_table_is_what_the_installed_tensorflow_gives() -> None:
    assert knowledge.newest_operations() == knowledge.OPERATIONS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("dotted", "built"),
    [
        ("tensorflow.io.decode_jpeg", {"DecodeJpeg"}),
        ("tensorflow.strings.join", {"StringJoin"}),
        ("tensorflow.string_join", {"StringJoin"}),
        ("tensorflow.Print", {"Print"}),
        ("shim.compat.print", {"PrintV2"}),
        ("tensorflow.compat.v2.py_function", {"EagerPyFunc"}),
        ("tensorflow.raw_ops.ReadFile", {"ReadFile"}),
    ],
)
def test_a_name_ends_in_what_only_the_host_runs(dotted: str, built: set[str]) -> None:
    built_operations = operations.builds(dotted)
    assert built_operations is not None
    assert built_operations.lacks_kernel
    assert set(built_operations.operations) == built


@pytest.mark.parametrize(
    "dotted",
    [
        "tensorflow.where",
        "tensorflow.boolean_mask",
        "tensorflow.unique",
        "tensorflow.debugging.assert_equal",
        "tensorflow.image.resize",
        "tensorflow.random.shuffle",
        "tensorflow.raw_ops.Where",
        "tensorflow.compat.v1.tpu.cross_replica_sum",
        "tensorflow.nn.relu",
        "my.print",
    ],
)
def test_a_name_that_is_compiled_ends_in_nothing_else(dotted: str) -> None:
    assert operations.builds(dotted) is None


def test_a_numeric_operation_may_have_a_kernel_some_day() -> None:
    built_operations = operations.builds("tensorflow.linalg.det")
    assert built_operations is not None
    assert not built_operations.lacks_kernel


def test_a_refused_operation_would_have_been_possible_only() -> None:
    blocks = operations._blocks()
    assert len(blocks["refused"]) > 10
    for operation in blocks["refused"]:
        assert blocks["uncompiled"][operation] == operations.NUMERIC, operation


def test_strings_and_complex128_are_no_dtypes_of_a_tpu() -> None:
    assert {"float32", "bfloat16", "float64"} <= operations.dtypes()
    assert not {"string", "complex128"} & operations.dtypes()


def test_what_is_typed_in_is_not_derived_as_well() -> None:
    derived = knowledge.OPERATIONS.read_text(encoding="utf-8").split(knowledge.TYPED)[0]
    for row in knowledge.typed_rows()["builds"]:
        assert f"\n{row['name']}\t" not in derived, row["name"]
        assert row["why"]


@pytest.mark.parametrize("row", knowledge.typed_rows()["builds"], ids=lambda row: row["name"])
def test_what_is_typed_in_exists(row: dict[str, Any]) -> None:
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    for operation in row["operations"]:
        assert op_def_registry.get(operation) is not None, operation
    if not row["name"].startswith("tensorflow.contrib."):  # which no release has any more
        assert callable(attrgetter(row["name"].removeprefix("tensorflow."))(tf))


def test_the_table_is_read_in_no_time() -> None:
    took = []
    for _ in range(5):
        operations._blocks.cache_clear()
        operations.builds.cache_clear()
        started = time.thread_time()
        operations.builds("tensorflow.print")
        took.append(time.thread_time() - started)
    assert min(took) < 0.020


def test_older_releases_lack_kernels_that_the_newest_has() -> None:
    blocks = operations._rows("kernels.tsv")
    read = [release for release, _ in blocks["releases"]]
    assert read == ["1.15", "2.4", "2.8", "2.12", "2.15", "2.18", NEWEST]
    without = dict(blocks["kernels"])
    assert len(without) > 80
    assert set(without.values()) <= set(read[:-1])
    assert without.keys() <= operations._blocks()["compiled"].keys()
    for _, rest in blocks["builds"]:
        built, _, releases = rest.partition("\t")
        assert all(operation in without for operation in built.split(","))
        assert set(releases.split(",")) <= set(read[:-1])


@pytest.mark.parametrize(
    ("dotted", "releases", "built"),
    [
        ("tensorflow.unique", ("1.15",), ("Unique",)),
        ("tensorflow.unique", ("1.8", "2.4"), ("Unique",)),
        ("tensorflow.unique", ("1.15", "2.8"), ()),
        ("tensorflow.unique", ("2.6",), ()),  # it lies between one without and one with it
        ("tensorflow.unique", (), ()),
        ("tensorflow.raw_ops.SegmentMaxV2", ("2.11",), ("SegmentMaxV2",)),
        ("tensorflow.raw_ops.SegmentMaxV2", ("2.13",), ()),
        ("tensorflow.einsum", ("1.15",), ()),  # which built it of others then
    ],
)
def test_a_kernel_by_release(dotted: str, releases: tuple[str, ...], built: tuple[str]) -> None:
    row = operations.builds_in(dotted, releases)
    assert (row.operations if row is not None else ()) == built
    assert row is None or row.release == releases[-1]
