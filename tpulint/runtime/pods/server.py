"""One host of an emulated pod: a TensorFlow server in this process, until its input ends.

Run as a module it is a host that another process of tpulint has started (see local), which reads
its address from standard output, and with which it ends.
"""

from __future__ import annotations

import os
import sys

import tensorflow as tf

JOB = "tpulint_worker"
"""The job's name until a program connects, and names it. A session would refuse to name it so."""


def serve(port: int) -> str:
    """Start a server at `port` of all interfaces, or at a free one if it is 0; return its address.

    TensorFlow cannot end it: it runs until the process does. Whoever connects names the hosts, so
    it does not matter that it calls itself the first one.

    Raises:
        OSError: the port is not free.
    """
    os.environ.setdefault("GRPC_FAIL_FAST", "true")  # or it waits for hosts that are gone
    address = f"localhost:{port}"
    try:
        server = tf.distribute.Server({JOB: [address]}, job_name=JOB, task_index=0)
    except tf.errors.OpError as error:
        raise OSError(f"no server can listen at port {port}: {error.message}") from error
    _servers.append(server)
    return str(server.target).rpartition("://")[2]


_servers: list[tf.distribute.Server] = []
"""The servers of this process; TensorFlow refuses to delete one."""


def main() -> None:
    """Serve at a free port, and end with the process that holds the other end of the input."""
    print(serve(0), flush=True)
    sys.stdin.read()
    os._exit(0)  # TensorFlow's server would hold up the end of the interpreter


if __name__ == "__main__":
    main()
