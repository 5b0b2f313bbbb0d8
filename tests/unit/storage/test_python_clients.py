"""Google's clients for Python, which programs use beside TensorFlow, unmodified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from google.cloud import storage

from tpulint.storage.session import ServedStorage


@pytest.fixture(name="served")
def served_fixture(tmp_path: Path) -> Iterator[ServedStorage]:
    served = ServedStorage(str(tmp_path))
    yield served
    served.close()
    assert not served.problems


def test_google_cloud_storage(served: ServedStorage, tmp_path: Path) -> None:
    client = storage.Client()
    bucket = client.create_bucket("my-data")
    blob = bucket.blob("a/small.txt")
    blob.upload_from_string("small")
    assert (tmp_path / "my-data/a/small.txt").read_text() == "small"
    assert bucket.blob("a/small.txt").download_as_text() == "small"
    large = bytes(range(256)) * 4096
    bucket.blob("large", chunk_size=1 << 18).upload_from_string(large)
    assert bucket.blob("large").download_as_bytes() == large
    with bucket.blob("written").open("w") as file:
        file.write("in a file")
    assert [item.name for item in client.list_blobs("my-data", prefix="a/")] == ["a/small.txt"]
    bucket.copy_blob(blob, bucket, "copy")
    bucket.blob("copy").delete()
    assert not bucket.blob("copy").exists()
    assert bucket.exists()
    assert not client.bucket("none-such").exists()


def test_gcsfs(served: ServedStorage, tmp_path: Path) -> None:
    files = fsspec.filesystem("gs", skip_instance_cache=True)
    with files.open("gs://my-data/a/small.txt", "wb") as file:
        file.write(b"small")
    assert (tmp_path / "my-data/a/small.txt").read_bytes() == b"small"
    large = bytes(range(256)) * 4096 * 12
    with files.open("gs://my-data/large", "wb", block_size=5 << 20) as file:
        file.write(large)
    assert files.cat("gs://my-data/large") == large
    assert files.info("gs://my-data/large")["size"] == len(large)
    files.put(str(tmp_path / "my-data/a/small.txt"), "gs://my-data/b/put.txt")
    assert sorted(files.find("gs://my-data")) == [
        "my-data/a/small.txt",
        "my-data/b/put.txt",
        "my-data/large",
    ]
    assert [Path(name).name for name in files.ls("my-data/a")] == ["small.txt"]
    files.rm("gs://my-data/a", recursive=True)
    assert not files.exists("gs://my-data/a/small.txt")
