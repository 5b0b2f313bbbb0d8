"""Run a program of the gallery on the emulated TPU and without it, and compare the losses."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.gallery_environments import ROOT
from scripts.gallery_records import records_of
from scripts.gallery_rows import Program

TOLERANCE = 1e-4
"""The largest difference of the two losses, relative to the greater."""
_LAUNCH = "scripts/gallery_launch.py"


@dataclass(frozen=True)
class Result:
    """The result of one program on so many replicas; NaN is a loss that was not printed."""

    program: str
    replicas: int
    hosts: int
    seconds: float
    loss: float
    expected: float
    verdict: str


def result_of(
    program: Program, size: tuple[int, int], python: str, cache: Path, seconds: int
) -> Result:
    """Run it with `python`, on the TPU and without, each in at most so many seconds; keep that.

    `size` are the replicas and the hosts that they are on.
    """
    replicas, hosts = size
    tpu = "local" if hosts == 1 else "pod"  # programs connect to no host of a "local" one
    folder = cache / "runs" / _name(program.name, size)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    data = cache / "data" / program.data.replace(" ", "-")
    if program.data and not data.exists():
        make_data(program.data, data, python)

    def arguments(out: str, extra: tuple[str, ...], records: str = records_of(1)) -> list[str]:
        words = (program.module, *program.arguments, *extra)
        files = {"data": data, "records": data / records, "out": folder / out}
        values = {**files, "replicas": replicas, "tpu": tpu}
        return [word.format(**values) for word in words]

    pod = ["--replicas", str(replicas), "--hosts", str(hosts)]
    pod += ["--storage", str(folder / "buckets")]
    on_tpu = [python, "-m", "tpulint", "run", *pod, _LAUNCH]
    began = time.monotonic()
    ended = _run([*on_tpu, *arguments("tpu", program.on_tpu)], folder / "tpu.log", seconds)
    took = time.monotonic() - began
    loss = _loss(program, folder / "tpu.log")
    if ended != "0" or not math.isfinite(loss):
        verdict = f"fails: exit status {ended}" if ended != "0" else f"fails: the loss is {loss}"
        return _kept(Result(program.name, replicas, hosts, took, loss, math.nan, verdict), cache)
    if program.checkpoint:
        _hand_over(program.checkpoint, folder)
    how = (f"--{program.compared}", str(replicas))
    record_files = arguments("expected", program.without_tpu, records_of(hosts))
    command = [python, _LAUNCH, *how, *record_files]
    ended = _run(command, folder / "expected.log", seconds)
    expected = _loss(program, folder / "expected.log")
    if ended != "0" or not math.isfinite(expected):
        verdict = f"not compared: without a TPU it ends with {ended}"
    else:
        same = math.isclose(loss, expected, rel_tol=TOLERANCE)
        verdict = "passes" if same else f"differs: {expected:.7g} is expected"
    return _kept(Result(program.name, replicas, hosts, took, loss, expected, verdict), cache)


def kept(program: Program, size: tuple[int, int], cache: Path) -> Result | None:
    """Return the last result of it."""
    path = _path(program.name, size, cache)
    return Result(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def _kept(result: Result, cache: Path) -> Result:
    path = _path(result.program, (result.replicas, result.hosts), cache)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(result)), encoding="utf-8")
    return result


def _path(program: str, size: tuple[int, int], cache: Path) -> Path:
    return cache / "results" / f"{_name(program, size)}.json"


def _name(program: str, size: tuple[int, int]) -> str:
    replicas, hosts = size
    return f"{program}-{replicas}" + (f"-on-{hosts}" if hosts > 1 else "")


def _run(command: list[str], log: Path, seconds: int) -> str:
    """Return the exit status, or "timeout"."""
    with log.open("w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                stdout=file,
                stderr=file,
                env=_environment(),
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"timeout after {seconds} s"
    return str(done.returncode)


def make_data(kind: str, folder: Path, python: str) -> None:
    """Write data of that kind into `folder`, with the packages of `python`."""
    command = [python, "scripts/gallery_data.py", kind, str(folder)]
    subprocess.run(command, cwd=ROOT, env=_environment(), check=True)


def _environment() -> dict[str, str]:
    """Return that of a program, which finds this checkout's packages."""
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": str(ROOT)}


def _loss(program: Program, log: Path) -> float:
    matches = re.findall(program.loss, log.read_text(encoding="utf-8", errors="replace"), re.M)
    return float(matches[-1]) if matches else math.nan


def _hand_over(checkpoint: str, folder: Path) -> None:
    """Let what is computed by hand begin with the variables that the TPU began with."""
    (folder / "expected").mkdir()
    for path in (folder / "tpu").glob(f"{checkpoint}.*"):
        shutil.copy(path, folder / "expected")
    state = folder / "expected" / "checkpoint"
    state.write_text(f'model_checkpoint_path: "{checkpoint}"\n', encoding="utf-8")
