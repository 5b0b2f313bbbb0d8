"""The tables of names say what TensorFlow says, and every rename leads somewhere."""

from __future__ import annotations

import time

import pytest

from scripts import knowledge, releases
from scripts.names import MODULE, OPEN, UNREADABLE, Fact
from tpulint.frontends.tensorflow.knowledge import names
from tpulint.frontends.tensorflow.target_release import (
    in_commands,
    is_required_bare,
    requirements,
    requires_keras_2,
)

ROW = {name: index for index, name in enumerate(names.releases())}


def versions(mask: int) -> list[str]:
    return [release for release, index in ROW.items() if mask >> index & 1]


def test_the_newest_column_is_what_the_installed_tensorflow_has() -> None:
    column = 1 << ROW[releases.NEWEST]
    table = names.table()
    facts: dict[str, Fact] = {}
    for base in table.blocks:
        for name, row in names.members(base).items():
            if row.mask & column:
                arguments = [parameter for mask, parameter in row.parameters if mask & column]
                facts[f"{base}.{name}" if base else name] = Fact("", "".join(arguments))
    read = {name: fact._replace(kind="") for name, fact in knowledge.newest_names().items()}
    assert facts == read


def test_the_kinds_of_the_newest_column_are_kept() -> None:
    column = 1 << ROW[releases.NEWEST]
    for name, fact in knowledge.newest_names().items():
        base, _, last = name.rpartition(".")
        row = names.members(base)[last]
        assert bool(row.complete & column) == (fact.kind == MODULE), name
        assert bool(row.anything & column) == (fact.kind == UNREADABLE), name
        assert fact.kind in f"{MODULE}{OPEN}{UNREADABLE}cfx"


@pytest.mark.parametrize(
    ("dotted", "first", "last"),
    [
        ("tensorflow.contrib.tpu.outside_compilation", "1.12", "1.15"),
        ("tensorflow.tpu.outside_compilation", "1.14", "1.15"),
        ("tensorflow.compat.v1.tpu.outside_compilation", "1.14", "2.21"),
        ("tensorflow.distribute.Strategy.experimental_run_v2", "1.14", "2.3"),
        ("tensorflow.distribute.Strategy.run", "2.2", "2.21"),
        ("tensorflow.distribute.TPUStrategy", "2.3", "2.21"),
        ("tensorflow.compat.v1.estimator.tpu.TPUEstimator", "1.14", "2.15"),
        ("tensorflow.python.tpu.tpu_estimator.TPUEstimator", "1.14", "2.15"),
        ("tensorflow.contrib.layers.conv2d", "1.8", "1.15"),
        ("tensorflow.nn.relu", "1.8", "2.21"),
        ("tensorflow.contrib.tpu.proto.topology_pb2", "1.8", "1.12"),
        ("tensorflow.contrib.summary.summary_ops", "1.8", "1.8"),
        ("tensorflow.distribute.ReduceOp.MEAN", "1.14", "2.21"),
        ("tensorflow.keras.__version__", "1.8", "2.21"),
    ],
)
def test_a_name_is_where_it_was(dotted: str, first: str, last: str) -> None:
    assert versions(names.having(dotted)) == list(ROW)[ROW[first] : ROW[last] + 1]


def test_a_member_that_an_enumeration_lacks_is_nowhere() -> None:
    assert versions(names.having("tensorflow.distribute.ReduceOp.AVG")) == []


def test_modules_of_tensorflow_are_imported_in_every_release() -> None:
    """A false alarm: TensorFlow 1.8 has them, and takes `python` from its public names."""
    assert names.having("tensorflow.python.ops.metrics_impl.accuracy") == names.every()
    assert not names.having("tensorflow.python.distribute.distribute_lib") & 1


def test_a_name_that_never_was_is_nowhere() -> None:
    assert names.having("tensorflow.estimator.tpu.CrossShardOptimizer") == 0


@pytest.mark.parametrize(
    "dotted",
    [
        "tensorflow.compat.v2.tpu.outside_compilation",
        "tensorflow.compat.v2.estimator.ModeKeys.TRAINING",
        "tensorflow.compat.v1.contrib.layers",
        "tensorflow.compat.v2.contrib",
        # A missed alarm: `tf.compat.v1.tpu.x` under `import tensorflow.compat.v1 as tf`.
        "tensorflow.compat.v1.compat.v1.tpu.outside_compile",
        "tensorflow.compat.v1.compat.v2.tpu.outside_compilation",
    ],
)
def test_the_other_names_of_a_generation_lack_what_it_lacks(dotted: str) -> None:
    assert names.having(dotted) == 0


def test_each_generation_has_its_own_parameters() -> None:
    own = names.parameters("tensorflow.summary.scalar")
    assert own
    first = names.generation(1)
    assert all(
        mask & first == 0 for mask, _ in names.parameters("tensorflow.compat.v2.summary.scalar")
    )


