"""Findings in the editor: diagnostics, and the actions that can be taken on them.

Diagnostics are pushed where the client does not pull them, and always to a notebook's cells.
Actions are a finding's fix, a suppression with a reason, and all safe fixes of a file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from lsprotocol import types
from pygls.capabilities import get_capability

from tpulint.codes import CODES
from tpulint.diagnostics.fix import apply, non_overlapping, with_edits
from tpulint.diagnostics.suppress import BEYOND, comment, comment_row, read_comments
from tpulint.finding import Applicability, Certainty, Edit, Finding, Fix, Severity, Span
from tpulint.server.documents import DocumentPlace, meet, range_in
from tpulint.server.language_server import Document, Server
from tpulint.server.project import ServerProject, Snapshot
from tpulint.source import Source

SOURCE = "tpulint"
OPTIONS = types.DiagnosticOptions(
    identifier=SOURCE, inter_file_dependencies=True, workspace_diagnostics=True
)
SEVERITIES = {
    (Severity.ERROR, Certainty.DEFINITE): types.DiagnosticSeverity.Error,
    (Severity.ERROR, Certainty.POSSIBLE): types.DiagnosticSeverity.Warning,
    (Severity.WARNING, Certainty.DEFINITE): types.DiagnosticSeverity.Warning,
    (Severity.WARNING, Certainty.POSSIBLE): types.DiagnosticSeverity.Information,
    (Severity.ERROR, Certainty.UNLIKELY): types.DiagnosticSeverity.Information,
    (Severity.WARNING, Certainty.UNLIKELY): types.DiagnosticSeverity.Hint,
    (Severity.PERFORMANCE, Certainty.DEFINITE): types.DiagnosticSeverity.Information,
    (Severity.PERFORMANCE, Certainty.POSSIBLE): types.DiagnosticSeverity.Hint,
    (Severity.PERFORMANCE, Certainty.UNLIKELY): types.DiagnosticSeverity.Hint,
}
TAGS = {"TPU002": types.DiagnosticTag.Unnecessary, "TPU405": types.DiagnosticTag.Deprecated}


async def pull(
    ls: Server, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    """Answer with what is found in the newest text."""
    document = await ls.document(params.text_document.uri)
    items: list[types.Diagnostic] = []
    if document is not None and document.place.cell is None:  # cells get theirs unasked
        items = in_document(ls, document.snapshot, document.place)
    result_id = id_of(items)
    if result_id == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=result_id)
    return types.RelatedFullDocumentDiagnosticReport(items=items, result_id=result_id)


async def pull_all(
    ls: Server, params: types.WorkspaceDiagnosticParams
) -> types.WorkspaceDiagnosticReport:
    """Answer with what is found in the files of all folders, and in those that had something."""
    before = {previous.uri: previous.value for previous in params.previous_result_ids}
    items_by_uri: dict[str, list[types.Diagnostic]] = {}
    for scheduled in ls.every_folder():
        snapshot = await scheduled.current()
        for path in snapshot.findings:
            if not path.endswith(".ipynb"):
                diagnostics = in_document(ls, snapshot, DocumentPlace(path))
                items_by_uri[ls.documents.uri(path)] = diagnostics
    items: list[types.WorkspaceDocumentDiagnosticReport] = []
    for uri in sorted({*items_by_uri, *before}):
        here = items_by_uri.get(uri, [])
        result_id, version = id_of(here), ls.documents.version(uri)
        if result_id == before.get(uri):
            items.append(
                types.WorkspaceUnchangedDocumentDiagnosticReport(
                    uri=uri, version=version, result_id=result_id
                )
            )
        else:
            items.append(
                types.WorkspaceFullDocumentDiagnosticReport(
                    uri=uri, version=version, items=here, result_id=result_id
                )
            )
    return types.WorkspaceDiagnosticReport(items=items)


def publish(ls: Server, project: ServerProject, snapshot: Snapshot) -> None:
    """Push what was found to the open documents of the project, or ask the client to pull."""
    pulls = get_capability(ls.client_capabilities, "text_document.diagnostic") is not None
    for uri, place in ls.documents.open():
        if ls.root_of(place.path) == project.root and (place.cell is not None or not pulls):
            diagnostics = in_document(ls, snapshot, place)
            version = ls.documents.version(uri)
            ls.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, diagnostics, version)
            )
    if pulls and get_capability(ls.client_capabilities, "workspace.diagnostics.refresh_support"):
        refresh(ls, project, snapshot)


def refresh(ls: Server, project: ServerProject, snapshot: Snapshot) -> None:
    """Ask the client to pull again where findings have changed since it was last asked.

    It pulls by itself for the text that it edits, and not for what else that changes.
    """
    result_ids = {
        uri: id_of(in_document(ls, snapshot, place))
        for uri, place in ls.documents.open()
        if place.cell is None and ls.root_of(place.path) == project.root
    }
    before = ls.refreshed.get(project.root)
    ls.refreshed[project.root] = result_ids
    if before is not None and any(
        before.get(uri, result_id) != result_id for uri, result_id in result_ids.items()
    ):
        ls.workspace_diagnostic_refresh(None)


def in_document(ls: Server, snapshot: Snapshot, place: DocumentPlace) -> list[types.Diagnostic]:
    """Return the diagnostics of one document: of a file, or of one cell of a notebook."""
    return [diagnostic_of(ls, snapshot, finding) for finding in findings_of(snapshot, place)]


def findings_of(snapshot: Snapshot, place: DocumentPlace) -> list[Finding]:
    source = snapshot.sources.get(place.path)
    return [
        finding
        for finding in snapshot.findings.get(place.path, ())
        if place.cell is None
        or (source is not None and source.place(finding.span.start.row)[0] == place.cell)
    ]


def diagnostic_of(ls: Server, snapshot: Snapshot, finding: Finding) -> types.Diagnostic:
    """Return the finding, with a related location for each step of each lane."""
    code = CODES[finding.code]
    is_sure = finding.certainty is Certainty.DEFINITE
    doubt = "" if is_sure else f" ({finding.certainty.value})"
    related = []
    for number, step in enumerate(finding.trace, 1):
        path = os.path.abspath(step.span.filename)
        read = snapshot.sources.get(path)
        cell = read.place(step.span.start.row)[0] if read is not None else None
        place = types.Location(ls.documents.uri(path, cell), range_in(read, step.span, ls.units))
        message = f"{number}. {step.lane}: {step.message}"
        related.append(types.DiagnosticRelatedInformation(location=place, message=message))
    source = snapshot.sources.get(os.path.abspath(finding.span.filename))
    return types.Diagnostic(
        range=range_in(source, finding.span, ls.units),
        message=finding.message + doubt,
        severity=SEVERITIES[code.severity, finding.certainty],
        code=finding.code,
        code_description=types.CodeDescription(href=code.url) if code.url else None,
        source=SOURCE,
        tags=[TAGS[finding.code]] if finding.code in TAGS else None,
        related_information=related or None,
    )


def id_of(items: Sequence[types.Diagnostic]) -> str:
    """Return the name of a result: equal results have equal names."""
    return hashlib.sha256(repr(items).encode()).hexdigest()[:16]


FIX_ALL = "source.fixAll.tpulint"
REASON = "TODO: say why"
ACTION_OPTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL])


async def actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Answer with what can be done about the findings in a range."""
    document = await ls.document(params.text_document.uri)
    if document is None:
        return []
    return await ls.worker.do(lambda: list(offered(ls, document, params)))


