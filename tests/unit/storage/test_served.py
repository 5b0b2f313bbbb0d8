"""The server as a process of its own: its proxy, its token, and its end."""

from __future__ import annotations

import base64
import ctypes
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path

import psutil
import pytest

from tpulint.run.session import missing_objects
from tpulint.storage.session import (
    CloudCommandError,
    ServedStorage,
    StorageUse,
    cloud_command,
    storage_environment,
)

ROOT = Path(__file__).parents[3]
HOST = "www.googleapis.com"
PATIENCE = 120.0
"""Seconds until another process must have done what a test waits for."""


@pytest.fixture(name="served")
def served_fixture(tmp_path: Path) -> Iterator[ServedStorage]:
    served = ServedStorage(str(tmp_path / "storage"))
    yield served
    served.close()


class Client:
    """What TensorFlow's libcurl does, in Python."""

    def __init__(self, served: ServedStorage, *, token: str | None = None) -> None:
        self.served = served
        self.context: ssl.SSLContext | None = None
        self.told: Message = Message()
        """The headers of the last answer."""
        word = base64.b64encode(f":{token or served.token}".encode()).decode()
        self.headers = {"Proxy-Authorization": f"Basic {word}", "User-Agent": "TSL"}

    def tunnel(self, host: str = HOST, port: int = 443) -> socket.socket:
        """Return a connection through the proxy."""
        connection = socket.create_connection(("127.0.0.1", self.served.port), PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as libcurl does
        lines = [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([f"CONNECT {host}:{port} HTTP/1.1", *lines, "", ""])
        connection.sendall(head.encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            assert byte, answer
            answer += byte
        if b" 200 " not in answer.splitlines()[0]:
            connection.close()
            raise ConnectionRefusedError(answer.splitlines()[0].decode())
        return connection

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        with self.tunnel() as plain:
            if self.context is None:
                authorities = self.served.environment()["CURL_CA_BUNDLE"]
                self.context = ssl.create_default_context(cafile=authorities)
            connection = HTTPSConnection(HOST, context=self.context)
            connection.sock = self.context.wrap_socket(plain, server_hostname=HOST)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer: HTTPResponse = connection.getresponse()
            content, self.told = answer.read(), answer.headers
            connection.close()
            return answer.status, content


def test_an_object_goes_there_and_back(served: ServedStorage, tmp_path: Path) -> None:
    client = Client(served)
    target = "/upload/storage/v1/b/bucket/o?uploadType=media&name=a"
    assert client.ask("POST", target, b"content")[0] == 200
    assert (tmp_path / "storage/bucket/a").read_bytes() == b"content"
    assert client.ask("GET", "/bucket/a") == (200, b"content")
    served.close()
    assert served.uses == (StorageUse("bucket", 1, 7, 1, 7),)


def test_a_body_is_chunked_whatever_its_length_says(served: ServedStorage) -> None:
    """So TensorFlow sends it."""
    chunks = b"4\r\n0123\r\n6;x=y\r\n456789\r\n0\r\n\r\n"
    headers = {"Transfer_Encoding": "chunked", "Content_Length": "10", "Expect": "100-continue"}
    target = "/upload/storage/v1/b/bucket/o?uploadType=media&name=a"
    client = Client(served)
    assert client.ask("POST", target, chunks, **headers)[0] == 200
    assert client.ask("GET", "/bucket/a") == (200, b"0123456789")


def test_an_upload_that_breaks_off_is_no_object(served: ServedStorage, tmp_path: Path) -> None:
    """TensorFlow asks what has come, and goes on from there."""
    client = Client(served)
    target = "/upload/storage/v1/b/bucket/o?uploadType=media&name=big"
    assert client.ask("POST", target, b"before")[0] == 200
    begin = "/upload/storage/v1/b/bucket/o?uploadType=resumable&name=big"
    client.ask("POST", begin)
    place = client.told["Location"].removeprefix(f"https://{HOST}")
    head = f"PUT {place} HTTP/1.1\r\nHost: {HOST}\r\nContent-Range: bytes 0-9/10\r\n"
    assert client.context is not None
    with client.context.wrap_socket(client.tunnel(), server_hostname=HOST) as broken:
        broken.sendall(f"{head}Content-Length: 10\r\n\r\n0123".encode())
    assert client.ask("GET", "/bucket/big") == (200, b"before")
    deadline = time.monotonic() + PATIENCE
    while client.told["Range"] != "bytes=0-3" and time.monotonic() < deadline:
        assert client.ask("PUT", place, Content_Range="bytes */10")[0] == 308
    assert client.ask("PUT", place, b"456789", Content_Range="bytes 4-9/10")[0] == 200
    assert client.ask("GET", "/bucket/big") == (200, b"0123456789")


def test_another_user_of_the_machine_is_refused(served: ServedStorage) -> None:
    with pytest.raises(ConnectionRefusedError, match="407"):
        Client(served, token="guessed").tunnel()
    for path in ("/guessed/storage/v1/b", "/storage/v1/b", "/"):
        connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
        connection.request("GET", path)
        assert connection.getresponse().status == 401
        connection.close()


def test_the_server_is_on_loopback_only(served: ServedStorage) -> None:
    another = "127.0.0.2" if sys.platform == "linux" else "::1"
    with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
        socket.create_connection((another, served.port), 2)


def test_another_host_is_handed_through_unchanged(served: ServedStorage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(PATIENCE)
        with Client(served).tunnel("127.0.0.1", other.getsockname()[1]) as here:
            there, _ = other.accept()
            with there:
                there.settimeout(PATIENCE)
                here.sendall(b"\x00anything")
                assert there.recv(100) == b"\x00anything"
                there.sendall(b"answer")
                assert here.recv(100) == b"answer"


def test_a_client_that_is_not_tensorflow_is_handed_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on to the user's own proxy, where there is one."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(PATIENCE)
        monkeypatch.setenv("https_proxy", f"http://me:word@127.0.0.1:{proxy.getsockname()[1]}")
        served = ServedStorage(str(tmp_path))
        client = Client(served)
        client.headers["User-Agent"] = "curl/8"
        with socket.create_connection(("127.0.0.1", served.port), PATIENCE) as here:
            lines = [f"{name}: {value}" for name, value in client.headers.items()]
            here.sendall("\r\n".join([f"CONNECT {HOST}:443 HTTP/1.1", *lines, "", ""]).encode())
            there, _ = proxy.accept()
            with there:
                head = there.recv(10000)
                there.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                assert here.recv(10000).startswith(b"HTTP/1.1 200 ")
        served.close()
    assert head.startswith(b"CONNECT www.googleapis.com:443 HTTP/1.1\r\n")
    assert base64.b64encode(b"me:word") in head
    assert served.token.encode() not in head


def test_a_host_that_does_not_answer_is_an_error(served: ServedStorage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ConnectionRefusedError, match="502"):
        Client(served).tunnel("127.0.0.1", port)


def test_python_sees_no_variable_of_it(served: ServedStorage) -> None:
    for name in served.environment():
        assert served.environment()[name] != os.environ.get(name)
    seen = subprocess.run(
        ["env"], capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout
    assert all(f"{name}={value}" in seen for name, value in served.environment_of_others().items())
    served.close()
    seen = subprocess.run(
        ["env"], capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout
    assert not any(value in seen for value in served.environment().values() if len(value) > 5)


def test_a_run_that_asks_for_nothing_starts_and_ends_in_no_time(tmp_path: Path) -> None:
    """In 50 ms, or where the machine is busy, in less than a program that does nothing."""
    passes = []
    for seconds in (0.2, 0.2, 0.4, 0.8, 1.6, 3.2):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True, timeout=60)
        allowed = max(0.05, time.perf_counter() - begin)
        begin = time.perf_counter()
        served = ServedStorage(str(tmp_path))
        took = time.perf_counter() - begin
        time.sleep(seconds)  # the program runs, and the server gets ready
        begin = time.perf_counter()
        served.close()
        took += time.perf_counter() - begin
        assert not served.uses
        assert not os.listdir(tmp_path)
        passes.append(took < allowed)
        if passes[-1]:
            break
    assert passes[-1]


def test_the_cloud_is_read_over_the_network_and_its_absence_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cloud is a second server, which Google's own variable names."""
    cloud = ServedStorage(str(tmp_path / "cloud"))
    (tmp_path / "cloud/bucket").mkdir(parents=True)
    (tmp_path / "cloud/bucket/a").write_bytes(b"far")
    address = f"http://127.0.0.1:{cloud.port}/{cloud.token}"
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
    served = ServedStorage(str(tmp_path / "here"), reads_cloud=True)
    client = Client(served)
    assert client.ask("GET", "/bucket/a") == (200, b"far")
    assert (tmp_path / "here/bucket/a").read_bytes() == b"far"
    assert client.ask("GET", "/bucket/none")[0] == 404
    cloud.close()
    assert client.ask("GET", "/bucket/a") == (200, b"far")
    status, output = client.ask("GET", "/storage/v1/b/bucket/o/none")
    assert status == 403  # final: TensorFlow does not try again
    assert b"cannot be read" in output
    served.close()
    assert "cannot be read" in " ".join(served.problems)


PROGRAM = """\
import sys, time
from tpulint.storage.session import ServedStorage
served = ServedStorage(sys.argv[1])
print(served._server.pid, served.port, served.environment()["CURL_CA_BUNDLE"], flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("is_used", [False, True])
def test_the_server_ends_when_the_program_is_killed(is_used: bool, tmp_path: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert program.stdout is not None
    with program, program.stdout:
        pid, port, authorities = program.stdout.readline().split()
        if is_used:
            with socket.create_connection(("127.0.0.1", int(port)), PATIENCE) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
                assert b"401" in connection.recv(1000)
            assert Path(authorities).exists()
        program.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and psutil.pid_exists(int(pid)):
        time.sleep(0.01)
    assert not Path(authorities).parent.exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(port)), PATIENCE)


def test_the_run_tells_that_its_server_was_killed(tmp_path: Path) -> None:
    served = ServedStorage(str(tmp_path))
    client = Client(served)
    target = "/upload/storage/v1/b/bucket/o?uploadType=media&name=whole"
    assert client.ask("POST", target, b"content")[0] == 200
    begin = "/upload/storage/v1/b/bucket/o?uploadType=resumable&name=half"
    assert client.ask("POST", begin)[0] == 200
    private = Path(served.environment()["CURL_CA_BUNDLE"]).parent
    served._server.kill()
    served._server.wait()
    with pytest.raises(OSError, match="refused"):
        client.ask("GET", "/bucket/whole")
    served.close()
    (problem,) = served.problems
    assert "was ended by signal 9 before the program did" in problem
    assert not private.exists()
    assert [path.name for path in (tmp_path / "bucket").iterdir()] == ["whole"]
    after = ServedStorage(str(tmp_path))
    assert Client(after).ask("GET", "/bucket/whole") == (200, b"content")
    assert Client(after).ask("GET", "/storage/v1/b/bucket/o/half")[0] == 404
    after.close()


def test_the_report_tells_what_is_missing_from_what_was_opened_as_a_local_file(
    served: ServedStorage, tmp_path: Path
) -> None:
    """Keras 2 opens HDF5 with h5py, others use Python's `open`: no object is missing there."""
    path = "gs://my-models/run/best.weights.h5"
    with pytest.raises(FileNotFoundError) as caught:
        open(path, "rb")  # noqa: SIM115
    (line,) = missing_objects([caught.value], served)
    assert line.startswith(f"{path} was opened as a local file: ")
    for error in (FileNotFoundError(path), RuntimeError(f"Not found: {path}.")):
        (line,) = missing_objects([error], served)
        assert line.startswith(f"{path} is not in ")
        assert f"copy a sample to {tmp_path}/storage/my-models/run/best.weights.h5, or" in line
    for name in ("gs://my-models", "gs://my-models/"):
        (line,) = missing_objects([RuntimeError(f"Could not find directory {name}")], served)
        assert line.endswith(f"make the folder {tmp_path}/storage/my-models, or use --cloud-reads")
    (tmp_path / "storage" / "my-models").mkdir(parents=True)
    assert not list(missing_objects([RuntimeError("no gs://my-models here")], served))


def test_tensorflow_does_not_try_again_for_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCS_RETRY_CONFIG_MAX_RETRIES", "7")  # the user's own
    served = ServedStorage(str(tmp_path))
    variables = served.environment()
    served.close()
    assert variables["GCS_RETRY_CONFIG_MAX_RETRIES"] == "7"
    assert int(variables["GCS_RETRY_CONFIG_MAX_DELAY_TIME_US"]) <= 1_000_000


def test_the_variables_of_an_inner_storage_give_way_to_those_of_the_outer(tmp_path: Path) -> None:
    outer = ServedStorage(str(tmp_path / "outer"))
    inner = ServedStorage(str(tmp_path / "inner"))
    assert storage_environment() == inner.environment()
    inner.close()
    assert storage_environment() == outer.environment()
    seen = subprocess.run(
        ["env"], capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout
    assert f"https_proxy={outer.environment()['https_proxy']}" in seen
    outer.close()
    assert storage_environment() == {}


@pytest.mark.parametrize(
    ("excepted", "left"),
    [
        ("*", "localhost"),
        (".googleapis.com", "localhost"),
        ("example.org, storage.googleapis.com,10.0.0.1", "example.org,10.0.0.1"),
    ],
)
def test_no_exception_from_the_users_proxy_leads_past_the_storage(
    excepted: str, left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", excepted)
    served = ServedStorage(str(tmp_path))
    assert served.environment()["no_proxy"] == left
    served.close()


def test_two_runs_share_a_directory(tmp_path: Path) -> None:
    """Each sees whole objects of the other, while both write the same ones."""
    runs = [ServedStorage(str(tmp_path)) for _ in range(2)]
    clients = [Client(run) for run in runs]
    seen: set[bytes] = set()

    def write(client: Client, letter: bytes, size: int) -> None:
        for number in range(8):
            for name in ("a", "a/b", f"c/{number % 2}/d"):
                target = f"/upload/storage/v1/b/bucket/o?uploadType=media&name={name}"
                assert client.ask("POST", target, letter * size)[0] == 200
                status, content = client.ask("GET", f"/bucket/{name}")
                assert status in (200, 404)
                seen.add(content if status == 200 else b"")
                client.ask("DELETE", f"/storage/v1/b/bucket/o/{name.replace('/', '%2F')}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, clients, (b"x", b"y"), (10_000, 15_000)))
    assert seen <= {b"", b"x" * 10_000, b"y" * 15_000}
    assert len(seen) >= 2
    for run in runs:
        run.close()
        assert not run.problems
    assert os.listdir(tmp_path / ".uploads") == []


def test_a_program_that_is_started_trusts_the_rest_of_the_world_too(
    served: ServedStorage,
) -> None:
    """TensorFlow reads a shorter list, in this process: it does so for each request."""
    Client(served).ask("GET", "/storage/v1/b/bucket")
    script = (
        "import os, ssl\n"
        "context = ssl.create_default_context(cafile=os.environ['CURL_CA_BUNDLE'])\n"
        "print(len(context.get_ca_certs()))\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(served.environment()["CURL_CA_BUNDLE"])
    assert len(context.get_ca_certs()) == 1
    machine = ssl.create_default_context()
    assert int(printed.stdout) == 1 + len(machine.get_ca_certs())
    assert _variable_of_c("CURL_CA_BUNDLE") == served.environment()["CURL_CA_BUNDLE"]


def _variable_of_c(name: str) -> str:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    value: bytes = getenv(name.encode())
    return value.decode()


REFUSED = {
    "gsutil -m cp -r out gs://my-models": "gsutil -m cp -r out gs://my-models",
    "cd out && /opt/sdk/bin/gsutil cp a gs://b": "/opt/sdk/bin/gsutil cp a gs://b",
    "echo begins; BOTO_CONFIG=none gsutil ls | head": "BOTO_CONFIG=none gsutil ls",
    "if ! gsutil -q stat gs://b/a; then exit; fi": "if ! gsutil -q stat gs://b/a",
    "echo $(gsutil du gs://b)": "gsutil du gs://b",
    "# copies\ngcloud storage cp a gs://b": "gcloud storage cp a gs://b",
    "gcloud --project my-own alpha storage ls": "gcloud --project my-own alpha storage ls",
}
STARTED = [
    *("true gsutil", "true 'a; gsutil cp b c'", "true # gsutil", "true gcloud storage"),
    *("gsutil version", "gcloud config list", "gcloud compute instances list storage"),
    *("gcloud auth list > storage", "true 'it", ""),
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_command_that_asks_the_cloud_is_not_started(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # nothing can be started, whatever happens
    served = ServedStorage(str(tmp_path / "storage"))
    match = re.escape(f"`{REFUSED[text]}` was not started: it asks the cloud")
    with pytest.raises(CloudCommandError, match=match):
        subprocess.run(text, shell=True, check=False)
    with pytest.raises(CloudCommandError, match=match):
        os.system(text)
    served.close()
    (problem,) = served.problems
    assert re.match(match, problem)
    assert str(tmp_path / "storage") in problem


@pytest.mark.parametrize("text", STARTED)
def test_other_commands_are_not_refused(text: str) -> None:
    assert cloud_command("os.system", (text,)) is None
    assert cloud_command("subprocess.Popen", ("/bin/sh", ["/bin/sh", "-c", text], None)) is None
    assert cloud_command("os.exec", ("/bin/true", text.split(), None)) is None


def test_a_command_without_a_shell_is_refused_by_its_own_words(served: ServedStorage) -> None:
    with pytest.raises(CloudCommandError, match="`gsutil cp a gs://b`"):
        subprocess.check_call(["gsutil", "cp", Path("a"), b"gs://b"])
    with pytest.raises(CloudCommandError, match="`gsutil cp a gs://b`"):
        subprocess.check_call(["bash", "-c", "gsutil cp a gs://b"])
    subprocess.check_call(["true", "; gsutil cp a gs://b"])


def test_a_command_asks_the_cloud_if_no_storage_is_served(tmp_path: Path) -> None:
    ServedStorage(str(tmp_path)).close()
    (tmp_path / "gsutil").write_text("#!/bin/sh\necho $1\n")
    (tmp_path / "gsutil").chmod(0o755)
    assert subprocess.check_output([str(tmp_path / "gsutil"), "cp"]) == b"cp\n"
