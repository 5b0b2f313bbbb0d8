"""Tests that ask whether a TPU is used: while a TPU computation is built, the answer is yes.

The other branch of `if use_tpu:` is no device code, whatever it holds.
"""

from __future__ import annotations

import re
from typing import Any

FLAG = re.compile(r"_*(?:use|uses|using|is|is_on|on|with|run_on|running_on|enable)_tpus?")


def says_tpu(node: Any) -> bool | None:
    """What the test `node` gives on a TPU; None where it asks something else."""
    op = node[0]
    if op == "not":
        inner = says_tpu(node[1])
        return None if inner is None else not inner
    if op == "bool":
        return _of_several(node[1], [says_tpu(each) for each in node[2]])
    if op == "cmp":
        return _of_comparison(node[2])
    return True if FLAG.fullmatch(_name(node)) else None


def _of_several(op: str, answers: list[bool | None]) -> bool | None:
    """`and` is settled by one no, `or` by one yes, both by all."""
    settling = op == "or"
    if settling in answers:
        return settling
    return None if None in answers else not settling


def _of_comparison(pairs: list[Any]) -> bool | None:
    """`params["strategy"] == "tpu"`."""
    if len(pairs) != 1 or pairs[0][1] != ["const", "tpu"]:
        return None
    return {"Equal": True, "NotEqual": False}.get(pairs[0][0])


def _name(node: Any) -> str:
    """The last name of `use_tpu`, `FLAGS.use_tpu`, `params["use_tpu"]`, `params.get("use_tpu")`."""
    op = node[0]
    if op == "name":
        return str(node[2])
    if op == "attr":
        return str(node[3])
    if op == "sub":
        return _text(node[3])
    if op == "call":
        arguments = node[3]
        if _name(node[2]) == "get" and arguments:
            return _text(arguments[0][2])
        return _name(node[2])
    return ""


def _text(node: Any) -> str:
    return node[1] if node[0] == "const" and isinstance(node[1], str) else ""
