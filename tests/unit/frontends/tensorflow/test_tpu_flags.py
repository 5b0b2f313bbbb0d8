"""Conditions that test for a TPU, and their values where one is used."""

from __future__ import annotations

import pytest

from tpulint.frontends.tensorflow.branch_tests import answer_on_tpu
from tpulint.syntax.lazy_module import summarize
from tpulint.syntax.nodes import If

YES = (
    "use_tpu",
    "FLAGS.use_tpu",
    "self._use_tpu",
    'params["use_tpu"]',
    'params.get("use_tpu", False)',
    "is_tpu()",
    "not not on_tpu",
    "use_tpu or debug",
    "use_tpu and is_tpu",
    'params["strategy"] == "tpu"',
    'kind != "gpu" or use_tpu',
    "tpu_devices(devices)",  # a false alarm in trax: what runs without a TPU
    "has_tpu",
)
NO = (
    "not FLAGS.use_tpu",
    "not use_tpu and training",
    'strategy != "tpu"',
    "not use_tpu or not is_tpu",
)
NEITHER = (
    "training",
    "use_tpu and training",
    "not use_tpu or training",
    "use_tpu_embedding",
    "tpu_name",
    'kind == "gpu"',
    '"tpu" in kind',
    "use_tpu is None",
    'params["mode"]',
    "params[use_tpu]",
    "count > 1",
)


def answer(test: str) -> bool | None:
    (statement,) = summarize(f"if {test}:\n    pass\n").body
    assert isinstance(statement, If)
    return answer_on_tpu(statement.test)


@pytest.mark.parametrize("test", YES)
def test_on_a_tpu_it_is_true(test: str) -> None:
    assert answer(test) is True


@pytest.mark.parametrize("test", NO)
def test_on_a_tpu_it_is_false(test: str) -> None:
    assert answer(test) is False


@pytest.mark.parametrize("test", NEITHER)
def test_it_asks_something_else(test: str) -> None:
    assert answer(test) is None
