"""The program as rules see it: what was read, and the TensorFlow that it is for.

`Checkpoint` is its state at some time, to which it returns so that a root can be read again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from tpulint.absint.domain.events import Computation
from tpulint.absint.domain.program import ProgramEvents
from tpulint.absint.domain.site import Site
from tpulint.absint.domain.values import UNKNOWN, Opaque, Partial
from tpulint.finding import Certainty
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import INITIALIZES
from tpulint.frontends.tensorflow.spelling_search import Spelled
from tpulint.frontends.tensorflow.strategy import is_of_tpu
from tpulint.frontends.tensorflow.target_release import Targets

# Who calls one of these runs something on a TPU.
MARKS = tf_names.TPU_STRATEGIES | tf_names.UNMISTAKABLE | INITIALIZES | {"TPUClusterResolver"}


class Unreached(NamedTuple):
    """A function that uses TensorFlow, and that nothing that was read calls."""

    name: str
    site: Site


@dataclass
class Program(ProgramEvents):
    """A program of TensorFlow.

    spelled: names that the TensorFlow of their files lacks. targets: which TensorFlow that is.
    soft_placement: with which certainty it is on, by entry point's path. unreached: the functions
    of its modules that use TensorFlow and that nothing that was read calls.
    """

    spelled: list[Spelled] = field(default_factory=list)
    targets: Targets = field(default_factory=Targets)
    soft_placement: Mapping[str, str] = field(default_factory=dict)
    unreached: Sequence[Unreached] = ()

    @property
    def is_for_tpu(self) -> bool:
        """Whether anything in it is, or may be, for a TPU."""
        if self.computations or self.orphan_clusters:
            return True
        return any(MARKS.issuperset([call.last]) for call in self.calls)


Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def answered_once(
    query: Callable[Concatenate[Program, Asked], Answer],
) -> Callable[Concatenate[Program, Asked], Answer]:
    """Make a query keep its answers in the program: several rules ask it, or many places."""

    @functools.wraps(query)
    def answer(program: Program, /, *asked: Asked.args, **options: Asked.kwargs) -> Answer:
        key = (query, *asked, *options.items())
        if key not in program.answers:
            program.answers[key] = query(program, *asked, **options)
        kept: Answer = program.answers[key]
        return kept

    return answer


# The lists of a program to which the reading of a root adds.
LISTS = tf_names.words("computations orphan_clusters calls uses accesses unsure_feeds feeds")


class Checkpoint:
    """The lengths of the program's lists when this was made."""

    def __init__(self, program: ProgramEvents) -> None:
        self._program = program
        self._lengths = {name: len(getattr(program, name)) for name in LISTS}

    def roll_back(self) -> None:
        """Forget what was found since."""
        for name, length in self._lengths.items():
            del getattr(self._program, name)[length:]

    def opened_clusters(self) -> bool:
        """Return whether host clusters were opened since (those of a host_call need no more)."""
        clusters = [
            cluster for computation in self._computations() for cluster in computation.clusters
        ]
        clusters += self._program.orphan_clusters[self._lengths["orphan_clusters"] :]
        return any(cluster.kind.endswith("outside_compilation") for cluster in clusters)

    def has_call(self, name: str) -> bool:
        """Return whether a computation since calls what has that last name."""
        return any(
            call.last == name for computation in self._computations() for call in computation.calls
        )

    def set_strategy(self) -> bool:
        """Return whether a strategy of a TPU was set since, for all that runs after it."""
        return any(
            call.last == "experimental_set_strategy"
            and any(map(is_of_tpu, (call.value("strategy", 0) or UNKNOWN).options))
            for call in self._program.calls[self._lengths["calls"] :]
        )

    def left_open(self) -> bool:
        """Return whether a computation or a feed since depends on what only callers know."""
        return len(self._program.unsure_feeds) > self._lengths["unsure_feeds"] or any(
            computation.certainty is Certainty.POSSIBLE or isinstance(computation.callee, Opaque)
            for computation in self._computations()
        )

    def left_argument_open(self) -> bool:
        """Return whether callers give the function of a TPU's computation since, or its input."""
        if any(
            computation.certainty is Certainty.DEFINITE and isinstance(computation.callee, Opaque)
            for computation in self._computations()
        ):
            return True
        for feed in self._program.feeds[self._lengths["feeds"] :]:
            value = feed.function or feed.data
            while isinstance(value, Partial):
                value = value.function
            if isinstance(value, Opaque):
                return True
        return False

    def _computations(self) -> Sequence[Computation]:
        """Return the computations since."""
        return self._program.computations[self._lengths["computations"] :]
