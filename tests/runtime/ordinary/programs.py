"""Run the programs one after another, in this process, and keep what each of them prints.

python programs.py FOLDER TRANSCRIPTS [NAME ...]
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def keep_tensorflow_from_the_collector() -> None:
    """Import TensorFlow, and keep it from a collector that looks at everything twice a program.

    TensorFlow collects garbage when a TPU is initialized, and `transcript_of` does at the end.
    """
    import tensorflow as tf

    assert tf.keras.layers, "it is imported with its first use"
    gc.collect()
    gc.freeze()


def transcript_of(program: Path) -> list[str]:
    """Return the lines that `program` prints, and how it ends."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        before = os.getcwd()
        os.chdir(folder)
        try:
            runpy.run_path(str(program), run_name="__main__")
            end = "ends"
        except SystemExit as exit:
            end = f"exits with {exit.code}"
        except BaseException as error:  # a program that fails is a line of the transcript
            end = f"fails with {type(error).__name__}: {error}"
        finally:
            os.chdir(before)
    gc.collect()
    return [*printed.getvalue().splitlines(), end]


def run(folder: Path, names: list[str]) -> dict[str, list[str]]:
    """Return the transcripts of the programs of `folder`, or of those with these names."""
    sys.path.insert(0, str(HERE))
    keep_tensorflow_from_the_collector()
    chosen = sorted(folder.resolve().glob("*.py"))
    return {path.stem: transcript_of(path) for path in chosen if path.stem in names or not names}


def main() -> None:
    """Write the transcripts as JSON."""
    folder, transcripts, *names = sys.argv[1:]
    Path(transcripts).write_text(json.dumps(run(Path(folder), names), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
