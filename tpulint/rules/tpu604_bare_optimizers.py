"""Optimizers that sum no gradients over the replicas."""

from __future__ import annotations

import re

from tpulint.analysis.domain.class_order import mro
from tpulint.analysis.domain.objects import Class, ExternalObject, Function, Instance
from tpulint.analysis.domain.values import External, Value
from tpulint.knowledge import seam
from tpulint.knowledge.seam import is_tensorflow

WRAPPER = "CrossShardOptimizer"
# Words in the names of wrappers that sum gradients, in packages that are not seen.
SUMS = re.compile(r"shard|distributed|replica|allreduce|all_reduce|horovod|tpu", re.IGNORECASE)


def is_bare(receiver: Value | None) -> bool:
    """Return whether this certainly is an optimizer of TensorFlow's, or made after it, that sums
    nothing.
    """
    if isinstance(receiver, Instance):
        return _is_bare_class(receiver)
    if not isinstance(receiver, ExternalObject):
        return False
    if not is_tensorflow(receiver.path):
        return _is_from_elsewhere(receiver)
    named = receiver.last.endswith("Optimizer") or ".optimizers." in receiver.path
    return named and not SUMS.search(receiver.last) and not _wraps(receiver)


def _is_from_elsewhere(optimizer: ExternalObject) -> bool:
    """Return whether another package's optimizer, or wrapper of one, shows nothing that sums
    gradients.
    """
    if SUMS.search(optimizer.path):
        return False
    held = [v for _, v in optimizer.arguments if isinstance(v, (ExternalObject, Instance))]
    return optimizer.last.endswith("Optimizer") or (bool(held) and all(map(is_bare, held)))


def _is_bare_class(optimizer: Instance) -> bool:
    """Return whether a class of the project is a TensorFlow optimizer and neither sums nor wraps
    one.
    """
    bases = mro(optimizer.cls)
    outside = [each for each in bases if isinstance(each, External)]
    made = any(each.last.endswith("Optimizer") for each in outside)
    unseen = any(not is_tensorflow(each.path) and each.last != "object" for each in outside)
    methods = [one for each in bases if isinstance(each, Class) for one in each.names.values()]
    mentions = {word for one in methods if isinstance(one, Function) for word in one.code.mentions}
    mentions |= {each.last for each in outside}
    sums = not mentions.isdisjoint(seam.COLLECTIVES | {WRAPPER})
    kept = optimizer.attributes.values()
    return (
        made
        and not unseen
        and not sums
        and not any(isinstance(each, (ExternalObject, Instance)) for each in kept)
    )


def _wraps(optimizer: ExternalObject) -> bool:
    """Return whether this is a CrossShardOptimizer, holds one, or may hold one."""
    if optimizer.last == WRAPPER:
        return True
    for keyword, value in optimizer.arguments:
        if isinstance(value, ExternalObject):
            if _wraps(value):
                return True
        elif keyword in ("opt", "optimizer"):
            return True
    return False
