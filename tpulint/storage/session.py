"""A run's storage: the variables that lead TensorFlow to the server, and the server's start."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import secrets
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tpulint.storage.activity import Activity
from tpulint.storage.objects import ObjectStore, StorageProblem

DEFAULT_FOLDER = ".tpulint_storage"
CLOUD = "cloud"
PYTHON_VARIABLE = "STORAGE_EMULATOR_HOST"
AT_IMPORT = {
    # TensorFlow clears a block of 64 MB for the smallest file.
    "GCS_READ_CACHE_BLOCK_SIZE_MB": "4",
    # The server's answers are final. TensorFlow tries again only where there is none, and so gives
    # up after a few seconds, not after three minutes.
    "GCS_RETRY_CONFIG_INIT_DELAY_TIME_US": "100000",
    "GCS_RETRY_CONFIG_MAX_DELAY_TIME_US": "1000000",
    "GCS_RETRY_CONFIG_MAX_RETRIES": "4",
}
"""What TensorFlow reads at its import, unless the user has set it."""
# For a server that has a share of a busy machine; an idle one answers at once.
_ANSWER_SECONDS = 60.0


class StorageUse(NamedTuple):
    """What a run did with one bucket, and how many steps waited for it, for how long."""

    bucket: str
    objects_read: int
    bytes_read: int
    objects_written: int
    bytes_written: int
    steps_waited: int = 0
    seconds_waited: float = 0.0


class ServedStorage:
    """`gs://` of this process and of those that it starts, in `folder`, until `close`.

    reads_cloud: what is missing there is copied from the cloud, which is only read.
    """

    def __init__(self, folder: str | None = None, *, reads_cloud: bool = False) -> None:
        self.folder = os.path.abspath(DEFAULT_FOLDER if folder is None else folder)
        self.token = secrets.token_hex(16)
        self.uses: tuple[StorageUse, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.refused: dict[str, None] = {}
        """What was said of the commands that would have asked the cloud."""
        self.is_open = True
        self._process = os.getpid()
        private = self._private = tempfile.mkdtemp(prefix="tpulint-storage-")
        authority = os.path.join(private, "authorities.pem")
        self.activity = Activity(os.path.join(private, "activity"))
        with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
            self.port = listener.getsockname()[1]
            listener.set_inheritable(True)
            request = {
                "folder": self.folder,
                "is_default": folder is None,
                "reads_cloud": reads_cloud,
                "listener": listener.fileno(),
                "token": self.token,
                "private": private,
                "authority": authority,
                "activity": os.path.join(private, "activity"),
                "path": [os.path.dirname(os.path.dirname(_HERE)), *sys.path],
                "environment": dict(os.environ),
            }
            self._server = subprocess.Popen(
                [sys.executable, "-I", "-S", os.path.join(_HERE, "process.py")],
                stdin=subprocess.PIPE,  # its end is the end of this process
                stdout=subprocess.PIPE,
                env=dict(os.environ),
                pass_fds=[listener.fileno()],
                start_new_session=True,  # Ctrl-C is for the program
            )
        self._tell(json.dumps(request).encode() + b"\n")
        self._variables = {
            "https_proxy": f"http://:{self.token}@127.0.0.1:{self.port}",
            "CURL_CA_BUNDLE": authority,
            "NO_GCE_CHECK": "true",
            # Nobody reads the user's credentials, and nobody exchanges them.
            "GOOGLE_AUTH_TOKEN_FOR_TESTING": "local",
            **{name: os.environ.get(name, value) for name, value in AT_IMPORT.items()},
            **_other_exceptions(os.environ),
        }
        _install_watch()
        _serving.append(self)
        _set_variables()
        # Google's clients for Python, and what is built on them (fsspec), ask the server, too.
        self._python_address = f"http://127.0.0.1:{self.port}/{self.token}"
        self._python_before = os.environ.get(PYTHON_VARIABLE)
        os.environ[PYTHON_VARIABLE] = self._python_address
        # gcsfs asks another service, which only the cloud has, what kind a bucket is.
        os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")

    def environment_of_others(self) -> dict[str, str]:
        """Return the variables for a program that asks other hosts as well."""
        return {**self._variables, "CURL_CA_BUNDLE": f"{self._variables['CURL_CA_BUNDLE']}.all"}

    def environment(self) -> dict[str, str]:
        return dict(self._variables)

    def place_of_missing(self, path: str) -> str | None:
        """Return where `path` ("gs://bucket/object", or a bucket) belongs; None if it is there."""
        bucket, _, name = path.removeprefix("gs://").partition("/")
        store = ObjectStore(self.folder)
        with contextlib.suppress(StorageProblem):
            if not name:
                return None if store.has_bucket(bucket) else os.path.join(store.folder, bucket)
            if store.has(bucket, name) or any(store.list(bucket, f"{name}/")):
                return None
        with contextlib.suppress(StorageProblem):  # no such names
            return store.path_of(bucket, name) if name else None
        return None

    def refuse(self, command: str) -> None:
        """Keep the program from starting a command that would ask the cloud."""
        reason = (
            f"`{command}` was not started: it asks the cloud, with your credentials, and does not "
            f"see {self.folder}. Use tf.io.gfile (copy, glob, remove), which does, or `--storage "
            "cloud`, which leaves gs:// alone"
        )
        self.refused[reason] = None
        raise CloudCommandError(reason)

    def close(self) -> None:
        """End the server, and learn what it did."""
        if not self.is_open or self._process != os.getpid():
            return
        self.is_open = False
        _serving.remove(self)
        for name in self._variables:
            os.unsetenv(name)
            if name in os.environ:
                os.putenv(name, os.environ[name])
        _set_variables()
        if os.environ.get(PYTHON_VARIABLE) == self._python_address:
            del os.environ[PYTHON_VARIABLE]
            if self._python_before is not None:
                os.environ[PYTHON_VARIABLE] = self._python_before
        died = self._server.poll()
        self._tell(b"end\n")
        answer = self._answer()
        self.uses = tuple(StorageUse(name, *use) for name, use in answer.get("buckets", {}).items())
        self.problems = (*answer.get("problems", ()), *self.refused)
        self.activity.buckets = answer.get("slots", {})
        if died is not None:
            how = f"was ended by signal {-died}" if died < 0 else f"ended with status {died}"
            problem = (
                f"gs://: the process that serves {self.folder} {how} before the program did: "
                "requests failed from then on. Objects are there as a whole or not at all; run the "
                "program again"
            )
            self.problems += (problem,)
            shutil.rmtree(self._private, ignore_errors=True)

    def _tell(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            assert self._server.stdin is not None
            self._server.stdin.write(line)
            self._server.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        """Return the server's last words; nothing if it has none, or takes too long."""
        out = self._server.stdout
        assert out is not None
        deadline, received = time.monotonic() + _ANSWER_SECONDS, b""
        while (left := deadline - time.monotonic()) > 0 and select.select([out], [], [], left)[0]:
            block = os.read(out.fileno(), 1 << 16)
            if not block:
                break
            received += block
        else:
            self._server.kill()
        self._server.wait()
        answer: dict[str, Any] = {}
        with contextlib.suppress(ValueError):  # half of it
            answer = json.loads(received)
        return answer


