"""The options that a user can set for the analysis."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """wrappers: names of functions that pass their callee on to outside_compilation.

    assume_tpu: a strategy of unknown kind is a TPU's. target_tensorflow: "1.15" or "2.x".
    """

    wrappers: tuple[str, ...] = ()
    assume_tpu: bool = False
    target_tensorflow: str | None = None
