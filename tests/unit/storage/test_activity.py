"""How long requests are open: written by the server, read by the run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tpulint.storage.activity import SLOTS, Activity
from tpulint.storage.api import bucket_of


def test_the_reader_sees_open_and_ended_requests_of_each_bucket(tmp_path: Path) -> None:
    server, run = (Activity(str(tmp_path / "activity")) for _ in range(2))
    assert run.seconds() == [0.0] * SLOTS
    with server.request("a"):
        time.sleep(0.01)
        with server.request("a"), server.request("b"):  # two at once are no longer than one
            time.sleep(0.01)
        open_still = run.seconds()
        time.sleep(0.01)
        assert run.seconds()[0] >= open_still[0] + 0.01
    ended = run.seconds()
    assert ended[0] >= 0.03
    assert 0.01 <= ended[1] < ended[0]
    assert server.buckets == {"a": 0, "b": 1}
    assert run.seconds() == ended


def test_buckets_that_have_no_slot_are_not_measured(tmp_path: Path) -> None:
    activity = Activity(str(tmp_path / "activity"))
    for number in range(SLOTS + 1):
        with activity.request(str(number)):
            pass
    with activity.request(str(SLOTS)):
        before = activity.seconds()
        time.sleep(0.002)
        assert activity.seconds() == before


@pytest.mark.parametrize(
    ("target", "bucket"),
    [
        ("/storage/v1/b/my-data/o/a%2Fb?fields=size", "my-data"),
        ("/storage/v1/b/my-data", "my-data"),
        ("/upload/storage/v1/b/my-data/o?uploadType=media&name=a", "my-data"),
        ("/download/storage/v1/b/my-data/o/a?alt=media", "my-data"),
        ("/my-data/b/c", "my-data"),
        ("/storage/v1/b?project=p", ""),
    ],
)
def test_a_request_is_about_a_bucket(target: str, bucket: str) -> None:
    assert bucket_of(target) == bucket