def test_nothing_is_known_of_tensorflow_2_inside_tensorflow_1() -> None:
    first = names.generation(1)
    assert names.having("tensorflow.compat.v2.distribute.TPUStrategy") & first == first


def test_a_release_between_two_is_judged_by_both() -> None:
    assert versions(names.mask_of("2.9")) == ["2.8", "2.11"]
    assert versions(names.mask_of("2.30")) == ["2.21"]
    assert versions(names.mask_of("1.4")) == []


@pytest.mark.parametrize("row", names.renames(), ids=lambda row: row.old)
def test_a_rename_leads_to_names_that_exist(row: names.Rename) -> None:
    for new in row.new:
        assert names.is_listed(new), new
        assert names.having(new)


@pytest.mark.parametrize("method", names.methods().values(), ids=lambda row: row.name)
def test_a_method_was_one_of_its_class(method: names.Method) -> None:
    assert names.is_listed(method.path)
    assert not method.new or names.is_listed(f"{method.on}.{method.new}")


@pytest.mark.parametrize("method", names.methods("removed").values(), ids=lambda row: row.name)
def test_a_removed_method_was_one_of_its_class(method: names.Method) -> None:
    assert names.is_listed(method.path)
    assert not names.having(method.path) & 1 << ROW[releases.NEWEST]


def test_the_table_is_read_in_no_time() -> None:
    took = []
    for _ in range(5):
        names.table.cache_clear()
        started = time.thread_time()
        names.table()
        took.append(time.thread_time() - started)
    assert min(took) < 0.020


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("tensorflow==1.15.2", "1.15", "1.15"),
        ("tensorflow-gpu >= 1.15, < 2.0  # the GPU's", "1.15", "1.15"),
        ("install_requires=['tensorflow>=2.4,<2.12', 'numpy']", "2.4", "2.11"),
        ('tensorflow = "^2.8"', "2.8", "2.21"),
        ("  - tensorflow=2.4", "2.4", "2.4"),
        ("tensorflow~=2.8.0", "2.8", "2.8"),
        ("tensorflow[and-cuda]<=2.4", "1.8", "2.4"),
        ("tensorflow_cpu>=2", "2.0", "2.21"),
        ("tensorflow-gpu>=2.4", "2.4", "2.11"),
    ],
)
def test_a_requirement_allows_releases(text: str, first: str, last: str) -> None:
    (requirement,) = requirements(text)
    assert versions(requirement.mask) == list(ROW)[ROW[first] : ROW[last] + 1]


def test_the_text_of_a_requirement_has_both_its_quotes() -> None:
    """A finding quoted `tensorflow = "^2.8` from Poetry's table."""
    texts = ['tensorflow = "^2.8"\n', "['tensorflow>=2.4', 'numpy']"]
    actual = [requirement for text in texts for requirement in requirements(text)]
    assert [item.text for item in actual] == ['tensorflow = "^2.8"', "tensorflow>=2.4"]
    assert actual[0].end.column == len(actual[0].text) + 1


@pytest.mark.parametrize(
    "text", ["tensorflow", "tensorflow-hub==0.12", "# tensorflow==1.15", "mesh-tensorflow>=0.1"]
)
def test_a_requirement_may_say_nothing(text: str) -> None:
    assert list(requirements(text)) == []


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("numpy\ntensorflow\n", True),
        ("tensorflow-gpu  # the GPU's\n", True),
        ("tensorflow ; python_version < '3.9'", True),
        ("install_requires=['absl-py', 'tensorflow'],", True),
        ('tensorflow = "*"', True),
        ("  - tensorflow", True),
        ("# tensorflow", False),
        ("extras_require={'tensorflow': ['tensorflow>=1.15']}", False),
        ("keywords='tensorflow machine learning'", False),
        ("tensorflow-hub\ntensorflow==2.3", False),
    ],
)
def test_a_requirement_may_name_the_package_alone(text: str, bare: bool) -> None:
    assert is_required_bare(text) == bare


def test_a_requirement_knows_its_place() -> None:
    (requirement,) = requirements("# tensorflow==1.15\nnumpy\ntensorflow >= 2.4   # any\n")
    assert (requirement.text, requirement.start, requirement.end) == (
        "tensorflow >= 2.4",
        (3, 1),
        (3, 18),
    )
    assert requirement.is_open


@pytest.mark.timeout(60)  # each took hours
@pytest.mark.parametrize(
    "unit", ["tensorflow", "tensorflow>=", "tensorflow\n", "\n", "pip ", " ", "tensorflow["]
)
@pytest.mark.parametrize("blank", [" ", "\n", ""], ids=repr)
def test_a_requirement_file_is_searched_in_linear_time(unit: str, blank: str) -> None:
    for text in (unit + blank * 500_000 + "x", (unit + blank) * 20_000 + "x"):
        assert list(requirements(text)) == []
        assert list(in_commands(text)) == []
        assert not requires_keras_2(text)
        assert is_required_bare(text) == ("tensorflow\n" in text)