_serving: list[ServedStorage] = []
"""The storage that is open in this process, opened last last."""


def storage_environment() -> dict[str, str]:
    """Return the variables for a process that is started with an environment of its own."""
    return _serving[-1].environment() if _serving else {}


def _set_variables() -> None:
    """Set what libcurl and TensorFlow read, and Python does not: `os.environ` stays as it is.

    Other clients of this process, as urllib, find the world as it was.
    """
    for name, value in storage_environment().items():
        os.putenv(name, value)


# TensorFlow reads all of the authorities for each request, which takes longer than the rest of
# it. So its own are few, and those of the machine are added while another program is started: that
# one inherits the variable, and has to trust the rest of the world.

_STARTING = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn"})
_starting: set[int] = set()
"""The threads that are about to start a program."""


@functools.cache
def _install_watch() -> None:
    """Watch what this process starts, once: Python removes no audit hook."""
    # The hook is called until the interpreter ends, when the names of a module are None already.
    events, threads = _STARTING, _starting
    current = threading.get_ident

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        """Change the variable before a program starts, and back at the thread's next event."""
        if event in events:
            if _serving:
                if command := cloud_command(event, arguments):
                    _serving[-1].refuse(command)
                # The call is an event, too.
                os.putenv("CURL_CA_BUNDLE", _serving[-1].environment_of_others()["CURL_CA_BUNDLE"])
                threads.add(current())
        elif threads and current() in threads:
            threads.discard(current())
            if not threads:
                _set_variables()

    sys.addaudithook(watch)


