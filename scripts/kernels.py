"""Write which operations the compilers of older TensorFlow releases have no kernel for.

    python scripts/kernels.py PYTHON ...

PYTHON is the interpreter of an environment with one release, the oldest first. Each lists the
kernels that its TensorFlow has registered. The sources of that TensorFlow tell which public
functions always build an operation without one. The table `kernels.tsv` in
`tpulint/frontends/tensorflow/knowledge` holds what the newest release compiles and an older one
does not; `operations.py` beside it says how it reads.

The oldest interpreters run this file, too, so all imports of this repository are inside `main`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tpulint" / "frontends" / "tensorflow" / "knowledge" / "kernels.tsv"
LIST = "--list"
DEVICE = "XLA_CPU_JIT"  # XLA registers a kernel for each of its devices unless it names one


def listing() -> dict[str, object]:
    """Return the release, its folder of packages and the operations that have a kernel in it.

    XLA registers its kernels when it first compiles something, so something is compiled.
    """
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    if tf.__version__.startswith("1."):
        from tensorflow.python.compiler.xla import xla

        with tf.compat.v1.Session() as session:
            session.run(xla.compile(lambda x: x + 1, [tf.constant(1.0)]))
    else:
        word = "experimental_compile" if tf.__version__ < "2.5" else "jit_compile"
        tf.function(lambda x: x + 1, **{word: True})(1.0)
    rows = kernels.get_all_registered_kernels().kernel
    operations = sorted({kernel.op for kernel in rows if kernel.device_type == DEVICE})
    return {
        "release": ".".join(tf.__version__.split(".")[:2]),
        "site": sysconfig.get_paths()["purelib"],
        "operations": operations,
    }


def main() -> int:
    """Ask each interpreter, read the sources of its TensorFlow, and write the table."""
    if sys.argv[1:] == [LIST]:
        print(json.dumps(listing()))
        return 0
    sys.path.insert(0, str(ROOT))
    from scripts import knowledge, operations, releases
    from scripts.wheels import Folder, Library

    typed = knowledge.typed_rows()
    newest = set(operations.kernels())
    taken = set(typed["compiled"].split()) | operations.STRUCTURAL
    last_without: dict[str, str] = {}
    built: dict[tuple[str, str], list[str]] = {}
    names = []
    for python in sys.argv[1:]:
        done = subprocess.run([python, __file__, LIST], stdout=subprocess.PIPE, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        release, site = row["release"], Path(row["site"])
        names.append(release)
        missing = newest - set(row["operations"]) - taken
        last_without.update(dict.fromkeys(missing, release))
        core = "tensorflow_core" if (site / "tensorflow_core" / "_api").is_dir() else "tensorflow"
        library = Library([Folder(site, (core, "keras"))], {"tensorflow": core})
        public = operations.PUBLIC_V1 if release.startswith("1.") else operations.PUBLIC
        for name, ops in operations.Builder(library, missing, public).table().items():
            built.setdefault((name, ",".join(sorted(ops))), []).append(release)
        print(f"{release}: {len(missing)} operations without a kernel")
    lines = ["releases", *names, releases.NEWEST, "", "kernels"]
    lines += [f"{operation}\t{release}" for operation, release in sorted(last_without.items())]
    lines += ["", "builds"]
    lines += [f"{name}\t{ops}\t{','.join(row)}" for (name, ops), row in sorted(built.items())]
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
