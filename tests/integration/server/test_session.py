"""A session from its beginning to its end: folders, configurations, notebooks, cancelling."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

from tests.integration.server.editor import (
    COMMAND,
    DEADLINE,
    ROOT,
    applied,
    codes,
    editor,
    named,
    run,
    spot,
    write,
)
from tests.integration.server.test_diagnostics import LAYERS, TRAINER, project

NAMED = """\
import tensorflow.compat.v1 as tf

y = tf.tpu.rewrite(lambda x: 2 * x, [1.0], name="twice")
"""


def test_each_folder_has_its_own_configuration_and_the_closest_one_counts(tmp_path: Path) -> None:
    files = {"README.md": "", "named.py": NAMED, "inner/named.py": NAMED}
    ignoring = 'ignore = ["TPU405"]\n'
    write(tmp_path / "one", {**files, "inner/tpulint.toml": ignoring})
    write(tmp_path / "two", {**files, "tpulint.toml": ignoring, "inner/tpulint.toml": ""})

    async def scenario() -> None:
        async with editor(tmp_path / "one", tmp_path / "two") as it:
            actual = {}
            for name in (
                "one/named.py",
                "one/inner/named.py",
                "two/named.py",
                "two/inner/named.py",
            ):
                actual[name] = await it.found(it.open(tmp_path / name))
            assert {name for name, value in actual.items() if value} == {
                "one/named.py",
                "two/inner/named.py",
            }
            event = types.WorkspaceFoldersChangeEvent(
                added=[], removed=[types.WorkspaceFolder((tmp_path / "two").as_uri(), "two")]
            )
            it.client.workspace_did_change_workspace_folders(
                types.DidChangeWorkspaceFoldersParams(event)
            )
            answer = await it.asked(
                it.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
            )
            assert [item.uri for item in answer.items] == [(tmp_path / "one/named.py").as_uri()]

    run(scenario)


def test_a_changed_configuration_counts_at_once(tmp_path: Path) -> None:
    write(tmp_path, {"README.md": "", "named.py": NAMED})
    file = tmp_path / "tpulint.toml"

    async def scenario() -> None:
        async with editor(tmp_path, watches=True) as it:
            uri = it.open(tmp_path / "named.py")
            assert await it.found(uri) == [("TPU405", 3)]
            file.write_text('ignore = ["TPU405"]\n', encoding="utf-8")
            it.touched(file, how=types.FileChangeType.Created)
            assert await it.found(uri) == []
            file.write_text("ignroe = []\n", encoding="utf-8")
            it.touched(file)
            await it.found(uri)
            await it.until(lambda: it.client.messages)
            assert "did you mean 'ignore'?" in it.client.messages[-1].message
            file.unlink()
            it.touched(file, how=types.FileChangeType.Deleted)
            assert await it.found(uri) == [("TPU405", 3)]

    run(scenario)


def test_files_that_change_on_the_disk_count_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path), watches=True) as it:
            uri = it.open(tmp_path / "trainer.py")
            layers = tmp_path / "layers.py"
            assert await it.found(uri)
            layers.write_text("def advance(total, loss):\n    return loss + 0\n", encoding="utf-8")
            it.touched(layers)
            assert await it.found(uri) == []
            layers.unlink()
            it.touched(layers, how=types.FileChangeType.Deleted)
            assert await it.found(uri) == []
            layers.write_text(LAYERS, encoding="utf-8")
            it.touched(layers, how=types.FileChangeType.Created)
            assert await it.found(uri)

    run(scenario)


def test_the_editors_own_settings_count_over_the_files(tmp_path: Path) -> None:
    unsure = """\
import tensorflow as tf
from somewhere import strategy


def step(x):
    return tf.compat.v1.tpu.outside_compilation(lambda y: step(y), x)


