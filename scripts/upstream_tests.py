"""Run TensorFlow's own unit tests of its TPU code under the emulator, and print how they fare.

    python scripts/upstream_tests.py PATH... [--only WORD] [--cores N] [--seconds N] [--details F]
        [--table]

PATH is a test file of the source of TensorFlow or TensorFlow Estimator, of the release that is
installed. The files are not in this repository. Of tests that are combined with several strategies
those with a TPU run. Each file runs in a process of its own. A test that takes longer than so many
seconds ends its process and counts as hanging; the rest goes on in a new one. The file
tpu_outside_compilation_test.py needs the package tensorboard. Exit status 1: something failed.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import runpy
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

_EMBEDDING = "the embedding hardware of sessions (ConfigureTPUEmbedding has no kernel)"
_MORE_CORES = "a machine of 32 cores, and a session that fails first"
_SIMPLE = "TPUEstimatorGradientsSimpleTest.test_"
_COLLISION = "TPUEstimatorGradientsWithIdCollisionTest.test_"
_PLACEMENT = "TPUEstimatorInputPipelinePlacementTest.test_"
NEED_A_CHIP = {
    "TPUStrategyModelParallelismTest.test_manual_sharding_ops": (
        "runs a program on each shard of a tensor: a replica that is really partitioned"
    ),
    f"{_SIMPLE}multi_samples_per_core": _EMBEDDING,
    f"{_SIMPLE}multi_samples_per_core_tpu_vs_cpu": _EMBEDDING,
    f"{_SIMPLE}one_sample_per_core": _EMBEDDING,
    f"{_SIMPLE}one_sample_per_core_tpu_vs_cpu": _EMBEDDING,
    f"{_COLLISION}adagrad_opt_embedding_variables_on_tpu": _EMBEDDING,
    f"{_COLLISION}sgd_opt_embedding_variables_cpu_vs_tpu": _EMBEDDING,
    f"{_PLACEMENT}per_core_placement": _MORE_CORES,
    f"{_PLACEMENT}per_host_placement": _MORE_CORES,
    "TPUEstimatorInputFnTest.test_warning_with_queue_based_input_fn": (
        "a host that gives signs of life (WorkerHeartbeat has no kernel): the last warning is of it"
    ),
}
"""Tests that nothing but a chip can pass, and what of it they need."""

_WITH_V2_BEHAVIOR = ("python.eager import test", "test_util.main(", "enable_v2_behavior()")

_OF_OTHERS = ("Test that doesn't require TPUs", "Test requires a Cloud TPU")
"""The reason of combinations with other strategies to skip themselves: they do not count."""

Outcome = tuple[str, str, str]
"""Of a test: its name, how it ended, and why."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--only", default="", help="run tests whose name holds this word")
    parser.add_argument("--cores", type=int, default=2, help="how many cores are emulated")
    parser.add_argument("--seconds", type=float, default=120.0, help="the longest for one test")
    parser.add_argument("--table", action="store_true", help="print a row of Markdown a file")
    parser.add_argument("--details", type=Path, help="write why each test did not pass to a file")
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report:
        _run_here(options.paths[0], options)
        return 0
    worst = 0
    for path in options.paths:
        outcomes = _run_apart(path, options)
        if options.table:
            print(_row(path, outcomes), flush=True)
        else:
            _print(path, outcomes)
        if options.details:
            with options.details.open("a", encoding="utf-8") as file:
                file.writelines(f"== {name}: {end}\n{why}\n" for name, end, why in outcomes if why)
        worst |= any(end in ("failed", "hangs") for _, end, _ in outcomes)
    return int(worst)


