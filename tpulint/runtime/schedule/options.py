"""The options of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Options:
    """`host_variables`: the treatment of a plain variable that the device program touches.

    "lock": the step holds it for the device program's whole run, as TPUExecute holds its variables.
    "snapshot": its value is read at the start and written back at the end, and nothing is held.

    `deadline`: the longest that a step may take, in seconds, whatever it waits for; None for no
    limit.
    """

    host_variables: Literal["lock", "snapshot"] = "lock"
    deadline: float | None = None
