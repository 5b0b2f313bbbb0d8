"""What TensorFlow means to Python code beside its calls."""

from __future__ import annotations

from tpulint.absint.domain.values import Opaque
from tpulint.frontends.tensorflow.hooks import is_host_mode


def test_only_the_comparison_itself_asks_for_a_mode() -> None:
    test = Opaque("mode").equal_to("EVAL")
    assert is_host_mode(test, frozenset(["EVAL"]))
    assert not is_host_mode(test.negated(), frozenset(["EVAL"]))
    assert not is_host_mode(Opaque("EVAL"), frozenset(["EVAL"]))
