"""A word on a pod whose hosts a program asks for a TPU without having connected to them."""

from __future__ import annotations

from collections.abc import Iterator

from tpulint.cli.run.failure import chain_of

_NOT_FOUND = "TPUs not found in the cluster"


def unconnected(error: BaseException | None, *, on_a_pod: bool) -> Iterator[str]:
    """One line on how to connect, where TensorFlow finds none of the pod's hosts."""
    if on_a_pod and any(str(each).startswith(_NOT_FOUND) for each in chain_of(error)):
        yield (
            "The hosts of a pod are other machines, and the program has not connected to "
            "them: tf.config.experimental_connect_to_cluster(resolver). Many programs leave it out "
            "where the TPU's name is '' or 'local'; give another name"
        )
