"""Decide from the source if the TPU that a pipeline feeds is on another machine.

The facts: tensorflow/python/distribute/cluster_resolver/tpu/tpu_cluster_resolver.py: the
names "" and "local" mean a TPU of this machine, a zone or a project one of the
cloud's. TensorFlow 1 with `tf.contrib` runs on no
TPU VM, so a cluster there is always another machine.
"""

from __future__ import annotations

from tpulint.analysis.domain.objects import ExternalObject
from tpulint.analysis.domain.values import NONE, Const, Strategy, Text, Value, options
from tpulint.finding import Certainty

LOCAL = ("", "local")
RESOLVER = "TPUClusterResolver"


def remoteness(owner: Value) -> Certainty | None:
    """Return the certainty that the TPU of `owner` is remote; None if it is local."""
    if isinstance(owner, Strategy):
        return _of_resolver(owner.resolver)
    if not isinstance(owner, ExternalObject):
        return Certainty.POSSIBLE
    config = owner.argument("config", 2)
    return _of_config(config) if isinstance(config, ExternalObject) else Certainty.POSSIBLE


def _of_config(config: ExternalObject) -> Certainty | None:
    """A RunConfig names its TPU by `cluster=` or by `master=`."""
    cluster = config.argument("cluster")
    master = config.argument("master")
    given = [each for each in (cluster, master) if each is not None and each != NONE]
    if not given:
        return None  # then there is no other machine
    found = [_of_resolver(each) if each is cluster else _of_name(each) for each in given]
    if None in found:
        return None
    remote = Certainty.DEFINITE in found or (".contrib." in config.path and cluster in given)
    return Certainty.DEFINITE if remote else Certainty.POSSIBLE


def _of_resolver(resolver: Value) -> Certainty | None:
    """All that the resolver may be says the same, or it is not sure."""
    found = {_of_one(each) for each in options(resolver) if each != NONE}
    return found.pop() if len(found) == 1 else Certainty.POSSIBLE


def _of_one(resolver: Value) -> Certainty | None:
    if not isinstance(resolver, ExternalObject) or RESOLVER not in resolver.path:
        return Certainty.POSSIBLE
    zone = resolver.argument("zone") or resolver.argument("project")
    if ".contrib." in resolver.path or (isinstance(zone, Const) and zone != NONE):
        return Certainty.DEFINITE
    return _of_name(resolver.argument("tpu", 0))


def _of_name(name: Value | None) -> Certainty | None:
    """Return the value of `tpu=` or `master=`."""
    if isinstance(name, Text):
        return Certainty.DEFINITE if name.starts.startswith("grpc") else Certainty.POSSIBLE
    if isinstance(name, Const) and isinstance(name.value, str):
        return None if name.value in LOCAL else Certainty.DEFINITE
    return Certainty.POSSIBLE
