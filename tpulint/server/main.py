"""The language server: what it does when something changes, how it starts, and how it ends."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

from lsprotocol import types
from pygls.capabilities import get_capability

from tpulint.config.readers import ConfigError
from tpulint.server import diagnostics, hints
from tpulint.server.language_server import Server
from tpulint.server.project import is_configuration, settings_of

# Documents, files, folders and settings that change.

PATTERNS = (
    "**/*.{py,pyi,ipynb}",
    "**/{.gitignore,Pipfile,README.md}",
    "**/*.{toml,cfg,txt,in,yml,yaml}",
)


def initialize(ls: Server, params: types.InitializeParams) -> None:
    take_settings(ls, params.initialization_options)


async def initialized(ls: Server, params: types.InitializedParams) -> None:
    """Read the folders, and ask the client to say when a file changes."""
    ls.every_folder()
    way = "workspace.did_change_watched_files.dynamic_registration"
    if not get_capability(ls.client_capabilities, way):
        return
    watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in PATTERNS]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    registration = types.Registration(id="files", method=method, register_options=options)
    await ls.client_register_capability_async(types.RegistrationParams([registration]))
    ls.watched = True


def changed_text(
    ls: Server, params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams
) -> None:
    ls.change(params.text_document.uri)


def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """Take the disk's text again, and take away what was pushed."""
    uri = params.text_document.uri
    path = ls.documents.path(uri)
    if path is not None and (scheduled := ls.scheduled.get(ls.root_of(path))):
        scheduled.change()
    if get_capability(ls.client_capabilities, "text_document.diagnostic") is None:
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def saved(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    path = ls.documents.path(params.text_document.uri)
    if path is not None:
        look_at(ls, path)


def changed_notebook(
    ls: Server,
    params: types.DidOpenNotebookDocumentParams
    | types.DidChangeNotebookDocumentParams
    | types.DidCloseNotebookDocumentParams,
) -> None:
    path = ls.documents.path(params.notebook_document.uri)
    if path is not None:
        ls.scheduled_of(path).change()


def changed_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    """Look at the disk again; after a change of the configuration, start from scratch."""
    for change in params.changes:
        if path := ls.documents.path(change.uri):
            look_at(ls, path)


def look_at(ls: Server, path: str) -> None:
    """Note that a file on the disk has changed, came or went."""
    above = is_configuration(path)
    for root, scheduled in ls.scheduled.items():
        inside = path == root or path.startswith(os.path.join(root, ""))
        # A configuration counts for what is below it, a project in its folder included.
        if above and (inside or root.startswith(os.path.join(os.path.dirname(path), ""))):
            scheduled.change(partial(scheduled.project.configure, ls.settings))
        elif inside:
            scheduled.change(scheduled.project.look_again)


def changed_folders(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    ls.change_folders()


def changed_settings(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    if params.settings:  # some clients send nothing: there is nothing to change
        take_settings(ls, params.settings)
        ls.configure()


def take_settings(ls: Server, settings: object) -> None:
    """Take the client's settings, or say what is wrong with them."""
    try:
        ls.settings = settings_of(settings)
    except ConfigError as error:
        ls.show_error(f"settings: {error}")


def serve(port: int | None = None) -> int:
    """Serve one client on standard input and output, or on a TCP port of this machine.

    The answer is the exit status: 1 where the client went without a word.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it: no thread is waited for
    gc.disable()
    server = Server(diagnostics.publish)
    for method, feature, options in FEATURES:
        server.feature(method, options)(feature)
    if port is not None:
        server.start_tcp("127.0.0.1", port)
    else:
        # Nothing but the protocol may write there: one line of another would end it.
        stdout, sys.stdout = sys.stdout, sys.stderr
        server.start_io(sys.stdin.buffer, stdout.buffer)
    return server.exit_status


def shut_down(ls: Server, params: None) -> None:
    ls.exit_status = 0


def leave(ls: Server, params: None) -> None:
    """End at once: a thread waits for input that will not come, another may be analyzing."""
    sys.stderr.flush()
    os._exit(ls.exit_status)


FEATURES: tuple[tuple[str, Callable[..., object], object], ...] = (
    (types.INITIALIZE, initialize, None),
    (types.INITIALIZED, initialized, None),
    (types.TEXT_DOCUMENT_DID_OPEN, changed_text, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, changed_text, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, closed, None),
    (types.TEXT_DOCUMENT_DID_SAVE, saved, None),
    (types.NOTEBOOK_DOCUMENT_DID_OPEN, changed_notebook, None),
    (types.NOTEBOOK_DOCUMENT_DID_CHANGE, changed_notebook, None),
    (types.NOTEBOOK_DOCUMENT_DID_CLOSE, changed_notebook, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, changed_files, None),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, changed_folders, None),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, changed_settings, None),
    (types.TEXT_DOCUMENT_DIAGNOSTIC, diagnostics.pull, diagnostics.OPTIONS),
    (types.WORKSPACE_DIAGNOSTIC, diagnostics.pull_all, None),
    (types.TEXT_DOCUMENT_CODE_ACTION, diagnostics.actions, diagnostics.ACTION_OPTIONS),
    (types.TEXT_DOCUMENT_HOVER, hints.hover, None),
    (types.TEXT_DOCUMENT_CODE_LENS, hints.lenses, types.CodeLensOptions()),
    (types.TEXT_DOCUMENT_INLAY_HINT, hints.hints, types.InlayHintOptions()),
    (types.SHUTDOWN, shut_down, None),
    (types.EXIT, leave, None),
)
