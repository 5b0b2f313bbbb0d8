"""The arguments of the user's call of `replicate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class ReplicateRequest:
    """The arguments of `split_compile_and_replicate`, as given."""

    computation: Callable[..., Any]
    inputs: Any = None
    infeed_queue: Any = None
    device_assignment: Any = None
    use_tpu: bool = True
    maximum_shapes: Any = None
    padding_spec: Any = None
    xla_options: Any = None
