"""Python functions in host clusters, which only the process of the program can run."""

from __future__ import annotations

from collections.abc import Iterable

from tpulint.runtime.errors import HostPythonError
from tpulint.runtime.extract.bodies import bodies
from tpulint.runtime.extract.region import Operation, Region
from tpulint.runtime.pods import devices
from tpulint.runtime.source_location import place_of_operation

PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


def out_of_reach(region: Region, ops: Iterable[Operation]) -> HostPythonError | None:
    """Return the fault of a host cluster of `ops` that calls Python from another machine.

    None where the cores are this machine's: a Python function is in the process of the program
    (`tf.py_function`'s documentation), and the hosts of a pod run other processes.
    """
    if devices.remote_host_of_core(0) is None:
        return None
    op = _python_function(region, ops)
    if op is None:
        return None
    job = devices.job_of_cores()
    return HostPythonError(
        f"No registered '{op.type}' OpKernel on the hosts '/job:{job}': the host cluster runs "
        "there, and the Python function is in the process of the program",
        place=place_of_operation(op),
    )


def _python_function(region: Region, ops: Iterable[Operation]) -> Operation | None:
    """Return the first of `ops`, or of what is in their bodies, that calls Python."""
    for op in ops:
        if op.type in PYTHON:
            return op
        for body in bodies(region, op):
            found = _python_function(body, body.ops)
            if found is not None:
                return found
    return None
