"""Processes that work side by side and never outlive the one that started them.

Ctrl-C reaches the parent only: it kills its workers, whatever they are at, and drops what is still
queued. A worker also ends by itself when its parent is gone (killed, or timed out by a CI job).
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import BaseContext

from tpulint import plugins

Initializer = Callable[[], object]


@contextmanager
def worker_pool(
    processes: int, initializer: Initializer | None = None
) -> Iterator[ProcessPoolExecutor]:
    """Open a pool of `processes` workers, each of which calls `initializer` first."""
    # A spawned interpreter has loaded no plug-in.
    begin = (plugins.active().options, initializer)
    pool = ProcessPoolExecutor(processes, safe_context(), prepare_worker, begin)
    try:
        yield pool
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    except BaseException:  # Ctrl-C: the results are no longer wanted
        pool.shutdown(wait=False, cancel_futures=True)
        kill_workers()
        raise
    pool.shutdown()


def kill_workers() -> None:
    """End every process that this one has started by `multiprocessing`, at once."""
    for child in multiprocessing.active_children():
        child.kill()


def prepare_worker(options: plugins.PluginOptions, initializer: Initializer | None) -> None:
    """Leave Ctrl-C and its objects to the parent, and end when it ends."""
    # What a forked process has of its parent is never collected. The parent may be a program of
    # TensorFlow's, whose objects crash where another process ends them, and to look at them would
    # copy their memory.
    gc.freeze()
    plugins.require(options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, name="tpulint-parent", daemon=True).start()
    if initializer is not None:
        initializer()


def end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def safe_context() -> BaseContext:
    """Fork where there is one; a spawned interpreter must not find modules in the linted folder."""
    if "fork" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("fork")
    os.environ["PYTHONSAFEPATH"] = "1"
    return multiprocessing.get_context("spawn")
