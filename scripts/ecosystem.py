"""Compare two revisions of tpulint on real code: findings added, findings gone.

    python scripts/ecosystem.py BEFORE [AFTER] [--folder FOLDER ...]

BEFORE and AFTER are git revisions; AFTER is the working tree if it is not given.
Both check the pinned corpus ($TPULINT_CORPUS, brought by scripts/corpus.py), a package a
folder, and each FOLDER; possible findings too, without configuration and cache. What differs
is printed as Markdown: a table by package and rule, then each finding with its place.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts import corpus  # noqa: E402  (the checkout comes first)

CHECK = ["-m", "tpulint", "check", "--isolated", "--no-cache", "--exit-zero"]
LIMIT = 1800  # seconds for one revision
Findings = dict["Place", str]


@dataclass(frozen=True, order=True)
class Place:
    """One finding, without its message: `path` is relative to the package, rows are 1-based."""

    package: str
    path: str
    row: int
    column: int
    code: str
    certainty: str

    def __str__(self) -> str:
        return f"{self.path}:{self.row}:{self.column} {self.code} ({self.certainty})"


def main() -> int:
    """Check both revisions and print what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", help="a git revision")
    parser.add_argument("after", nargs="?", help="a git revision; default: the checkout")
    parser.add_argument("--folder", action="append", default=[], type=Path, metavar="FOLDER")
    options = parser.parse_args()
    packages = [*corpus_packages(), *(folder.resolve() for folder in options.folder)]
    try:
        before = findings_of_revision(options.before, packages)
        after = (
            findings_of_revision(options.after, packages)
            if options.after
            else findings_of(ROOT, packages)
        )
    except subprocess.CalledProcessError as error:
        print(error.stderr.decode(errors="replace"), file=sys.stderr)
        return 2
    print(report(f"`{options.before}` → `{options.after or 'checkout'}`", before, after))
    return 0


def corpus_packages() -> list[Path]:
    """Return the folders of the pinned corpus, downloaded where they are not there yet."""
    folder = Path(os.environ.get("TPULINT_CORPUS") or corpus.DEFAULT).resolve()
    command = [sys.executable, str(ROOT / "scripts" / "corpus.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return [folder / name for name in corpus.read_pins()]


def findings_of_revision(revision: str, packages: list[Path]) -> Findings:
    """Return the messages of `revision`, unpacked into a folder that is removed afterwards."""
    archive = subprocess.run(
        ["git", "archive", "--format=zip", revision, "tpulint"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
            files.extractall(folder)
        return findings_of(Path(folder), packages)


def findings_of(checkout: Path, packages: list[Path]) -> Findings:
    """Return the messages of the tpulint in `checkout`, by place."""
    done = subprocess.run(
        [sys.executable, *CHECK, "--certainty=possible", "--output-format=jsonl"]
        + [str(package) for package in packages],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        check=True,
        capture_output=True,
        timeout=LIMIT,
    )
    findings = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return {place(finding, packages): finding["message"] for finding in findings}


def place(finding: dict[str, object], packages: list[Path]) -> Place:
    """Return the place of a finding of the JSON output."""
    path = Path(str(finding["filename"]))
    package = next(folder for folder in packages if path.is_relative_to(folder))
    location = finding["location"]
    assert isinstance(location, dict)
    return Place(
        package.name,
        path.relative_to(package).as_posix(),
        location["row"],
        location["column"],
        str(finding["code"]),
        str(finding["certainty"]),
    )


def report(title: str, before: Findings, after: Findings) -> str:
    """Return the difference as Markdown."""
    added, gone = after.keys() - before.keys(), before.keys() - after.keys()
    same = len(after.keys() & before.keys())
    lines = [f"# Ecosystem: {title}", ""]
    lines.append(f"{len(added)} findings added, {len(gone)} gone, {same} unchanged.")
    if added or gone:
        lines += ["", "| package | rule | definite | possible |", "|---|---|---|---|"]
        lines += table(added, gone)
    for package in sorted({place.package for place in added | gone}):
        lines += ["", f"## {package}", ""]
        for sign, places, messages in (("added", added, after), ("gone", gone, before)):
            here = sorted(place for place in places if place.package == package)
            lines += [f"- {sign}: `{place}` {messages[place]}" for place in here]
    return "\n".join(lines)


def table(added: set[Place], gone: set[Place]) -> list[str]:
    """Return a row for each package and rule that changed."""
    more = Counter((place.package, place.code, place.certainty) for place in added)
    less = Counter((place.package, place.code, place.certainty) for place in gone)
    rows = sorted({key[:2] for key in more | less})
    return [
        f"| {package} | {code} | "
        + " | ".join(
            f"+{more[package, code, certainty]} -{less[package, code, certainty]}"
            for certainty in ("definite", "possible")
        )
        + " |"
        for package, code in rows
    ]


if __name__ == "__main__":
    sys.exit(main())
