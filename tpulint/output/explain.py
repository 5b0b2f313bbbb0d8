"""`tpulint rule` and `tpulint config`: what a rule says of itself, what a run would use."""

from __future__ import annotations

from typing import Any

from tpulint.codes import CODES, Code
from tpulint.config import KEYS, Config, ConfigError, nearest


def explain(code: str | None, style: str) -> str:
    """The page of `code`, or of every code. Raises ConfigError for a code that is none."""
    if code is None:
        rows = list(CODES.values())
    else:
        row = CODES.get(code.upper()) or by_name(code.lower())
        if row is None:
            names = [each.name for each in CODES.values()]
            near = nearest(code.upper(), list(CODES)) or nearest(code.lower(), names)
            raise ConfigError(f"rule: unknown code '{code}'{near}")
        rows = [row]
    if style == "json":
        import json

        found = [item(row) for row in rows]
        return json.dumps(found if code is None else found[0], indent=2, ensure_ascii=False) + "\n"
    from tpulint.rules import page

    pages = [page(row.code).strip() for row in rows]
    if style == "text":
        pages = [plain(each) for each in pages]
    return ("\n\n---\n\n" if style == "markdown" else f"\n\n{'=' * 72}\n\n").join(pages) + "\n"


def by_name(name: str) -> Code | None:
    return next((row for row in CODES.values() if row.name == name), None)


def item(row: Code) -> dict[str, Any]:
    from tpulint.rules import page, written

    return {
        "code": row.code,
        "name": row.name,
        "summary": row.summary,
        "severity": row.severity.value,
        "implemented": row.code in {"TPU001", "TPU002", *written()},
        "url": row.url,
        "explanation": page(row.code),
    }


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


def show_config(config: Config) -> str:
    """Every key with the value that a run would use, as TOML; where it was read from above."""
    import json

    values: dict[str, object] = {key: getattr(config, key.replace("-", "_")) for key in KEYS}
    values["select"] = config.select or ("ALL",)
    values["certainty"] = config.certainty.value
    values["per-file-ignores"] = {pattern: list(each) for pattern, each in config.per_file_ignores}
    if config.exclude is None:
        from tpulint.config import DEFAULT_EXCLUDE

        values["exclude"] = DEFAULT_EXCLUDE
    if not config.jobs:
        del values["jobs"]
    lines = [
        f"# from {config.file}" if config.file else "# no configuration file",
        "[tool.tpulint]",
    ]
    tables = []
    for key, value in values.items():
        if isinstance(value, dict):
            tables += [f"\n[tool.tpulint.{key}]"] if value else []
            tables += [f"{json.dumps(name)} = {json.dumps(each)}" for name, each in value.items()]
        elif value is not None:
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines + tables) + "\n"
