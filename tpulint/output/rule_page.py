"""`tpulint rule`: the page of a rule."""

from __future__ import annotations

from tpulint.codes import CODES, NAMES, Code
from tpulint.config import ConfigError, nearest


def rule_page(code: str | None, style: str) -> str:
    """Return the page of `code`, or of every code. Raises ConfigError for a code that is none."""
    if code is None:
        rows = list(CODES.values())
    else:
        row = CODES.get(NAMES.get(code.lower(), code.upper()))
        if row is None:
            near = nearest(code.upper(), list(CODES)) or nearest(code.lower(), list(NAMES))
            raise ConfigError(f"rule: unknown code '{code}'{near}")
        rows = [row]
    if style == "json":
        import json

        found = [item(row) for row in rows]
        return json.dumps(found if code is None else found[0], indent=2, ensure_ascii=False) + "\n"
    from tpulint.rules import page

    pages = [page(row.code).strip() for row in rows]
    if style == "text":
        pages = [with_fixes(row, plain(each)) for row, each in zip(rows, pages, strict=True)]
    return ("\n\n---\n\n" if style == "markdown" else f"\n\n{'=' * 72}\n\n").join(pages) + "\n"


def item(row: Code) -> dict[str, object]:
    from tpulint.rules import page

    return {
        "code": row.code,
        "name": row.name,
        "summary": row.summary,
        "fixes": [each.value for each in row.fixes],
        "severity": row.severity.value,
        "implemented": True,
        "url": row.url,
        "explanation": page(row.code),
    }


def with_fixes(row: Code, page: str) -> str:
    """Return the page, ending with the fixes that there are."""
    if not row.fixes:
        return page
    kinds = {"safe": "`--fix`", "unsafe": "`--fix --unsafe-fixes`"}
    options = " or ".join(kinds[each.value] for each in row.fixes)
    return f"{page}\n\nSome findings have a fix: {options} applies it."


def plain(page: str) -> str:
    """Markdown for a terminal: fences indented, headings underlined, links by their words."""
    import re

    lines: list[str] = []
    fenced = False
    for line in page.splitlines():
        heading = re.match(r"(#+) (.*)", line)
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            lines.append(f"    {line}".rstrip())
        elif heading:
            lines += [heading[2], ("=" if len(heading[1]) == 1 else "-") * len(heading[2])]
        else:
            lines.append(re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", line))
    return "\n".join(lines)
