"""The generated parts of the documentation: rules, proofs, patches, reports, the demo, a picture.

    python scripts/docs.py [--write]

Without `--write` it only compares: exit status 1 and the names of the files that differ.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.field import counts, field  # noqa: E402  (the checkout comes first)
from scripts.man_page import man_page  # noqa: E402
from scripts.package_picture import mermaid  # noqa: E402
from scripts.patch_table import patches  # noqa: E402
from scripts.proof import proof  # noqa: E402
from tpulint.cli.options import parser  # noqa: E402
from tpulint.codes import CODES, FAMILIES  # noqa: E402
from tpulint.config.keys import KEYS  # noqa: E402
from tpulint.output.reference import toml  # noqa: E402

BEGIN, END = "<!-- demo: written by scripts/docs.py -->", "<!-- end of demo -->"
KEYS_BEGIN, KEYS_END = "<!-- keys: written by scripts/docs.py -->", "<!-- end of keys -->"
OPTIONS_BEGIN = "<!-- options: written by scripts/docs.py -->"
OPTIONS_END = "<!-- end of options -->"
PACKAGES_BEGIN = "<!-- packages: written by scripts/docs.py -->"
PACKAGES_END = "<!-- end of packages -->"
SHOWN = "examples/deadlock_metrics.py"
SOURCE = "https://github.com/tpulint/tpulint"
RELEASED = False  # the owner sets it with the first release
# How tpulint is installed, said here only.
INSTALL = re.compile(
    r"<!-- install ?([\w-]*)(?: with (\w+))?: .*?-->\n.*?<!-- end of install -->", re.S
)
INSTALLED = (
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("start", "index", "run", "runtime", "editors", "scale")
    ),
    ROOT / "editors" / "vscode" / "README.md",
)


def main() -> int:
    """Compare, or write, every generated text."""
    generated = {
        ROOT / "docs" / "rules.md": rules(),
        ROOT / "docs" / "field.md": field(),
        ROOT / "docs" / "proof.md": proof(),
        ROOT / "docs" / "configuration.md": configuration(),
        ROOT / "docs" / "command-line.md": command_line(),
        ROOT / "docs" / "architecture.md": architecture(),
        ROOT / "docs" / "patches.md": patches(),
        ROOT / "README.md": readme(),
        ROOT / "docs" / "images" / "map.svg": picture(),
    }
    generated[ROOT / "docs" / "tpulint.1"] = man_page()
    generated |= {path: installation(read(path)) for path in INSTALLED}
    stale = {path for path, text in generated.items() if read(path) != text}
    for path in sorted(stale):
        if "--write" in sys.argv[1:]:
            path.write_text(generated[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 1 if stale and "--write" not in sys.argv[1:] else 0


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def rules() -> str:
    """docs/rules.md: every code, by family."""
    lines = [
        "# Rules",
        "",
        "Each code links to its page. The column `fix` shows which rules offer a fix. `--fix`",
        "applies the safe ones, and `--unsafe-fixes` the others as well.",
    ]
    for prefix, family in FAMILIES.items():
        rows = [
            f"| [{row.code}](../tpulint/rules/{row.path}.md) | {row.name} | {row.severity.value} "
            f"| {', '.join(fix.value for fix in row.fixes)} | {row.summary} |"
            for row in CODES.values()
            if row.code.startswith(prefix)
        ]
        if rows:
            lines += [
                "",
                f"## {prefix}xx: {family.title}",
                "",
                "| code | name | severity | fix | reports |",
            ]
            lines += ["|---|---|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def architecture() -> str:
    """docs/architecture.md, with the picture of the packages made from their imports."""
    return between(ROOT / "docs" / "architecture.md", PACKAGES_BEGIN, PACKAGES_END, mermaid())


def configuration() -> str:
    """docs/configuration.md, with the reference of the keys made from their table."""
    return between(ROOT / "docs" / "configuration.md", KEYS_BEGIN, KEYS_END, keys())


def keys() -> str:
    """Every key: its meaning, default, scope and an example."""
    blocks = []
    for key in KEYS.values():
        default = "not set" if key.default is None else f"`{toml(key.default)}`"
        scope = "per file" if key.scope == "file" else "the whole run"
        blocks.append(
            f"### `{key.name}`\n\n{key.text}\n\n- default: {default}\n- scope: {scope}\n\n"
            f"```toml\n{key.example}\n```"
        )
    return "\n\n".join(blocks)


def command_line() -> str:
    """docs/command-line.md, with the options of `tpulint check` by group."""
    path = ROOT / "docs" / "command-line.md"
    groups = parser().commands()["check"].groups()
    tables = [option_table(title, actions) for title, actions in groups.items()]
    return between(path, OPTIONS_BEGIN, OPTIONS_END, "\n\n".join(tables))


def option_table(title: str, actions: list[argparse.Action]) -> str:
    rows = []
    for action in actions:
        value = action.metavar or "|".join(action.choices or ())
        words = [*action.option_strings[:-1], f"{action.option_strings[-1]} {value}".rstrip()]
        row = (", ".join(f"`{word}`" for word in words), action.help or "")
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |")
    return f"### {title.capitalize()}\n\n| | |\n|---|---|\n" + "\n".join(rows)


def between(path: Path, begin: str, end: str, text: str) -> str:
    """Return the document at `path` with `text` between two marks."""
    before, _, rest = read(path).partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def installation(text: str) -> str:
    """Return the text with the commands that install tpulint, or it with an extra."""
    return INSTALL.sub(lambda match: commands(match[1], match[2]), text)


def commands(extra: str, other: str | None) -> str:
    """Return how to install an extra, and `other` with it, from a checkout and from a commit."""
    name = f"install {extra}".rstrip() + (f" with {other}" if other else "")
    part = f"[{extra}]" if extra else ""
    local = f"'.{part}'" if part else "."
    more = f" {other}" if other else ""
    lines = [
        "There is no release yet. In a checkout of the repository:",
        "",
        f"    python -m pip install {local}{more}",
        "",
        "Without a checkout (append `@COMMIT` to pin one):",
        "",
        f"    python -m pip install 'tpulint{part} @ git+{SOURCE}'{more}",
    ]
    if RELEASED:
        lines = [f"    python -m pip install 'tpulint{part}'{more}"]
    text = "\n".join(lines)
    return f"<!-- {name}: written by scripts/docs.py -->\n\n{text}\n\n<!-- end of install -->"


def picture() -> str:
    """docs/images/map.svg: the map of one of the examples."""
    command = ["map", "--isolated", "--no-cache", "--output-format", "svg", SHOWN]
    done = subprocess.run(
        [sys.executable, "-m", "tpulint", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def readme() -> str:
    """README.md with the counts of reports, and what `tpulint check` says about an example."""
    command = ["check", "--isolated", "--no-cache", SHOWN]
    done = subprocess.run(
        [sys.executable, "-m", "tpulint", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 1:
        raise RuntimeError(f"the demo's exit status is {done.returncode}: {done.stderr}")
    shot = f"$ tpulint check {SHOWN}\n{done.stdout.rstrip()}"
    text = between(ROOT / "README.md", BEGIN, END, f"```text\n{shot}\n```")
    text = installation(text)
    reported = "Of {0} public bug reports about TPU programs, tpulint catches {1}, {2} of them"
    text = re.sub(reported.format(*[r"\d+"] * 3), reported.format(*counts()), text)
    return re.sub(r"together catch \d+ of \d+ faults", compared(), text)


def compared() -> str:
    """Return what other checkers catch, counted on the page of the comparison."""
    rows = re.findall(r"^\| TPU\d+ [^|]*\|(.*)$", read(ROOT / "docs/comparison.md"), re.M)
    caught = sum("`" in row for row in rows)
    return f"together catch {caught} of {len(rows)} faults"


if __name__ == "__main__":
    sys.exit(main())
