"""The program as rules see it: what was read, and the TensorFlow that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tpulint.absint.domain.program import ProgramEvents
from tpulint.frontends.tensorflow.names.spelling_search import Spelled
from tpulint.frontends.tensorflow.names.target_release import Targets


@dataclass
class Program(ProgramEvents):
    """A program of TensorFlow.

    spelled: names that the TensorFlow of their files lacks. targets: which TensorFlow that is.
    soft_placement: with which certainty it is on, by entry point's path.
    """

    spelled: list[Spelled] = field(default_factory=list)
    targets: Targets = field(default_factory=Targets)
    soft_placement: Mapping[str, str] = field(default_factory=dict)
