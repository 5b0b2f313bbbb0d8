"""Compare many generated programs: `python -m tests.runtime.oracle.fuzz --count N --seed S`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.runtime.oracle.compare import difference
from tests.runtime.oracle.programs import program


def main() -> int:
    """Exit status 1 and the programs on the output when some differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="differing programs to print")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    differing: list[int] = []
    for seed in range(options.seed, options.seed + options.count):
        actual = difference(program(seed))
        if actual:
            differing.append(seed)
            if len(differing) <= options.show:
                print(f"{program(seed)}\n{actual}\n", flush=True)
        if (seed + 1 - options.seed) % 1000 == 0:
            print(f"up to seed {seed}, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{options.count} programs in {time.monotonic() - started:.0f} s, differing: {differing}")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
