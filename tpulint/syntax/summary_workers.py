"""Parsing in several processes; a process that dies costs one file, not the run."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool

from tpulint.syntax.serialize import dumps, loads
from tpulint.syntax.summarize import Answer, Problem, summarize
from tpulint.worker_pool import worker_pool

KILLED = ("the parser was killed by this file", 1, 1)


def summarize_all(texts: list[str], jobs: int) -> list[Answer]:
    """The summaries of `texts`, the largest first in the queue."""
    order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
    answers: dict[int, Answer] = {}
    with worker_pool(min(jobs, len(texts))) as pool:
        futures = {number: pool.submit(_summarized, texts[number]) for number in order}
        for number, future in futures.items():
            try:
                answers[number] = _answer(future.result())
            except BrokenProcessPool:
                continue
    for number in order:
        if number not in answers:
            answers[number] = _alone(texts[number])
    return [answers[number] for number in range(len(texts))]


def _summarized(text: str) -> str | Problem:
    """Return the summary as JSON, which travels between processes faster than its objects."""
    answer = summarize(text)
    return answer if isinstance(answer, tuple) else dumps(answer)


def _answer(sent: str | Problem) -> Answer:
    return sent if isinstance(sent, tuple) else loads(sent)


def _alone(text: str) -> Answer:
    """One text in a process of its own, after a pool broke: only the guilty one fails."""
    with worker_pool(1) as pool:
        try:
            return _answer(pool.submit(_summarized, text).result())
        except BrokenProcessPool:
            return KILLED
