"""The names of replicas in errors: on a pod of several hosts with that of the host."""

from __future__ import annotations

from tpulint.runtime.extract.feeds import cores_of_replicas
from tpulint.runtime.mark.marked import Marked
from tpulint.runtime.pods import devices


def replica_names(marked: Marked) -> tuple[str, ...]:
    """Return the name of each replica: "replica 2", or "replica 2 (/job:worker/.../task:1)"."""
    cores = cores_of_replicas(marked, logical_core=0)
    return tuple(f"replica {replica}{_host_of(core)}" for replica, core in enumerate(cores))


def _host_of(core: int) -> str:
    host = devices.remote_host_of_core(core)
    return f" ({host})" if host else ""
