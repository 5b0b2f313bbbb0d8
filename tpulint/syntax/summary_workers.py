"""Parsing in several processes; a process that dies costs one file, not the run."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext

from tpulint.syntax.summarize import Answer, summarize

KILLED = ("the parser was killed by this file", 1, 1)


def summarize_all(texts: list[str], jobs: int) -> list[Answer]:
    """The summaries of `texts`, the largest first in the queue."""
    order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
    answers: dict[int, Answer] = {}
    with ProcessPoolExecutor(min(jobs, len(texts)), mp_context=safe_context()) as pool:
        futures = {number: pool.submit(summarize, texts[number]) for number in order}
        for number, future in futures.items():
            try:
                answers[number] = future.result()
            except BrokenProcessPool:
                continue
    for number in order:
        if number not in answers:
            answers[number] = _alone(texts[number])
    return [answers[number] for number in range(len(texts))]


def _alone(text: str) -> Answer:
    """One text in a process of its own, after a pool broke: only the guilty one fails."""
    with ProcessPoolExecutor(1, mp_context=safe_context()) as pool:
        try:
            return pool.submit(summarize, text).result()
        except BrokenProcessPool:
            return KILLED


def safe_context() -> BaseContext:
    """Fork where there is one; a spawned interpreter must not find modules in the linted folder."""
    if "fork" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("fork")
    os.environ["PYTHONSAFEPATH"] = "1"
    return multiprocessing.get_context("spawn")
