"""A program keeps the answers to what is asked of it."""

from __future__ import annotations

from tpulint.frontends.tensorflow.program import Program, answered_once


def test_each_question_is_answered_once() -> None:
    asked: list[tuple[int, bool]] = []

    @answered_once
    def query(program: Program, number: int, negated: bool = False) -> int:
        asked.append((number, negated))
        return -number if negated else number

    program = Program()
    answers = [query(program, 1), query(program, 1), query(program, 1, negated=True)]
    assert answers == [1, 1, -1]
    assert query(program, 2) == query(Program(), 2) == 2
    assert asked == [(1, False), (1, True), (2, False), (2, False)]