class CloudCommandError(PermissionError):
    """A program would start `gsutil` or `gcloud storage`, which ask the cloud."""


_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
_SHELL_WORDS = {"if", "then", "else", "elif", "do", "while", "until", "!", "{"}
_BEFORE_COMMANDS = frozenset({*_SHELL_WORDS, "sudo", "time", "exec", "env", "nohup"})
_ENDS_OF_COMMANDS = ";&|()`"
# What these do needs no bucket.
_ABOUT_GSUTIL = frozenset({"version", "--version", "help", "--help", "config", "update"})


def cloud_command(event: str, arguments: tuple[Any, ...]) -> str | None:
    """Return the command for Google's storage that an event of Python is about to start."""
    if event == "os.system":
        return _in_shell(os.fsdecode(arguments[0]))
    words = arguments[2 if event == "os.spawn" else 1]
    command = [os.fsdecode(word) for word in words]
    if command and os.path.basename(command[0]) in _SHELLS:
        texts = (
            text
            for option, text in itertools.pairwise(command[:4])
            if option in ("-c", "-lc", "-ec")
        )
        return _in_shell(next(texts, ""))
    return " ".join(command) if _asks_cloud(command) else None


def _in_shell(text: str) -> str | None:
    """Return the first command of a shell's text that asks the cloud."""
    lexer = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=_ENDS_OF_COMMANDS)
    lexer.whitespace_split, lexer.commenters = True, ""
    command: list[str] = []
    with contextlib.suppress(ValueError):  # a quotation that does not end
        for word in [*lexer, ";"]:
            if not set(word) <= set(_ENDS_OF_COMMANDS):
                command.append(word)
            elif _asks_cloud(command):
                return " ".join(command)
            else:
                command = []
    return None


def _asks_cloud(command: Sequence[str]) -> bool:
    """Return whether the words are a call of `gsutil` or of `gcloud storage`."""
    words = list(command)
    while words and (words[0] in _BEFORE_COMMANDS or re.match(r"\w+=", words[0])):
        del words[0]
    program = os.path.basename(words[0]) if words else ""
    if program == "gsutil":
        return not _ABOUT_GSUTIL.intersection(words[1:2])
    if program != "gcloud" or "storage" not in words:
        return False
    before = words[1 : words.index("storage")]
    return all(
        word.startswith("-") or word in ("alpha", "beta") or previous.startswith("-")
        for previous, word in zip(["", *before], before, strict=False)
    )


_HOSTS = ("storage.googleapis.com", "www.googleapis.com")


def _other_exceptions(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the hosts that need no proxy, without Google's storage: none would come here."""
    named = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    hosts = named.replace(",", " ").split()
    others = [
        host for host in hosts if not any(name.endswith(host.lstrip("*.")) for name in _HOSTS)
    ]
    # libcurl takes an empty variable for none.
    return {"no_proxy": ",".join(others) or "localhost"} if named else {}


@contextlib.contextmanager
def serving(folder: str | None, *, reads_cloud: bool = False) -> Iterator[ServedStorage | None]:
    """Serve `gs://` in the context: from `folder`, or the default one; not if it is "cloud"."""
    if folder == CLOUD:
        yield None
        return
    served = ServedStorage(folder, reads_cloud=reads_cloud)
    try:
        yield served
    finally:
        served.close()


_HERE = os.path.dirname(os.path.abspath(__file__))
