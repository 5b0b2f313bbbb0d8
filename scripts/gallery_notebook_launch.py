"""Run `tpulint` on a machine that has small files in place of those that Keras downloads.

    python scripts/gallery_notebook_launch.py [--steps N] -- run [OPTION...] NOTEBOOK

The notebook and `tpulint run` are as they are. Keras takes the files of its folder although they
are not the ones whose hashes it knows, and with `--steps N` it ends the training of a model after
so many steps, as `EarlyStopping` would.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import sys
from typing import Any

from tpulint.cli.main import main as tpulint
from tpulint.run.command import after_import

# The modules with `validate_file`: of Keras 2, and of Keras 3.
_FILES = ("keras.utils.data_utils", "keras.src.utils.file_utils")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, metavar="N")
    parser.add_argument("words", nargs="+")
    options = parser.parse_args()
    after_import("keras", functools.partial(prepare, options.steps))
    sys.argv = ["tpulint", *options.words]
    return tpulint()


def prepare(steps: int | None) -> None:
    """Let Keras take what is there, and train for at most so many steps."""
    for name in _FILES:
        if name in sys.modules:
            vars(sys.modules[name])["validate_file"] = _is_taken
    if steps:
        limit(steps)


def _is_taken(*_: Any, **__: Any) -> bool:
    return True


def limit(steps: int) -> None:
    """Let each call of `fit` end after so many steps; the epoch that has begun ends with it."""
    keras = importlib.import_module("keras")
    whole = keras.Model.fit

    @functools.wraps(whole)
    def fit(self: Any, *args: Any, callbacks: Any = None, **kwargs: Any) -> Any:
        left = iter(range(steps - 1))

        def count(*_: Any, **__: Any) -> None:
            if next(left, None) is None:
                vars(self)["stop_training"] = True

        counting = keras.callbacks.LambdaCallback(on_train_batch_end=count)
        return whole(self, *args, callbacks=[*(callbacks or ()), counting], **kwargs)

    keras.Model.fit = fit


if __name__ == "__main__":
    sys.exit(main())
