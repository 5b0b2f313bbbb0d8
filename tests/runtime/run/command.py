"""`tpulint run` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.loopback import REFUSED

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
    folder: Path, *arguments: str, installed: Path = ROOT, alone: bool = False
) -> subprocess.CompletedProcess[str]:
    """Return what the command did in `folder`, where Python finds the packages in `installed`.

    alone: without a network, unless the system refuses that.
    """
    path = os.pathsep.join(map(str, (ROOT, installed)))
    done = subprocess.run(
        [
            sys.executable,
            *([str(ROOT / "scripts" / "loopback.py")] if alone else []),
            *("-m", "tpulint", *arguments),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if alone and done.returncode == REFUSED:
        return tpulint(folder, *arguments, installed=installed)
    return done
