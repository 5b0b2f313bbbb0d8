"""The options that a user can set for the analysis."""

from __future__ import annotations

from typing import NamedTuple

from tpulint.frontends.tensorflow.knowledge.tables import CallFacts


class Settings(NamedTuple):
    """wrappers: names of functions that pass their callee on to outside_compilation.

    assume_tpu: a strategy of unknown kind is a TPU's. target_tensorflow: "1.15" or "2.x".
    calls: a team's facts about calls. plugin_names: names of calls for which plug-ins have models
    that open clusters or computations.
    """

    wrappers: tuple[str, ...] = ()
    assume_tpu: bool = False
    target_tensorflow: str | None = None
    calls: tuple[CallFacts, ...] = ()
    plugin_names: tuple[str, ...] = ()

    @property
    def boundary_names(self) -> tuple[str, ...]:
        """The dotted names, beside TensorFlow's own, that name the TPU API in a file."""
        rows = (row for row in self.calls if row.calls in ("host", "device"))
        named = (name for row in rows for name in row.names)
        return (*self.wrappers, *named, *self.plugin_names)
