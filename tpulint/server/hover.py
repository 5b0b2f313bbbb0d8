"""Hover: the page of the rule, at a finding and at a code in a suppression comment."""

from __future__ import annotations

import re

from lsprotocol import types

from tpulint.codes import CODES, SHAPE
from tpulint.server.diagnostics import findings_of
from tpulint.server.language_server import Document, Server
from tpulint.server.places import meet, range_in

CODE = re.compile(SHAPE)
RULE = "\n\n---\n\n"


def register(server: Server) -> None:
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)


async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """Answer with the pages of all findings at the position."""
    uri = params.text_document.uri
    code, where = code_at(ls, uri, params.position)
    if code is not None:
        return types.Hover(contents=markdown(page(code)), range=where)
    document = await ls.document(uri)
    if document is None:
        return None
    found = at(ls, document, params.position)
    if not found:
        return None
    pages = [page(each) for each in dict.fromkeys(each for each, _ in found)]
    return types.Hover(contents=markdown(RULE.join(pages)), range=found[0][1])


def at(ls: Server, document: Document, position: types.Position) -> list[tuple[str, types.Range]]:
    """Return the codes of the findings at a position, with their ranges."""
    source = document.snapshot.sources.get(document.place.path)
    here = types.Range(position, position)
    found = [
        (each.code, range_in(source, each.span, ls.units))
        for each in findings_of(document.snapshot, document.place)
    ]
    return [each for each in found if meet(each[1], here)]


def code_at(
    ls: Server, uri: str, position: types.Position
) -> tuple[str | None, types.Range | None]:
    """Return the code that is written at a position in a comment."""
    lines = ls.workspace.get_text_document(uri).lines
    line = lines[position.line] if position.line < len(lines) else ""
    comment = line.find("#")
    for found in CODE.finditer(line, comment) if comment >= 0 else ():
        start, end = (ls.units(line[:column]) for column in found.span())
        if start <= position.character <= end and found.group() in CODES:
            row = position.line
            return found.group(), types.Range(types.Position(row, start), types.Position(row, end))
    return None, None


def page(code: str) -> str:
    """Return the page of a rule, and where it is on the web."""
    from tpulint.output.rule_page import rule_page

    return f"{rule_page(code, 'markdown').strip()}\n\n[{code}]({CODES[code].url})"


def markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(kind=types.MarkupKind.Markdown, value=text)
