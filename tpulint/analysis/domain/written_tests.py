"""The Python tests on the way to a place as they are written, and the machine they ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpulint.analysis.domain.context import (
    GUARD,
    NAME,
    PLACE,
    STATE,
    VALUE,
    BaseContext,
    ConditionKey,
)
from tpulint.analysis.domain.site import Site
from tpulint.analysis.domain.values import Strategy

GPU = re.compile(
    r"(?<![a-z])(?:gpus?|cuda|nccl|mirrored(?:strategy)?|horovod)(?![a-z])", re.IGNORECASE
)
DEBUGGING = re.compile(r"debug(?!ging\.)|vlog|verbos", re.IGNORECASE)
TPU_FLAG = re.compile(
    r"_*(?:(?:use|uses|using|is|is_on|on|with|run_on|running_on|enable|has|have|found)_tpus?"
    r"|tpus?_(?:devices|cores|available|enabled))"
)
TPU_NAME = re.compile(r"_*tpu_(?:name|address|worker)")  # None where no TPU is used
GPU_FLAG = re.compile(r"_*(?:use|uses|using|with|run_on|running_on)_gpus?")
NEGATED = re.compile(r"\s*(?:el)?if\s+not\b|.*(?:!=|\bnot in\b|==\s*0\b|<\s*1\b|is None)")
OPENING, CLOSING = re.compile(r"[([{]"), re.compile(r"[])}]")
ROWS = 5  # of a test that are read


def tests(context: BaseContext) -> Iterator[tuple[str, object]]:
    """The tests on the way to `context` as they are written, each with the branch taken."""
    for key, taken in context.conditions:
        if key.answer is not None:
            yield key.answer.path, taken
        elif key.kind == NAME:
            yield str(key.identity), taken
        elif key.kind in (PLACE, GUARD, STATE) and isinstance(key.identity, Site):
            yield _header(key.identity), taken


def _header(site: Site) -> str:
    """Return the row that a statement begins in, with those to the last open bracket in it."""
    known = site.module.headers.get(site.place)
    if known is None:
        known = site.module.headers[site.place] = _read_header(site)
    return known


def _read_header(site: Site) -> str:
    start = site.span.start
    header = ""
    for row in site.module.text.split("\n")[start.row - 1 : start.row - 1 + ROWS]:
        header = f"{header} {row.strip()}" if header else row[start.column - 1 :]
        if len(OPENING.findall(header)) <= len(CLOSING.findall(header)):
            break
    return header


def is_for_gpu(context: BaseContext) -> bool:
    """Return whether the way to `context` is a GPU's, by a test or a function that is named so."""
    if any(GPU.search(each.name) and "tpu" not in each.name.lower() for each in context.call_chain):
        return True
    return any(
        GPU.search(text) is not None and taken is (NEGATED.match(text) is None)
        for text, taken in tests(context)
    )


def is_for_debugging(context: BaseContext) -> bool:
    """Return whether a test on the way to `context` asks if the program is to say more."""
    return any(
        DEBUGGING.search(text) is not None and taken is (NEGATED.match(text) is None)
        for text, taken in tests(context)
    )


def on_tpu(key: ConditionKey) -> bool | None:
    """Return what a test gives on a TPU; None where its words ask for something else."""
    if key.answer is None:
        name = str(key.identity) if key.kind == NAME else ""
        return True if TPU_FLAG.fullmatch(name.rpartition(".")[2]) else key.on_tpu
    asks = TPU_FLAG.fullmatch(key.answer.path.rpartition(".")[2])
    return True if asks or key.answer.path.endswith("== 'tpu'") else None


def leaves_tpu(context: BaseContext) -> bool:
    """Return whether a test on the way to `context` is answered otherwise on a TPU."""
    return any(on_tpu(key) is (not taken) for key, taken in context.conditions)


def is_for_another(context: BaseContext, strategy: Strategy) -> bool:
    """Return whether the tests on the way to `context` leave the TPU's strategy aside, or may."""
    if leaves_tpu(context):
        return True
    if strategy.made is None:
        return is_for_gpu(context)
    used = (VALUE, id(strategy.used), False)
    if any((key.kind, key.identity, taken) == used for key, taken in context.conditions):
        return True
    return strategy.made.excludes(context) or is_for_gpu(context) or _differ(strategy.made, context)


def _differ(one: BaseContext, other: BaseContext) -> bool:
    """Return whether tests that read alike are answered differently on the way to both."""
    answers = dict(_test(text, taken) for text, taken in tests(one))
    asked = [_test(text, taken) for text, taken in tests(other)]
    return any(answers.get(text, taken) is not taken for text, taken in asked)


def _test(row: str, taken: object) -> tuple[str, object]:
    """Return the test that an `if` asks, and its answer; `not` is no part of it."""
    text = row.removeprefix("el").removeprefix("if ").partition(":")[0].strip()
    return (text[4:], not taken) if text.startswith("not ") else (text, taken)
