"""The connections of a program: a proxy that answers for Google Cloud Storage, and no one else.

TensorFlow's libcurl asks it for a tunnel. One to Google's storage ends here, with a certificate of
this run's own authority; any other is handed through, byte for byte.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import select
import selectors
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from typing import Any
from urllib.parse import unquote, urlsplit

from tpulint.storage.activity import Activity
from tpulint.storage.api import Answer, BrokenBodyError, StorageApi, StorageRequest, bucket_of
from tpulint.storage.cloud import CloudStorage
from tpulint.storage.objects import ObjectStore

HOSTS = frozenset({"www.googleapis.com", "storage.googleapis.com"})
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
AGENT = "TSL"
"""How TensorFlow's C++ calls itself to a proxy."""
SECONDS = 120.0
"""A connection on which nothing happens for so long is closed."""
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class ProxySettings:
    """What connections need: the service, its certificate, the token, and the user's own proxy."""

    api: StorageApi
    activity: Activity
    tls: ssl.SSLContext
    token: str
    environment: Mapping[str, str]


class StorageConnection(BaseHTTPRequestHandler):
    """One connection: plain HTTP of a Python client, or a tunnel."""

    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    rbufsize = 1 << 18
    disable_nagle_algorithm = True

    def __init__(self, connection: socket.socket, settings: ProxySettings) -> None:
        self.settings = settings
        self.host: str | None = None
        super().__init__(connection, connection.getpeername(), None)  # type: ignore[arg-type]

    def do_CONNECT(self) -> None:
        self.close_connection = True
        expected = b"Basic " + base64.b64encode(f":{self.settings.token}".encode())
        authorization = self.headers.get("Proxy-Authorization", "").encode()
        if not hmac.compare_digest(authorization, expected):
            self.send_error(407)
            return
        host, _, port = self.path.rpartition(":")
        if host in HOSTS and self.headers.get("User-Agent", "").startswith(AGENT):
            self.wfile.write(ESTABLISHED)
            # This is the host that was asked for, from here on.
            self.host = host
            self.request = self.settings.tls.wrap_socket(self.connection, server_side=True)
            self.setup()
            self.close_connection = False
        else:
            self._hand_through(host, int(port or 443))

    def finish(self) -> None:
        super().finish()
        with contextlib.suppress(OSError):
            if isinstance(self.connection, ssl.SSLSocket):
                self.connection.close()

    def answer(self) -> None:
        """Answer a request to the service."""
        target, base = self.path, f"https://{self.host}"
        if self.host is None:
            prefix = f"/{self.settings.token}"
            begin, _, rest = self.path.lstrip("/").partition("/")
            if not hmac.compare_digest(unquote(begin).encode(), self.settings.token.encode()):
                self.close_connection = True
                self.send_error(401)
                return
            target, base = f"/{rest}", f"http://{self.headers.get('Host', '')}{prefix}"
        headers = {name.title(): value for name, value in self.headers.items()}
        body = _Body(self.rfile, headers)
        request = StorageRequest(self.command, target, headers, body.read, base, not self.host)
        with self.settings.activity.request(bucket_of(target)):
            try:
                answer = self.settings.api.answer(request)
                body.skip()
            except BrokenBodyError:
                self.close_connection = True
                return
            with answer.file or contextlib.nullcontext():
                self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

    def _send(self, answer: Answer) -> None:
        file = answer.file
        length = answer.length if file is not None else len(answer.body)
        lines = [f"HTTP/1.1 {answer.status} {'OK' if answer.status < 300 else 'Answer'}"]
        headers = {**answer.headers, "Content-Length": str(length)}
        if answer.status == 204:
            del headers["Content-Length"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        if file is None or self.command == "HEAD":
            self.wfile.write(head if self.command == "HEAD" else head + answer.body)
            return
        self.wfile.write(head)
        block, left = memoryview(bytearray(min(_BLOCK_BYTES, length))), length
        while left:
            size = file.readinto(block[: min(left, len(block))])
            if not size:  # someone has cut the file
                self.close_connection = True
                return
            self.wfile.write(block[:size])
            left -= size

    def _hand_through(self, host: str, port: int) -> None:
        """Connect to another host, by the user's own proxy if there is one, and pass all on."""
        try:
            remote = self._connected(host, port)
        except (OSError, ValueError):
            self.send_error(502)
        else:
            with remote:
                self.wfile.write(ESTABLISHED)
                _pass_on(self.connection, remote)

    def _connected(self, host: str, port: int) -> socket.socket:
        environment = self.settings.environment
        proxy = environment.get("https_proxy") or environment.get("HTTPS_PROXY")
        excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        is_excepted = urllib.request.proxy_bypass_environment(host, {"no": excepted})  # type: ignore[attr-defined]
        if not proxy or is_excepted:
            return socket.create_connection((host.strip("[]"), port), SECONDS)
        parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        remote = socket.create_connection((parts.hostname or "", parts.port or 80), SECONDS)
        lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
        if parts.username or parts.password:
            user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}")
        remote.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = remote.recv(1)  # what comes after the head is the client's
            if not byte or len(head) > 1 << 16:
                raise OSError("the proxy has closed the connection")
            head += byte
        if b" 200" not in head.split(b"\r\n", 1)[0]:
            raise OSError("the proxy has refused the connection")
        return remote

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the output is the program's."""


