"""docs/patches.md: what the runtime replaces in TensorFlow, read from the declarations.

They are read and not run: TensorFlow need not be installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RUNTIME = ROOT / "tpulint" / "runtime"
# What declares a patch, and for which time where it does not say one.
DECLARING = {
    "patch": "ALWAYS",
    "patch_value": "ALWAYS",
    "emulated_patch": "EMULATED",
    "emulated_patch_value": "EMULATED",
}
PATCHING = RUNTIME / "tensorflow_internals" / "patching.py"
HEAD = """\
# What the runtime replaces in TensorFlow

Written by `scripts/docs.py`. `import tpulint.runtime` changes nothing in TensorFlow. Some of its
attributes are replaced later, as long as the tables say. Whatever another library has put in the
place of such a replacement stays when that time ends.
"""


class Row(NamedTuple):
    """One declaration, and the file that has it."""

    when: str
    why: str
    target: str
    releases: str
    path: str


def patches() -> str:
    """Return the page: a table for each time, with a row for each attribute."""
    rows = [row for path in sorted(RUNTIME.rglob("*.py")) for row in declared(path)]
    lines = [HEAD.rstrip()]
    for name, title in times().items():
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        lines += ["| attribute | why | releases | replaced in |", "|---|---|---|---|"]
        lines += [
            f"| `{target}` | {why} | {releases} | [{Path(path).stem}](../{path}) |"
            for when, why, target, releases, path in sorted(rows)
            if when == name
        ]
    return "\n".join(lines) + "\n"


def times() -> dict[str, str]:
    """Return the texts of `When`, by name."""
    (kind,) = [
        node
        for node in ast.parse(PATCHING.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == "When"
    ]
    return {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in kind.body
        if isinstance(node, ast.Assign)
    }


def declared(path: Path) -> Iterator[Row]:
    """Yield the patches that are declared in the module at `path`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = text(node.value, constants)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and name_of(call.func) in DECLARING:
            options = {keyword.arg: text(keyword.value, constants) for keyword in call.keywords}
            since, until = options.get("since", ""), options.get("until", "")
            releases = "all" if not since and not until else f"{since or '2.12'} to {until}".strip()
            yield Row(
                options.get("when", DECLARING[name_of(call.func)]).removeprefix("When."),
                options["why"],
                text(call.args[0], constants),
                f"from {since}" if since and not until else releases,
                path.relative_to(ROOT).as_posix(),
            )


def name_of(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def text(node: ast.expr, constants: dict[str, str]) -> str:
    """Return the string that `node` means, or its source if it is none."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return constants.get(node.id, node.id)
    if isinstance(node, ast.JoinedStr):
        return "".join(text(part, constants) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return text(node.value, constants)
    return ast.unparse(node)
