"""`tpulint run` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SECONDS = 240

STRATEGY = """\
import os
import sys
assert "tensorflow" not in sys.modules
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
"""


def tpulint(
    folder: Path, *arguments: str, installed: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Return what the command did in `folder`, where Python finds the packages in `installed`."""
    path = os.pathsep.join(map(str, (ROOT, installed)))
    return subprocess.run(
        [sys.executable, "-m", "tpulint", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
