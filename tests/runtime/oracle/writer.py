"""Writing a program line by line, with one source of chance."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass
class Writer:
    """The lines so far. All tensors that programs pass around are float32 of shape [2].

    `pure`: the program can be run, and its values are those of the same Python with plain calls.
    So it has no fault, no chance, no meeting of replicas, and changes no variable. Only one side
    reads one, the host if `host_reads`: the device's lock lets nobody else read.
    """

    rng: random.Random
    pure: bool = False
    host_reads: bool = False
    lines: list[str] = field(default_factory=list)
    depth: int = 0
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def one_of(self, choices: Sequence[T]) -> T:
        return self.rng.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    @property
    def source(self) -> str:
        return "\n".join(self.lines) + "\n"