def offered(
    ls: Server, document: Document, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    """Yield the actions for the findings in the range, fixes before suppressions."""
    source = document.source
    if source is None:
        return
    edited = partial(workspace_edit, ls, document.place.path, source)
    only = params.context.only
    findings = findings_of(document.snapshot, document.place)
    here = [
        (finding, [diagnostic_of(ls, document.snapshot, finding)])
        for finding in findings
        if meet(range_in(source, finding.span, ls.units), params.range)
    ]
    if is_asked_for(types.CodeActionKind.QuickFix, only):
        for finding, diagnostics in here:
            fix = fix_of(finding, source)
            if fix is not None and apply(source, [fix])[1]:
                is_safe = fix.applicability is Applicability.SAFE
                yield types.CodeAction(
                    f"tpulint ({finding.code}): {fix.message}{'' if is_safe else ' (unsafe fix)'}",
                    types.CodeActionKind.QuickFix,
                    diagnostics,
                    is_preferred=is_safe or None,
                    edit=edited(fix.edits),
                )
        for finding, diagnostics in here:
            if finding.code not in BEYOND:
                row = comment_row(source, finding.span.start.row)
                edit = comment(source, read_comments(source), row, [finding.code], REASON)
                title = f"tpulint ({finding.code}): Suppress here, with a reason"
                kind = types.CodeActionKind.QuickFix
                yield types.CodeAction(title, kind, diagnostics, edit=edited([edit]))
    if is_asked_for(FIX_ALL, only):
        edits = all_safe_edits(findings, source)
        if edits:
            yield types.CodeAction("tpulint: Apply all safe fixes", FIX_ALL, edit=edited(edits))


def fix_of(finding: Finding, source: Source) -> Fix | None:
    """Return the fix with its edits, which an analysis leaves out: the client seldom asks."""
    return None if finding.fix is None else with_edits(finding.fix, source.text)


def all_safe_edits(findings: Iterable[Finding], source: Source) -> list[Edit]:
    """Return the edits of every safe fix; overlapping ones wait for the next time."""
    fixes = [
        fix_of(finding, source)
        for finding in findings
        if finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    ]
    _, applied = apply(source, non_overlapping([fix for fix in fixes if fix is not None]))
    return [edit for fix in applied for edit in fix.edits]


def is_asked_for(kind: str, only: Iterable[str] | None) -> bool:
    """Return whether the client wants actions of this kind: a kind holds those it begins."""
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def workspace_edit(
    ls: Server, path: str, source: Source, edits: Iterable[Edit]
) -> types.WorkspaceEdit:
    """Return the edits by document, bound to their versions where the client knows those."""
    by_uri: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        cell, _ = source.place(edit.start.row)
        content = edit.content.replace("\r\n", "\n").replace("\n", source.newline)
        where = range_in(source, Span(path, edit.start, edit.end), ls.units)
        text_edit = types.TextEdit(where, source.written(content))
        by_uri.setdefault(ls.documents.uri(path, cell), []).append(text_edit)
    if get_capability(ls.client_capabilities, "workspace.workspace_edit.document_changes"):
        named = types.OptionalVersionedTextDocumentIdentifier
        changes = [
            types.TextDocumentEdit(named(uri, ls.documents.version(uri)), edits)
            for uri, edits in by_uri.items()
        ]
        return types.WorkspaceEdit(document_changes=changes)
    return types.WorkspaceEdit(changes=by_uri)
