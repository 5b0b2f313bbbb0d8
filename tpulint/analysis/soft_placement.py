"""Whether the program turns soft device placement on: then what has no kernel runs on the host.

TensorFlow has it off while a tf.function or a graph is built (eagerly it is on), so that only
a program that says so gets it: `tpu.replicate` reads it when the computation is built.
"""

from __future__ import annotations

import re

SIGN = b"set_soft_device_placement("
_SET = re.compile(rb"set_soft_device_placement\(\s*(?:enabled\s*=\s*)?([^)]*?)[\s,]*\)")
ON, PERHAPS = "on", "perhaps"


class Placement:
    """Looks at the bytes of every file. `state`: None where nothing is said, ON, or PERHAPS."""

    def __init__(self) -> None:
        self.state: str | None = None

    def look(self, data: bytes) -> None:
        if SIGN not in data:
            return
        for value in _SET.findall(data):
            if value == b"True":
                self.state = ON
            elif value != b"False":
                self.state = self.state or PERHAPS
