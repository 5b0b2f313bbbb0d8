"""Tests that ask whether a TPU is used: while a TPU computation is built, the answer is yes.

The other branch of `if use_tpu:` is no device code, whatever it holds, and neither is that of
`if use_gpu:`.
"""

from __future__ import annotations

from tpulint.analysis.domain.written_tests import GPU_FLAG, TPU_FLAG, TPU_NAME
from tpulint.syntax.expression_nodes import (
    BoolOperation,
    CallNode,
    Compare,
    Comparison,
    Constant,
    Not,
    Subscript,
    last_name,
)
from tpulint.syntax.nodes import Expression


def says_tpu(test: Expression) -> bool | None:
    """Return what a test gives on a TPU; None where it asks something else."""
    match test:
        case Not(operand=operand):
            inner = says_tpu(operand)
            return None if inner is None else not inner
        case BoolOperation(op=op, items=items):
            return _of_several(op, [says_tpu(each) for each in items])
        case Compare(left=left, comparisons=comparisons):
            return _of_comparison(left, comparisons)
    name = _name(test)
    if GPU_FLAG.fullmatch(name):
        return False
    return True if TPU_FLAG.fullmatch(name) else None


def _of_several(op: str, answers: list[bool | None]) -> bool | None:
    """`and` is settled by one no, `or` by one yes, both by all."""
    settling = op == "or"
    if settling in answers:
        return settling
    return None if None in answers else not settling


def _of_comparison(left: Expression, comparisons: list[Comparison]) -> bool | None:
    """`params["strategy"] == "tpu"`, `tpu_name is not None`."""
    match comparisons:
        case [Comparison(op="IsNot" | "Is" as op, right=Constant(value=None))]:
            return op == "IsNot" if TPU_NAME.fullmatch(_name(left)) else None
        case [Comparison(op="Equal", right=Constant(value="tpu"))]:
            return True
        case [Comparison(op="NotEqual", right=Constant(value="tpu"))]:
            return False
    return None


def _name(of: Expression) -> str:
    """Return the last name of `use_tpu`, `FLAGS.use_tpu`, `params["use_tpu"]` and the like."""
    match of:
        case Subscript(index=Constant(value=str() as text)):
            return text
        case CallNode(callee=callee, arguments=arguments):
            if _name(callee) != "get" or not arguments:
                return _name(callee)
            key = arguments[0].value
            return key.value if isinstance(key, Constant) and isinstance(key.value, str) else ""
    return last_name(of)
