"""The check, made by TensorFlow too, that a step runs on an initialized TPU system.

Its compile operation looks for the state that `ConfigureDistributedTPU` leaves (see
tpu_compile_op_common.cc), and so do copies between cores (xla_tpu_device.cc).
"""

from __future__ import annotations

from tpulint.runtime.emulate.system import is_initialized
from tpulint.runtime.errors import UninitializedSystemError
from tpulint.runtime.execute.callbacks import call_python
from tpulint.runtime.execute.raising import ticket_for
from tpulint.runtime.extract.region import Operation
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.source_location import users_place

_TEXT = "The TPU system has not been initialized."
_HOW = "Call tf.tpu.experimental.initialize_tpu_system(resolver) before the strategy is made"


def refused_until_initialized(marked: Marked) -> list[Operation]:
    """Return operations that fail where the system is not initialized when the step runs.

    There are none where it is initialized now, and none in a session, which may be of a server on
    which another one has initialized it.
    """
    if is_initialized() or marked.mode == "graph":
        return []
    place = users_place()

    def look() -> None:
        if not is_initialized():
            raise ticket_for(UninitializedSystemError(f"{_TEXT}\n  {_HOW}", place=place))

    return [call_python(look)]
