"""A TPU whose host is another machine: it has none of this machine's files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tpulint.runtime as tpu
from tpulint.runtime.pods import hosts

WORDS = r"File system scheme '\[local\]' not implemented \(file: '{}"
Dataset = tf.data.Dataset


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with files, and with the buckets of the TPU."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "lines.txt").write_text("7\n8\n")
    (folder / "buckets" / "my-data").mkdir(parents=True)
    (folder / "buckets" / "my-data" / "lines.txt").write_text("7\n8\n")
    return folder


@pytest.fixture(scope="module")
def strategy(files: Path) -> Iterator[Any]:
    with tpu.emulated_tpu(2, remote=True, storage=str(files / "buckets")):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        yield tf.distribute.TPUStrategy(resolver)


def of_names(path: str) -> Any:
    return Dataset.from_tensor_slices([path])


# The programs read `path`, or write next to it.
PROGRAMS: dict[str, Callable[[str], Any]] = {
    "read": tf.io.read_file,
    "write": lambda path: tf.io.write_file(f"{path}.new", "7"),
    "match": lambda path: Dataset.list_files(f"{path}*"),
    "lines": lambda path: list(tf.data.TextLineDataset(path)),
    "records": lambda path: list(tf.data.TFRecordDataset(f"{path}.tfrecord")),
    "map": lambda path: list(of_names(path).map(tf.io.read_file)),
    "interleave": lambda path: list(of_names(path).interleave(tf.data.TextLineDataset)),
    "cache": lambda path: list(Dataset.range(2).cache(f"{path}.cache")),
    "table": lambda path: tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            path,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        -1,
    ),
    "summaries": lambda path: tf.summary.create_file_writer(f"{path}.logs"),
    "function": lambda path: tf.function(tf.io.read_file)(tf.constant(path)),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_local_path_is_refused_in_the_words_of_tensorflow(
    program: str, strategy: Any, files: Path
) -> None:
    path = f"{files}/lines.txt"
    if program == "records":  # written from Python, on this machine
        for name in (path, "gs://my-data/lines.txt"):
            with tf.io.TFRecordWriter(f"{name}.tfrecord") as writer:
                writer.write(b"7")
    with pytest.raises(tf.errors.UnimplementedError, match=WORDS.format(files)) as caught:
        PROGRAMS[program](path)
    assert isinstance(caught.value, tpu.LocalFileError)
    assert caught.value.rule == "TPU607"
    assert (caught.value.place or "").startswith(f"{__file__}:")
    assert "tpulint.local" not in str(caught.value)
    PROGRAMS[program]("gs://my-data/lines.txt")


def test_a_file_scheme_is_local_as_well(strategy: Any, files: Path) -> None:
    with pytest.raises(tf.errors.UnimplementedError, match=r"scheme 'file' .*'file:///"):
        tf.io.read_file(f"file://{files}/lines.txt")


def test_the_program_reads_its_own_files(strategy: Any, files: Path) -> None:
    path = f"{files}/lines.txt"
    assert tf.io.gfile.GFile(path).read() == "7\n8\n"
    with tf.device("/job:localhost"):
        assert tf.io.read_file(path) == b"7\n8\n"
    assert len(list(Dataset.range(2).cache())) == 2  # in memory, which is no file


def test_the_host_writes_and_reads_checkpoints(strategy: Any, files: Path) -> None:
    with strategy.scope():
        checkpoint = tf.train.Checkpoint(weight=tf.Variable(1.0))
    here = tf.train.CheckpointOptions(experimental_io_device="/job:localhost")
    local = f"{files}/checkpoint"
    with pytest.raises(tpu.LocalFileError, match=WORDS.format(local)):
        checkpoint.write(local)
    checkpoint.write(local, options=here)
    # TensorFlow wraps the words here, in an error of another class.
    with pytest.raises(tf.errors.InvalidArgumentError, match=WORDS.format(local)) as caught:
        checkpoint.restore(local)
    assert isinstance(caught.value, tpu.LocalFileError)
    checkpoint.restore(local, options=here)
    checkpoint.write("gs://my-data/checkpoint")
    checkpoint.restore("gs://my-data/checkpoint")


def test_python_in_a_pipeline_is_refused(strategy: Any) -> None:
    rows = Dataset.from_generator(lambda: range(4), tf.int64)
    with pytest.raises(tpu.HostOnlyInputError, match="No registered 'PyFunc' OpKernel"):
        iter(strategy.experimental_distribute_dataset(rows.batch(2, drop_remainder=True)))


class Rows(Dataset):  # type: ignore[misc]
    """A dataset of a package outside TensorFlow, as its class says."""

    element_spec = tf.TensorSpec([], tf.int64)

    def __init__(self) -> None:
        super().__init__(Dataset.range(4)._variant_tensor)

    def _inputs(self) -> list[Any]:
        return []


def test_the_operation_of_a_package_is_refused(
    strategy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package registers its operations when its library is loaded, as `RangeDataset` here."""
    assert next(iter(Rows().batch(4))).numpy().tolist() == [0, 1, 2, 3]
    before = hosts.operations_at_the_start() - {"RangeDataset"}
    monkeypatch.setattr(hosts, "operations_at_the_start", lambda: before)
    words = "Op type not registered 'RangeDataset' in binary running on a host of the TPU"
    with pytest.raises(tpu.HostOnlyInputError, match=words) as caught:
        Rows()
    assert caught.value.rule == "TPU607"
    assert (caught.value.place or "").startswith(f"{__file__}:")
    with pytest.raises(tpu.HostOnlyInputError, match=words):
        tf.function(lambda: Rows().reduce(tf.constant(0, tf.int64), tf.add))()
    with tf.device("/job:localhost"):
        assert len(list(Rows())) == 4
    with tpu.emulated_tpu(2):  # a TPU VM
        Rows()


def test_a_session_of_the_host_marks_what_has_no_device(strategy: Any, files: Path) -> None:
    path = f"{files}/lines.txt"
    with tf.Graph().as_default() as graph, graph.device(None):
        content = tf.io.read_file(path)
        graph.finalize()
        refused = pytest.raises(tpu.LocalFileError, match=WORDS.format(path))
        with tf.compat.v1.Session("grpc://localhost:8470") as session, refused:
            session.run(content)


def test_a_host_of_this_machine_has_its_files(files: Path) -> None:
    with tpu.emulated_tpu(2):
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver("my-tpu")
        tf.config.experimental_connect_to_cluster(resolver)
        assert tf.io.read_file(f"{files}/lines.txt") == b"7\n8\n"
