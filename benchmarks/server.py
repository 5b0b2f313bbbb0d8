"""From a keystroke to its findings: a real server, driven over standard input and output.

    python benchmarks/server.py [--files 500] [--lines 1000] [--keystrokes 40] [--write]

A project is made, its long file opened, and digits are typed into a function of it, each as soon
as the findings of the last one have come. A keystroke breaks the program and the next one
repairs it, so that every answer differs from the one before. Measured is the time from the moment
when the change is sent to the moment when the findings have arrived and are read. `--write` puts
the result into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from benchmarks.analyzer import machine, write
from benchmarks.server_project import make

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- server: written by benchmarks/server.py -->", "<!-- end of server -->"
FAULT = "tf.py_function(lambda value: value, [outputs], tf.float32)"
GOAL = 150  # milliseconds


class Client:
    """The smallest client: it sends messages, and waits for those that it asks for."""

    def __init__(self, folder: Path) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-m", "tpulint", "server"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in: IO[bytes] = self.process.stdin
        self._out: IO[bytes] = self.process.stdout
        parameters: dict[str, object] = {
            "processId": None,
            "capabilities": {},
            "workspaceFolders": [{"uri": folder.as_uri(), "name": "project"}],
            "rootUri": folder.as_uri(),
        }
        self.send("initialize", parameters, 1)
        next(message for message in self.messages() if message.get("id") == 1)
        self.send("initialized", {})

    def send(self, method: str, parameters: object, number: int | None = None) -> None:
        content: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if number is not None:
            content["id"] = number
        body = json.dumps(content).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._in.flush()

    def messages(self) -> Iterator[Mapping[str, object]]:
        while True:
            length = 0
            while (line := self._out.readline().strip()) or not length:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            yield json.loads(self._out.read(length))

    def pushed(self, uri: str, version: int) -> Sequence[object]:
        """Wait for what is found in a version of a document."""
        for message in self.messages():
            if message.get("method") == "textDocument/publishDiagnostics":
                parameters = message["params"]
                assert isinstance(parameters, dict)
                if parameters["uri"] == uri and parameters.get("version") == version:
                    diagnostics = parameters["diagnostics"]
                    assert isinstance(diagnostics, list)
                    return diagnostics
        raise AssertionError("the server has ended")

    def busy(self) -> float:
        """Seconds of a core that the server has computed so far, where the system says so."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        user, system = fields.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self.send("shutdown", None, 2)
        self.send("exit", None)
        self.process.wait(30)


class Measured(NamedTuple):
    """Seconds to the first findings, to those of each keystroke, and of a core for each."""

    first: float
    seconds: list[float]
    busy: list[float]


def measured(root: Path, long: Path, keystrokes: int) -> Measured:
    text = long.read_text(encoding="utf-8")
    uri = long.as_uri()
    begun = time.perf_counter()
    client = Client(root)
    item = {"uri": uri, "languageId": "python", "version": 0, "text": text}
    client.send("textDocument/didOpen", {"textDocument": item})
    before = client.pushed(uri, 0)
    first = time.perf_counter() - begun
    lines = text.splitlines()
    row = next(number for number, line in enumerate(lines) if "tf.nn.dropout(" in line)
    column = lines[row].index("tf.nn.dropout(")
    end = column
    seconds, busy = [], []
    for number in range(1, keystrokes + 1):
        time.sleep(0.3)
        new = FAULT if number % 2 else lines[row][column:]
        end = len(lines[row]) if number == 1 else end
        change = {
            "range": {
                "start": {"line": row, "character": column},
                "end": {"line": row, "character": end},
            },
            "text": new,
        }
        end = column + len(new)
        document = {"uri": uri, "version": number}
        computed = client.busy()
        begun = time.perf_counter()
        client.send(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
        )
        pushed = client.pushed(uri, number)
        seconds.append(time.perf_counter() - begun)
        busy.append(client.busy() - computed)
        assert (pushed != before) == bool(number % 2), (number, pushed)
    client.end()
    return Measured(first, seconds, busy)


def report(files: int, lines: int, keystrokes: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        long = make(root, files, lines)
        first, seconds, busy = measured(root, long, keystrokes)
        size = len(long.read_text(encoding="utf-8").splitlines())
    milliseconds = sorted(1000 * second for second in seconds)
    median = statistics.median(milliseconds)
    most = milliseconds[int(0.95 * len(milliseconds))]
    verdict = "met" if median <= GOAL else "missed"
    return "\n".join(
        [
            f"Measured on {time.strftime('%Y-%m-%d')}: {machine()}.",
            "",
            f"A project of {files} files; {keystrokes} keystrokes in its file of {size:,} lines; "
            "the server's own pause of 20 ms for the next keystroke included.",
            "",
            "| from a keystroke to its findings | ms |",
            "|---|--:|",
            f"| median (goal: {GOAL}, {verdict}) | {median:.0f} |",
            f"| 95 of 100 | {most:.0f} |",
            f"| of a core, median | {1000 * statistics.median(busy):.0f} |",
            f"| from the start of the server to the first findings | {1000 * first:.0f} |",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--keystrokes", type=int, default=40)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = report(arguments.files, arguments.lines, arguments.keystrokes)
    print(text)
    if arguments.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
