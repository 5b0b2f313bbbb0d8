"""A word on a pod whose hosts a program asks for a TPU without naming them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpulint.cli.run.failure import chain_of

_NOT_FOUND = "TPUs not found in the cluster"
_ON_ANOTHER_HOST = re.compile(r"was explicitly assigned to /job:\w+/(?s:.*)available devices are")


def unconnected(error: BaseException | None, *, on_a_pod: bool) -> Iterator[str]:
    """One line on how to name them, where TensorFlow finds none of the pod's hosts."""
    if not on_a_pod:
        return
    if any(_ON_ANOTHER_HOST.search(str(each)) for each in chain_of(error)):
        yield (
            "The hosts of a pod are other machines, and a session without a target is of this one: "
            "tf.compat.v1.Session(resolver.master()), or the target grpc://localhost:8470"
        )
    if any(str(each).startswith(_NOT_FOUND) for each in chain_of(error)):
        yield (
            "The hosts of a pod are other machines, and the program has not connected to "
            "them: tf.config.experimental_connect_to_cluster(resolver). Many programs leave it out "
            "where the TPU's name is '' or 'local'; give another name"
        )