class _Body:
    """The body of a request, which is chunked or has a length.

    TensorFlow announces both for a chunked one.
    """

    def __init__(self, file: BufferedIOBase, headers: Mapping[str, str]) -> None:
        self.file = file
        self.is_chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
        self.left = 0 if self.is_chunked else int(headers.get("Content-Length") or 0)
        self.is_at_end = not self.is_chunked and not self.left
        self._block = memoryview(b"")
        self._broken: BrokenBodyError | None = None

    def read(self, size: int) -> memoryview:
        """Return `size` bytes, or those until the end, in memory that the next call uses again.

        A chunk is of TensorFlow's size. Files are written faster in few large parts, whose ends
        are those of pages.
        """
        if len(self._block) < size:
            self._block = memoryview(bytearray(size))
        filled = 0
        while filled < size and not self.is_at_end:
            if self._broken is None:
                try:
                    filled += self._read_into(self._block[filled:size])
                    continue
                except (OSError, EOFError, ValueError) as error:
                    self._broken = BrokenBodyError(str(error))
            if filled:  # it counts, and the next call raises
                break
            raise self._broken
        return self._block[:filled]

    def _read_into(self, block: memoryview) -> int:
        """Read some bytes, all of one chunk; none if the body has ended."""
        if self.is_chunked and not self.left:
            self.left = int(self.file.readline(1024).partition(b";")[0], 16)
            if not self.left:
                self.is_at_end = True
                while self.file.readline(1 << 16) not in (b"\r\n", b"\n", b""):
                    pass
                return 0
        number = self.file.readinto(block[: self.left])
        if not number:
            raise EOFError("the connection has ended within a request")
        self.left -= number
        if not self.is_chunked:
            self.is_at_end = not self.left
        elif not self.left:
            self.file.readline(1024)
        return number

    def skip(self) -> None:
        """Read what nobody has asked for: the next request comes after it."""
        while self.read(_BLOCK_BYTES):
            pass


def _pass_on(here: socket.socket, remote: socket.socket) -> None:
    """Pass bytes on in both directions until one side ends, or nothing comes."""
    others = {here: remote, remote: here}
    with selectors.DefaultSelector() as selector:
        for side in others:
            side.settimeout(SECONDS)
            selector.register(side, selectors.EVENT_READ)
        deadline = time.monotonic() + SECONDS
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                for key, _ in selector.select(SECONDS):
                    data = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                    if not data:
                        return
                    others[key.fileobj].sendall(data)  # type: ignore[index]
                    deadline = time.monotonic() + SECONDS


# The server: a thread for each connection, until the run ends.


def serve(listener: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
    """Serve `listener` until standard input says so or ends, and return what was used."""
    store = ObjectStore(request["folder"], is_default=request["is_default"])
    environment = request["environment"]
    api = StorageApi(store, CloudStorage(environment) if request["reads_cloud"] else None)
    context = certify(request["authority"], environment)
    activity = Activity(request["activity"])
    settings = ProxySettings(api, activity, context, request["token"], environment)
    try:
        ends = [0, listener.fileno()]
        while 0 not in (readable := select.select(ends, [], [])[0]):
            for _ in readable:
                connection, _address = listener.accept()
                threading.Thread(target=_take, args=(connection, settings), daemon=True).start()
    finally:
        store.close()
    buckets = {
        bucket: [len(use.read), use.bytes_read, len(use.written), use.bytes_written]
        for bucket, use in sorted(api.uses.items())
    }
    return {"buckets": buckets, "problems": list(api.problems), "slots": activity.buckets}


def _take(connection: socket.socket, settings: ProxySettings) -> None:
    """Answer the requests of a connection; the program sees if it breaks."""
    with connection, contextlib.suppress(OSError):
        StorageConnection(connection, settings)


def certify(path: str, environment: dict[str, str]) -> ssl.SSLContext:
    """Make an authority, and write it to `path`, and with those that the machine trusts beside it.

    The key is of an elliptic curve: each request is a new connection.
    """
    import trustme

    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    certificate = authority.issue_cert(*sorted(HOSTS), key_type=trustme.KeyType.ECDSA)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0  # no connection is resumed
    certificate.configure_cert(context)
    own = authority.cert_pem.bytes()
    for name, content in ((f"{path}.all", own + trusted_authorities(environment)), (path, own)):
        with open(name, "wb") as file:
            file.write(content)
    return context


def trusted_authorities(environment: dict[str, str]) -> bytes:
    """Return the authorities that the user's programs trust."""
    places = [environment.get("CURL_CA_BUNDLE"), ssl.get_default_verify_paths().cafile]
    with contextlib.suppress(ImportError):
        import certifi

        places.append(certifi.where())
    for place in filter(None, places):
        with contextlib.suppress(OSError), open(place, "rb") as file:
            return file.read()
    return b""
