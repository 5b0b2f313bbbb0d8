"""The server: a thread for each connection, until the run ends."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from typing import Any

from tpulint.storage.api import StorageApi
from tpulint.storage.cloud import CloudStorage
from tpulint.storage.objects import ObjectStore
from tpulint.storage.proxy import HOSTS, ProxySettings, StorageConnection


def serve(listener: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
    """Serve `listener` until standard input says so or ends, and return what was used."""
    store = ObjectStore(request["folder"], is_default=request["is_default"])
    environment = request["environment"]
    api = StorageApi(store, CloudStorage(environment) if request["reads_cloud"] else None)
    context = certify(request["authority"], environment)
    settings = ProxySettings(api, context, request["token"], environment)
    try:
        ends = [0, listener.fileno()]
        while 0 not in (readable := select.select(ends, [], [])[0]):
            for _ in readable:
                connection, _address = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_take, args=(connection, settings), daemon=True).start()
    finally:
        store.close()
    return used(api)


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
    for name, content in ((with_others(path), own + trusted_authorities(environment)), (path, own)):
        with open(name, "wb") as file:
            file.write(content)
    return context


def with_others(path: str) -> str:
    """Return the file with the authorities that the machine trusts, too."""
    return f"{path}.all"


def trusted_authorities(environment: dict[str, str]) -> bytes:
    """Return the authorities that the user's programs trust."""
    places = [environment.get("CURL_CA_BUNDLE"), ssl.get_default_verify_paths().cafile]
    with contextlib.suppress(ImportError):
        import certifi

        places.append(certifi.where())
    for place in places:
        if place:
            with contextlib.suppress(OSError), open(place, "rb") as file:
                return file.read()
    return b""


def used(api: StorageApi) -> dict[str, Any]:
    """Return what the report says about the buckets."""
    buckets = {
        bucket: [len(use.read), use.bytes_read, len(use.written), use.bytes_written]
        for bucket, use in sorted(api.uses.items())
    }
    return {"buckets": buckets, "problems": list(api.problems)}
