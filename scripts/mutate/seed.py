"""Write an operator's fault into the text of a file."""

from __future__ import annotations

import ast
import re

from scripts.mutate.operators import Operator
from scripts.mutate.pipelines import keyword
from scripts.mutate.sites import Site

MARK = "\0"
BETWEEN_COMMAS = re.compile(rf"{MARK}\s*,[ ]?|,?\s*{MARK}")
WORD = re.compile(r"\b(TF|TENSOR|STRATEGY|ARGS|PARAMS)\b")


def seeded(text: str, site: Site, operator: Operator) -> str | None:
    """Return the text with the fault, None where the site has no place for it."""
    written = inserted(text, site, operator) if operator.insert else replaced(text, site, operator)
    if written is None:
        return None
    try:
        ast.parse(written)
    except SyntaxError:
        return None
    return written


def inserted(text: str, site: Site, operator: Operator) -> str:
    """Return the template before the site's statement, as deep as the statement."""
    lines = text.splitlines(keepends=True)
    row = site.row - 1
    margin = lines[row][: len(lines[row]) - len(lines[row].lstrip())]
    template = filled(operator.template, site, {})
    if site.kind.endswith("step"):
        template = f"{site.tensor} = {site.tf}.random.uniform([])\n" + template
    return "".join(
        [*lines[:row], *(margin + line for line in template.splitlines(True)), *lines[row:]]
    )


def replaced(text: str, site: Site, operator: Operator) -> str | None:
    """Return the template in place of the site's expression, or beside the call's keywords."""
    node = site.node
    if isinstance(node, ast.keyword):
        return without_keyword(text, node)
    if not operator.template:
        return without(text, node)
    name, equals, _ = operator.template.partition("=")
    if equals and isinstance(node, ast.Call) and name.isidentifier():
        present = keyword(node, name)
        if name == "host_call" and present is not None:
            return None
        names = {"PARAMS": ast.get_source_segment(text, present) or ""} if present else {}
        template = filled(operator.template, site, names)
        if present is not None:
            return spliced(text, present, template.partition("=")[2])
        call = ast.get_source_segment(text, node) or ""
        body = call.rstrip()[:-1].rstrip().removesuffix(",")
        return spliced(text, node, f"{body}, {template})")
    names = {}
    if isinstance(node, ast.Call) and node.args:
        names["ARGS"] = ast.get_source_segment(text, node.args[0]) or ""
    return spliced(text, node, filled(operator.template, site, names))


def without(text: str, node: ast.stmt | ast.expr) -> str:
    """Return the text without the lines of the node."""
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: node.lineno - 1], *lines[node.end_lineno :]])


def without_keyword(text: str, node: ast.keyword) -> str:
    """Return the text without a keyword argument, and without a comma beside it."""
    marked = spliced(text, node, MARK)
    return BETWEEN_COMMAS.sub("", marked, count=1)


def filled(template: str, site: Site, extra: dict[str, str]) -> str:
    """Return the template with the names of the site."""
    names = {"TF": site.tf, "TENSOR": site.tensor, "STRATEGY": site.strategy, **extra}
    return WORD.sub(lambda match: names.get(match[0], match[0]), template)


def spliced(text: str, node: ast.stmt | ast.expr | ast.keyword, new: str) -> str:
    """Return the text with `new` in the place of `node`, whose columns count bytes."""
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    assert node.end_lineno is not None
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    last = node.end_lineno - 1
    behind = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
    return (before + new.encode() + behind).decode()
