"""The program as rules see it: what was read, and the TensorFlow that it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tpulint.absint.domain.program import ProgramEvents
from tpulint.absint.domain.site import Site
from tpulint.frontends.tensorflow.knowledge import tf_names
from tpulint.frontends.tensorflow.knowledge.strategies import INITIALIZES
from tpulint.frontends.tensorflow.names.spelling_search import Spelled
from tpulint.frontends.tensorflow.names.target_release import Targets

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