def _run_apart(path: Path, options: argparse.Namespace) -> list[Outcome]:
    """Run the tests of one file in processes of their own, and return the outcomes."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        report.touch()
        while True:
            arguments = [str(path), "--report", str(report), "--only", options.only]
            arguments += ["--cores", str(options.cores), "--seconds", str(options.seconds)]
            done = subprocess.run(
                [sys.executable, __file__, *arguments],
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            told = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
            ended = {name: (end, why) for name, end, why in told if end != "started"}
            lost = [name for name, _, _ in told if name not in ended]
            if not lost:
                outcomes = [(name, end, why) for name, (end, why) in ended.items()]
                if done.returncode:
                    outcomes.append(("(the file)", "failed", done.stderr.strip()[-300:]))
                return outcomes
            with report.open("a", encoding="utf-8") as file:
                _tell(file, lost[0], "hangs", f"the process ended with {done.returncode}")


def _run_here(path: Path, options: argparse.Namespace) -> None:
    """Run what `options.report` does not report yet, and report it."""
    text = path.read_text("utf-8")
    if "combinations.generate" in text:
        sys.argv[0] = f"{path.stem}_tpu"  # by which TensorFlow chooses combinations with a TPU
    import tensorflow as tf
    from absl import flags

    import tpulint.runtime as tpu

    sys.modules["tensorflow.python.framework.summary_test_util"] = _summary_test_util()
    if not _begins_with_v2_behavior(text):
        tf.compat.v1.disable_v2_behavior()
    told = options.report.read_text("utf-8").splitlines()
    done = {json.loads(line)[0] for line in told}
    _let_graphs_connect()
    flags.DEFINE_bool("tpu_use_tfrt", False, "Defined by TensorFlow's own build.")
    sys.path.insert(0, str(path.parent))
    names = runpy.run_path(str(path), run_name="upstream")
    flags.FLAGS([str(path)])
    if "test_num_shards" in flags.FLAGS:
        flags.FLAGS.test_num_shards = options.cores
    # One TPU for all tests: some of them initialize it once.
    with (
        options.report.open("a", encoding="utf-8") as file,
        tpu.emulated_tpu(num_replicas=options.cores),
    ):
        for test in _tests(names):
            name = test.id().removeprefix("upstream.")
            if test._testMethodName == "test_session":  # a helper of TensorFlow's TestCase
                continue
            if name not in done and options.only in name:
                _run(test, name, file, options.seconds)


def _begins_with_v2_behavior(text: str) -> bool:
    """Return whether a test file of this text keeps what `import tensorflow` switches on.

    TensorFlow's own tests do not, as they import its modules one by one.
    """
    if "tensorflow_estimator" in text:
        return "disable_v2_behavior()" not in text
    return any(word in text for word in _WITH_V2_BEHAVIOR)


def _let_graphs_connect() -> None:
    """Let strategies be made in a graph: TensorFlow's authors test where there is no connecting."""
    import tensorflow as tf
    from tensorflow.python.eager import remote

    connect = remote.connect_to_cluster

    def connect_to_cluster(*args: Any, **kwargs: Any) -> None:
        if tf.executing_eagerly():
            connect(*args, **kwargs)

    remote.connect_to_cluster = connect_to_cluster


def _summary_test_util() -> ModuleType:
    """Return a module of TensorFlow's tests that its packages do not have."""
    import tensorflow as tf

    def events_from_logdir(logdir: str) -> list[Any]:
        (name,) = tf.io.gfile.listdir(logdir)
        records = tf.compat.v1.io.tf_record_iterator(os.path.join(logdir, name))
        return [tf.compat.v1.Event.FromString(record) for record in records]

    module = ModuleType("summary_test_util")
    vars(module)["events_from_logdir"] = events_from_logdir
    return module


def _tests(names: dict[str, Any]) -> Iterator[Any]:
    loader = unittest.TestLoader()
    for value in names.values():
        is_case = isinstance(value, type) and issubclass(value, unittest.TestCase)
        if is_case and value.__module__ == "upstream":
            yield from loader.loadTestsFromTestCase(value)


def _run(test: unittest.TestCase, name: str, file: TextIO, seconds: float) -> None:
    if name in NEED_A_CHIP:
        _tell(file, name, "needs a chip", NEED_A_CHIP[name])
        return
    _tell(file, name, "started", "")
    faulthandler.dump_traceback_later(seconds, exit=True)
    result = unittest.TestResult()
    with contextlib.suppress(KeyboardInterrupt):
        test.run(result)
    faulthandler.cancel_dump_traceback_later()
    broken = [text for _, text in (*result.errors, *result.failures)]
    if broken:
        _tell(file, name, "failed", broken[0])
    elif any(word in result.skipped[0][1] for word in _OF_OTHERS if result.skipped):
        _tell(file, name, "of others", "")
    elif result.skipped:
        _tell(file, name, "skips itself", result.skipped[0][1])
    else:
        _tell(file, name, "passed", "")


def _tell(file: TextIO, name: str, end: str, why: str) -> None:
    file.write(json.dumps([name, end, why]) + "\n")
    file.flush()


_COLUMNS = ("passed", "needs a chip", "skips itself", "failed", "hangs")


def _row(path: Path, outcomes: list[Outcome]) -> str:
    """Return a row of the table in docs/emulator.md."""
    counts = Counter(end for _, end, _ in outcomes if end != "of others")
    numbers = [str(counts[end] or "") for end in _COLUMNS]
    return " | ".join(["", f"`{path.name}`", str(counts.total()), *numbers, ""]).strip()


def _print(path: Path, outcomes: list[Outcome]) -> None:
    outcomes = [outcome for outcome in outcomes if outcome[1] != "of others"]
    counts = Counter(end for _, end, _ in outcomes)
    print(f"{path.name}: " + ", ".join(f"{count} {end}" for end, count in sorted(counts.items())))
    for name, end, why in outcomes:
        if end != "passed":
            reason = why.strip().splitlines()[-1] if why.strip() else ""
            print(f"  {end:12}  {name}  {reason[:200]}")


if __name__ == "__main__":
    sys.exit(main())
