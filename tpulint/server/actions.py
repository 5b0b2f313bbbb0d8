"""Code actions: a finding's fix, a suppression with a reason, and all safe fixes of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types
from pygls.capabilities import get_capability

from tpulint.diagnostics.fix import apply, non_overlapping, with_edits
from tpulint.diagnostics.suppress import BEYOND, comment, comment_row, read_comments
from tpulint.finding import Applicability, Edit, Finding, Fix, Span
from tpulint.server.diagnostics import diagnostic_of, findings_of
from tpulint.server.documents import meet, range_in
from tpulint.server.language_server import Document, Server
from tpulint.source import Source, shown_line

FIX_ALL = "source.fixAll.tpulint"
REASON = "TODO: say why"
OPTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL])


def register(server: Server) -> None:
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, OPTIONS)(actions)


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
    source = document.snapshot.sources.get(document.place.path)
    if source is None:
        return
    only = params.context.only
    findings = findings_of(document.snapshot, document.place)
    here = [
        finding
        for finding in findings
        if meet(range_in(source, finding.span, ls.units), params.range)
    ]
    if is_asked_for(types.CodeActionKind.QuickFix, only):
        for finding in here:
            fix = fix_of(finding, source)
            if fix is not None and apply(source, [fix])[1]:
                yield fixing(ls, document, source, finding, fix)
        for finding in here:
            if finding.code not in BEYOND:
                yield suppressing(ls, document, source, finding)
    if is_asked_for(FIX_ALL, only):
        yield from fixing_all(ls, document, source, findings)


def fix_of(finding: Finding, source: Source) -> Fix | None:
    """Return the fix with its edits, which an analysis leaves out: the client seldom asks."""
    return None if finding.fix is None else with_edits(finding.fix, source.text)


def is_asked_for(kind: str, only: Iterable[str] | None) -> bool:
    """Return whether the client wants actions of this kind: a kind holds those it begins."""
    return only is None or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def fixing(
    ls: Server, document: Document, source: Source, finding: Finding, fix: Fix
) -> types.CodeAction:
    safe = fix.applicability is Applicability.SAFE
    return types.CodeAction(
        title=f"tpulint ({finding.code}): {fix.message}{'' if safe else ' (unsafe fix)'}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown(ls, document, finding)],
        is_preferred=safe or None,
        edit=workspace_edit(ls, document, source, fix.edits),
    )


def suppressing(
    ls: Server, document: Document, source: Source, finding: Finding
) -> types.CodeAction:
    row = comment_row(source, finding.span.start.row)
    edit = comment(source, read_comments(source), row, [finding.code], REASON)
    return types.CodeAction(
        title=f"tpulint ({finding.code}): Suppress here, with a reason",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown(ls, document, finding)],
        edit=workspace_edit(ls, document, source, [edit]),
    )


def fixing_all(
    ls: Server, document: Document, source: Source, findings: Iterable[Finding]
) -> Iterator[types.CodeAction]:
    """Yield the action that applies every safe fix; overlapping ones wait for the next time."""
    safe = [
        finding
        for finding in findings
        if finding.fix and finding.fix.applicability is Applicability.SAFE
    ]
    fixes = [fix for fix in (fix_of(finding, source) for finding in safe) if fix is not None]
    _, applied = apply(source, non_overlapping(fixes))
    edits = [edit for fix in applied for edit in fix.edits]
    if edits:
        yield types.CodeAction(
            title="tpulint: Apply all safe fixes",
            kind=FIX_ALL,
            edit=workspace_edit(ls, document, source, edits),
        )


def shown(ls: Server, document: Document, finding: Finding) -> types.Diagnostic:
    return diagnostic_of(finding, document.snapshot.sources, ls.units, ls.documents)


def workspace_edit(
    ls: Server, document: Document, source: Source, edits: Iterable[Edit]
) -> types.WorkspaceEdit:
    """Return the edits by document, bound to their versions where the client knows those."""
    path = document.place.path
    by_uri: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        cell, _ = source.place(edit.start.row)
        content = edit.content.replace("\r\n", "\n").replace("\n", source.newline)
        if source.cells:
            content = "\n".join(shown_line(line) for line in content.split("\n"))
        where = range_in(source, Span(path, edit.start, edit.end), ls.units)
        uri = ls.documents.uri(path, cell)
        by_uri.setdefault(uri, []).append(types.TextEdit(range=where, new_text=content))
    if get_capability(ls.client_capabilities, "workspace.workspace_edit.document_changes"):
        changes = [ls.documents.edits(uri, edits) for uri, edits in by_uri.items()]
        return types.WorkspaceEdit(document_changes=changes)
    return types.WorkspaceEdit(changes=by_uri)
