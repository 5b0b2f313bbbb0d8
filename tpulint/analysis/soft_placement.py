"""The programs that turn soft device placement on: what has no kernel runs on the host there.

TensorFlow has it off while a tf.function or a graph is built (eagerly it is on), so that only
a program that says so gets it: `tpu.replicate` reads it when the computation is built. It is
the process that has it, so what counts is which entry points reach the computation, and what
these import.
"""

from __future__ import annotations

import re

SIGN = b"set_soft_device_placement("
_SET = re.compile(
    rb"(?m)^([^#\n]*)set_soft_device_placement\(\s*(?:enabled\s*=\s*)?([^)]*?)[\s,]*\)"
)
_SCRIPT = (b"__main__", b"app.run(")
ON, PERHAPS = "on", "perhaps"


def placement_in(data: bytes) -> str | None:
    """Return what these bytes ask for: ON, PERHAPS where it may not be run, None for nothing."""
    found = None
    for before, value in _SET.findall(data):
        if value == b"False":
            continue
        runs = not before[:1].isspace() or is_script(data)
        if value == b"True" and runs:
            return ON
        found = PERHAPS
    return found


def is_script(data: bytes) -> bool:
    """Return whether a file with these bytes is run as a program."""
    return any(each in data for each in _SCRIPT)
