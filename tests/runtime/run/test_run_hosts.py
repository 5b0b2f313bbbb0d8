"""Programs under `tpulint run --hosts`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime.run.test_run_programs import ROOT, tpulint

pytestmark = pytest.mark.any_release

PIPELINE = """\
import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2:8470")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
rows = tf.data.Dataset.range(16)
rows = rows.map(lambda x: tf.py_function(lambda y: y, [x], tf.int64))
for batch in strategy.experimental_distribute_dataset(rows.batch(8, drop_remainder=True)):
    strategy.run(tf.function(tf.identity), args=(batch,))
"""


def test_python_in_a_pipeline_is_reported_with_the_finding_of_the_check(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PIPELINE, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--hosts", "2", "--replicas", "4", "program.py")
    assert done.returncode == 1
    assert "on 4 replicas, 2 hosts: exit status 1" in done.stderr
    words = r"HostOnlyInputError at program\.py:8 \[TPU607 .*\]: `tpulint check` says\n\nTPU607 "
    assert len(re.findall(words, done.stderr)) == 1, done.stderr


FILES = (
    PIPELINE.split("rows = ")[0]
    + """\
weight = tf.train.Checkpoint(model=tf.Variable(1.0))
tf.io.write_file("gs://my-data/rows.txt", "1\\n2\\n")
weight.write("gs://my-data/checkpoint")
for batch in strategy.experimental_distribute_dataset(
    tf.data.TextLineDataset("gs://my-data/rows.txt").map(tf.strings.to_number).batch(2, True)
):
    strategy.run(tf.function(tf.identity), args=(batch,))
print("from the bucket", flush=True)
rows = tf.data.TextLineDataset("/content/rows.txt").map(tf.strings.to_number)
for batch in strategy.experimental_distribute_dataset(rows.batch(2, drop_remainder=True)):
    strategy.run(tf.function(tf.identity), args=(batch,))
"""
)


def test_files_of_a_remote_tpu_are_reported_with_the_finding_of_the_check(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FILES, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--remote", "--replicas", "2", "program.py")
    assert done.returncode == 1
    assert done.stdout == "from the bucket\n"
    assert "File system scheme '[local]' not implemented (file: '/content/rows.txt')" in done.stderr
    assert "on 2 replicas, remote: exit status 1" in done.stderr
    words = r"LocalFileError at program\.py:15 \[TPU607 .*\]: `tpulint check` says\n\nTPU607 "
    assert len(re.findall(words, done.stderr)) == 1, done.stderr


def test_a_program_without_hosts_of_its_own_says_the_same_on_several() -> None:
    arguments = ["--cores", "4", "--batch-size", "32", "--iterations", "10", "--calls", "2"]
    on_one, on_two = (
        tpulint(
            ROOT,
            "run",
            "--hosts",
            hosts,
            "--replicas",
            "4",
            "examples/session_infeed.py",
            *arguments,
        )
        for hosts in ("1", "2")
    )
    assert on_one.returncode == on_two.returncode == 0, on_two.stderr
    assert "score" in on_one.stdout
    assert on_one.stdout == on_two.stdout


@pytest.mark.parametrize("hosts", [["--hosts", "2"], ["--workers", "localhost:1"]])
def test_a_program_that_has_not_connected_to_the_pod_learns_so(
    hosts: list[str], tmp_path: Path
) -> None:
    alone = PIPELINE.replace("grpc://10.0.0.2:8470", "local")
    alone = "".join(line for line in alone.splitlines(True) if "experimental_connect" not in line)
    (tmp_path / "program.py").write_text(alone, encoding="utf-8")
    done = tpulint(tmp_path, "run", *hosts, "--replicas", "4", "program.py")
    assert done.returncode == 1
    assert "NotFoundError: TPUs not found in the cluster" in done.stderr
    assert done.stderr.count("has not connected to them") == 1


def test_hosts_that_cannot_share_the_cores_are_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PIPELINE, encoding="utf-8")
    done = tpulint(tmp_path, "run", "--hosts", "3", "--replicas", "4", "program.py")
    assert done.returncode == 2
    assert done.stderr.endswith("tpulint: run: 3 hosts cannot share 4 cores in equal parts\n")
