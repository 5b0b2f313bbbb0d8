"""The addresses of a pod's hosts, and what `emulated_tpu` and `tpulint run` say of wrong ones."""

from __future__ import annotations

import shutil
import socket
from typing import Any

import pytest

import tpulint.runtime as tpu
from tests.runtime.run.test_run_programs import ROOT, tpulint
from tpulint.runtime.pods.connections import is_reachable, own_address_for, split_address


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("localhost:8470", ("localhost", 8470)),
        ("10.0.0.2:1", ("10.0.0.2", 1)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, parts: tuple[str, int]) -> None:
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "address", ["localhost", ":8470", "localhost:", "host:0", "host:65536", "h:-1"]
)
def test_another_text_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match=f"'{address}' is no address of a host: give HOST:PORT"):
        split_address(address)


def test_what_is_no_server_does_not_answer() -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        address = f"localhost:{other.getsockname()[1]}"
        assert not is_reachable(address)  # nobody listens


def test_hosts_on_this_machine_reach_it_as_localhost() -> None:
    assert own_address_for(("localhost:1", "127.0.0.1:2"), 3) == "localhost:3"


@pytest.mark.parametrize(
    ("asked_for", "why"),
    [
        ({"workers": "localhost:1"}, "workers are a list of addresses, not 'localhost:1'"),
        ({"workers": ["localhost"]}, "'localhost' is no address of a host"),
        ({"workers": ["a:1", "b:2"], "hosts": 3}, "3 hosts cannot be 2 workers"),
        ({"workers": ["a:1", "b:2"], "num_replicas": 3}, "2 hosts cannot share 3 cores"),
    ],
)
def test_workers_that_make_no_pod_are_refused(asked_for: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why), tpu.emulated_tpu(**asked_for):
        pass


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="at least one host, not 0"):
        tpu.start_workers(0)


def test_a_worker_that_does_not_start_is_an_error(monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.executable", shutil.which("false"))
    with pytest.raises(RuntimeError, match="a process for a host of the pod has not started"):
        tpu.start_workers(2)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["run", "--workers", "localhost", "examples/strategy_loop.py"], "is no address of a host"),
        (["run", "--processes", "examples/strategy_loop.py"], "give the number of --hosts, too"),
        (["run", "--hosts", "2", "--workers", "a:1", "p.py"], "not allowed with argument"),
        (["worker", "--port", "65536"], "--port: must be a whole number below 65536"),
    ],
)
def test_wrong_usage_is_one_line(options: list[str], why: str) -> None:
    done = tpulint(ROOT, *options)
    assert done.returncode == 2
    assert why in done.stderr.splitlines()[-1]