strategy.run(step, args=(1,))
"""

    async def scenario() -> None:
        write(tmp_path, {"README.md": "", "unsure.py": unsure})
        async with editor(tmp_path) as it:
            assert await it.found(it.open(tmp_path / "unsure.py")) == []
        async with editor(tmp_path, options={"certainty": "possible"}) as it:
            (diagnostic, *_) = (await it.pull(it.open(tmp_path / "unsure.py"))).items
            assert diagnostic.message.endswith("(possible)")
            assert diagnostic.severity == types.DiagnosticSeverity.Warning
        async with editor(tmp_path, options={"certainty": "perhaps"}) as it:
            await it.until(lambda: it.client.messages)
            assert "'perhaps' is not one of" in it.client.messages[0].message

    run(scenario)


def test_a_notebook_is_reported_by_cell(tmp_path: Path) -> None:
    parts = TRAINER.split("\n\n\n")
    uri = (tmp_path / "train.ipynb").as_uri()
    cells = [f"vscode-notebook-cell:train#{number}" for number in range(len(parts) + 1)]
    magic = "%matplotlib inline\nx = 1  # noqa: TPU101"

    async def scenario() -> None:
        write(tmp_path, {"README.md": "", "layers.py": LAYERS})
        async with editor(tmp_path) as it:
            it.client.notebook_document_did_open(
                types.DidOpenNotebookDocumentParams(
                    types.NotebookDocument(
                        uri,
                        "jupyter-notebook",
                        1,
                        [types.NotebookCell(types.NotebookCellKind.Markup, "markup:0")]
                        + [
                            types.NotebookCell(types.NotebookCellKind.Code, cell_text)
                            for cell_text in cells
                        ],
                    ),
                    [
                        types.TextDocumentItem(cell, "python", 1, text)
                        for cell, text in zip(cells, [magic, *parts])
                    ],
                )
            )
            (diagnostic,) = await it.pushed(cells[2], bool)
            assert diagnostic.code == "TPU101"
            assert diagnostic.range == spot(parts[1], "self.total.read_value()")
            lines = {related.location.uri for related in diagnostic.related_information or ()}
            assert cells[2] in lines
            assert cells[3] not in lines
            assert codes(await it.pushed(cells[0], bool)) == [("TPU002", 2)]
            fix, *_ = await it.actions(cells[0], spot(magic, "# noqa: TPU101"))
            assert applied(magic, fix.edit, cells[0]) == "%matplotlib inline\nx = 1"
            change = types.NotebookDocumentCellContentChanges(
                document=types.VersionedTextDocumentIdentifier(2, cells[2]),
                changes=[
                    types.TextDocumentContentChangePartial(
                        range=spot(parts[1], "self.total.read_value()"), text="2.0"
                    )
                ],
            )
            it.client.notebook_document_did_change(
                types.DidChangeNotebookDocumentParams(
                    types.VersionedNotebookDocumentIdentifier(version=2, uri=uri),
                    types.NotebookDocumentChangeEvent(
                        cells=types.NotebookDocumentCellChanges(text_content=[change])
                    ),
                )
            )
            await it.pushed(cells[2], lambda here: not here)

    run(scenario)


def test_a_cancelled_request_is_answered_as_cancelled(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            uri = it.open(tmp_path / "trainer.py")
            await it.pull(uri)
            for number in range(20):
                it.edit(uri, f"x = {number}\n{TRAINER}")
                params = types.DocumentDiagnosticParams(named(uri))
                method = types.TEXT_DOCUMENT_DIAGNOSTIC
                ask = it.client.protocol.send_request_async(method, params, msg_id=f"p{number}")
                outdated = asyncio.ensure_future(ask)
                await asyncio.sleep(0)
                it.client.cancel_request(types.CancelParams(id=f"p{number}"))
                with pytest.raises(JsonRpcRequestCancelled):
                    await it.asked(outdated)
            assert await it.found(uri) == [("TPU101", 11)]

    run(scenario)


def test_half_written_code_is_reported_and_nothing_ends(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with editor(project(tmp_path)) as it:
            uri = it.open(tmp_path / "trainer.py")
            for text in ("def (", TRAINER[:200], "\0", "", "x = [" * 3000, "# coding: utf-7\n+"):
                it.edit(uri, text)
                await it.pull(uri)
                await it.hover(uri, 1, 1)
            it.edit(uri, f"def (\n{TRAINER}")
            assert await it.found(uri) == [("TPU001", 1)]
            it.edit(uri, TRAINER)
            assert await it.found(uri) == [("TPU101", 10)]

    run(scenario)


def test_a_file_outside_every_folder_is_checked_by_itself(tmp_path: Path) -> None:
    write(tmp_path / "folder", {"README.md": ""})
    write(tmp_path / "library", {"README.md": "", "named.py": NAMED})

    async def scenario() -> None:
        async with editor(tmp_path / "folder") as it:
            uri = it.open(tmp_path / "library/named.py")
            assert await it.found(uri) == [("TPU405", 3)]

    run(scenario)


def started() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)


def message(content: object) -> bytes:
    body = json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}


def test_it_ends_with_its_input() -> None:
    process = started()
    out, err = process.communicate(message(INITIALIZE), timeout=DEADLINE)
    assert process.returncode == 1  # nobody asked for the end
    assert b'"serverInfo"' in out
    assert err == b""


def test_exit_ends_it_while_its_input_is_open() -> None:
    process = started()
    assert process.stdin is not None
    process.stdin.write(message(INITIALIZE) + message({"jsonrpc": "2.0", "method": "exit"}))
    process.stdin.flush()
    assert process.wait(DEADLINE) == 1
    process.communicate()


def test_control_c_ends_it() -> None:
    process = started()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(message(INITIALIZE))
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE) == -signal.SIGINT
    process.communicate()


def test_it_serves_a_port(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([*COMMAND, "--tcp", str(port)], env=environment)
    try:
        for _ in range(1000):
            try:
                link = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
                break
            except ConnectionRefusedError:
                assert process.poll() is None
                time.sleep(0.05)
        with link:
            link.sendall(message(INITIALIZE))
            assert b"Content-Length" in link.recv(4096)
            link.sendall(message({"jsonrpc": "2.0", "method": "exit"}))
            assert process.wait(DEADLINE) == 1
    finally:
        process.kill()


def test_without_the_extra_it_says_what_to_install() -> None:
    script = (
        "import sys\n"
        "for name in ('pygls', 'lsprotocol'): sys.modules[name] = None\n"
        "from tpulint.cli.main import main\n"
        "sys.exit(main(['server']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    output = "tpulint: server: pygls is not installed: python -m pip install "
    assert done.stderr.startswith(output)
    assert done.stderr.endswith(f"'{ROOT}[lsp]'\n")
