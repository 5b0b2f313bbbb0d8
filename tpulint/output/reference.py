"""The output of `tpulint rule` and `tpulint config`."""

from __future__ import annotations

import enum
import json
import os

from tpulint.codes import CODES, FAMILIES, NAMES, Code
from tpulint.config import Config, ConfigError, nearest
from tpulint.config.keys import DEFAULT, KEYS, ConfigKey

# `tpulint rule`: the page of a rule.


def rule_page(code: str | None, style: str) -> str:
    """Return the page of `code`, or of every code. Raises ConfigError for a code that is none."""
    if code is None:
        rows = list(CODES.values())
    else:
        row = CODES.get(NAMES.get(code.lower(), code.upper()))
        if row is None:
            near = nearest(code.upper(), list(CODES)) or nearest(code.lower(), list(NAMES))
            hint = near or "; `tpulint rule` lists the codes"
            raise ConfigError(f"rule: unknown code '{code}'{hint}")
        rows = [row]
    if style == "json":
        items = [item(row) for row in rows]
        return json.dumps(items if code is None else items[0], indent=2, ensure_ascii=False) + "\n"
    from tpulint.rules import page

    pages = [page(row.code).strip() for row in rows]
    if style == "markdown":
        return "\n\n---\n\n".join(pages) + "\n"
    pages = [with_fixes(row, plain(text)) for row, text in zip(rows, pages, strict=True)]
    return f"\n\n{'=' * 72}\n\n".join(pages) + "\n"


def rule_list(style: str) -> str:
    """Return every code with its name, its fixes and its summary, by family."""
    if style == "json":
        rows = [
            {key: value for key, value in item(row).items() if key != "explanation"}
            for row in CODES.values()
        ]
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    lines = []
    for prefix in dict.fromkeys(row.code[:4] for row in CODES.values()):
        title = FAMILIES[prefix].title if prefix in FAMILIES else "rules of plug-ins"
        lines += [f"## {prefix}xx: {title}" if style == "markdown" else f"{prefix}xx {title}", ""]
        lines += [listed(row, style) for row in CODES.values() if row.code.startswith(prefix)]
        lines.append("")
    if style == "text":
        lines.append("[*] `--fix` applies some fixes, [+] only with `--unsafe-fixes`.")
        lines.append("Run `tpulint rule CODE` to read about a rule.")
    return "\n".join(lines).rstrip() + "\n"


def listed(row: Code, style: str) -> str:
    if style == "markdown":
        return f"- `{row.code}` `{row.name}`: {row.summary}"
    kinds = [kind.value for kind in row.fixes]
    mark = "[*]" if "safe" in kinds else "[+]" if kinds else "   "
    return f"  {row.code} {mark} {row.name}: {row.summary}"


def item(row: Code) -> dict[str, object]:
    from tpulint.rules import page

    return {
        "code": row.code,
        "name": row.name,
        "summary": row.summary,
        "fixes": [kind.value for kind in row.fixes],
        "severity": row.severity.value,
        "implemented": True,
        "url": row.url or None,
        "explanation": page(row.code),
    } | ({"plugin": row.plugin} if row.plugin else {})


def with_fixes(row: Code, page: str) -> str:
    """Return the page, ending with the fixes that there are."""
    kinds = {"safe": "`--fix`", "unsafe": "`--fix --unsafe-fixes`"}
    options = " or ".join(kinds[kind.value] for kind in row.fixes)
    return f"{page}\n\nSome findings have a fix: {options} applies it." if options else page


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


# `tpulint config`: every key with the value that a run would use, and where it comes from.


def settings(config: Config) -> str:
    """TOML that `--config` would read again; a key without a value is a comment."""
    head = f"# {config.file}" if config.file else "# no configuration file"
    lines = [head, "[tool.tpulint]", *(line(key, config) for key in KEYS.values())]
    return "\n".join(lines) + "\n"


def explained_key(key: ConfigKey, config: Config) -> str:
    """Return what a key is for, its default, an example, and its value here."""
    default = "not set" if key.default is None else toml(key.default)
    scope = "per file" if key.scope == "file" else "the whole run"
    example = key.example.replace("\n", "\n           ")
    return (
        f"{key.name}\n{'=' * len(key.name)}\n{key.text}\n\n"
        f"  default: {default}\n  scope:   {scope}\n  example: {example}\n"
        f"  here:    {line(key, config)}\n"
    )


def line(key: ConfigKey, config: Config) -> str:
    """Return the key's line; the origin follows the value."""
    value = getattr(config, key.field)
    if key.name == "per-file-ignores":
        value = {pattern: list(codes) for pattern, codes in value}
    elif value is None or (key.name == "jobs" and not value):
        value = key.default
    elif isinstance(value, enum.Enum):
        value = value.value
    origin = config.origin(key.name)
    if origin != DEFAULT and os.path.isabs(origin):
        origin = os.path.relpath(origin)
    if value is None:
        return f"# {key.name} is not set  # {origin}"
    return f"{key.name} = {toml(value)}  # {origin}"


def toml(value: object) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(name)} = {toml(item)}" for name, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)
