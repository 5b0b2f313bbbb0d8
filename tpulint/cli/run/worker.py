"""`tpulint worker`: one host of an emulated pod, for programs on this and on other machines."""

from __future__ import annotations

import importlib.util
import os
import threading

from tpulint.config import ConfigError

INTERRUPTED = 130


def worker(port: int) -> int:
    """Serve at `port` until Ctrl-C; the answer is the exit status."""
    if not 0 <= port < 2**16:
        raise ConfigError("--port: must be a whole number below 65536, or 0 for any that is free")
    if importlib.util.find_spec("tensorflow") is None:
        raise ConfigError("worker: TensorFlow is not installed: pip install 'tpulint[runtime]'")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from tpulint.runtime.workers.server import serve

    try:
        address = serve(port)
    except OSError as problem:
        raise ConfigError(f"worker: {problem}") from None
    print(f"tpulint: a host of a pod is at port {address.rpartition(':')[2]}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)  # TensorFlow's server ends with the process only
    return 0
