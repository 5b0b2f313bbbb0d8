"""Write what the analyzer knows of TensorFlow's releases, from the releases themselves.

    python scripts/knowledge.py [WHEELS]      default: ~/.cache/tpulint-wheels

pip downloads the wheels that are missing in the folder WHEELS (about 2 GB). The old ones are
read as archives and never run; the newest release is the one that is installed beside this
Python. What is written are the tables `names.tsv` and `operations.tsv` in `tpulint/knowledge`,
which docs/architecture.md describes; what is typed in by hand stands in `hand.toml` there.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts import releases  # noqa: E402  (the checkout comes first)
from scripts.names import Fact, facts_of  # noqa: E402

KNOWLEDGE = ROOT / "tpulint" / "knowledge"
SITE = Path(sysconfig.get_paths()["purelib"])
DEFAULT = Path.home() / ".cache" / "tpulint-wheels"


def main() -> int:
    """Download what is missing, read every release, write the tables."""
    wheels = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    for requirement in releases.download(wheels):
        print(f"downloaded {requirement}")
    tables: dict[str, Mapping[str, Fact]] = {}
    for release in releases.RELEASES:
        tables[release.version] = names_of(release, wheels)
        print(f"{release.version}: {len(tables[release.version])} names")
    tables[releases.NEWEST] = newest_names()
    text = written(tables)
    (KNOWLEDGE / "names.tsv").write_text(text, encoding="utf-8")
    print(f"names.tsv: {len(text) // 1024} KB")
    return 0


def names_of(release: releases.Release, wheels: Path) -> dict[str, Fact]:
    """The names of a release that is read from its wheels."""
    packages = releases.library(release, wheels)
    return facts_of(packages, releases.roots(release.version, packages))


def newest_names() -> dict[str, Fact]:
    """The names of the release that is installed."""
    packages = releases.installed(SITE)
    return facts_of(packages, releases.roots(releases.NEWEST, packages))


def written(tables: Mapping[str, Mapping[str, Fact]]) -> str:
    """The table of names; `tpulint.knowledge.names` says how it reads."""
    kinds: dict[str, dict[str, int]] = {}
    parameters: dict[str, dict[str, int]] = {}
    for index, table in enumerate(tables.values()):
        for name, fact in table.items():
            add(kinds.setdefault(name, {}), fact.kind, index)
            if fact.parameters:
                add(parameters.setdefault(name, {}), fact.parameters, index)
    lists = sorted({each for given in parameters.values() for each in given})
    number = {each: str(index) for index, each in enumerate(lists)}
    blocks: dict[str, list[str]] = {}
    for name in sorted(kinds):
        base, _, last = name.rpartition(".")
        row = [last, ",".join(f"{mask:x}{kind}" for kind, mask in kinds[name].items())]
        given = parameters.get(name, {})
        row += [",".join(f"{mask:x}:{number[each]}" for each, mask in given.items())] * bool(given)
        blocks.setdefault(base, []).append("\t".join(row))
    lines = ["\t".join(tables), *lists]
    for base, rows in sorted(blocks.items()):
        lines += [f".{base}", *rows]
    return "\n".join(lines) + "\n"


def add(masks: dict[str, int], key: str, index: int) -> None:
    """Say that `key` holds in the release at `index`."""
    masks[key] = masks.get(key, 0) | 1 << index


if __name__ == "__main__":
    sys.exit(main())
