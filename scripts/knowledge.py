"""Write what the analyzer knows of TensorFlow's releases, from the releases themselves.

    python scripts/knowledge.py [WHEELS]      default: ~/.cache/tpulint-wheels
    python scripts/knowledge.py --operations  only the operations, of the installed release
    python scripts/knowledge.py --typed       only what is typed in as [[builds]]

pip downloads the wheels that are missing in the folder WHEELS (about 2 GB). The old ones are
read as archives and never run; the newest release is the one that is installed beside this
Python. What is written are the tables `names.tsv` and `operations.tsv` in
`tpulint/frontends/tensorflow/knowledge`,
whose loaders say how they read; what is typed in by hand is in the TOML files beside them.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts import releases  # noqa: E402  (the checkout comes first)
from scripts.names import Fact, facts_of  # noqa: E402

KNOWLEDGE = ROOT / "tpulint" / "frontends" / "tensorflow" / "knowledge"
OPERATIONS = KNOWLEDGE / "operations.tsv"
TYPED = "\ndtypes\n"  # where what is typed in begins
SITE = Path(sysconfig.get_paths()["purelib"])
DEFAULT = Path.home() / ".cache" / "tpulint-wheels"


def main() -> int:
    """Download what is missing, read every release, write the tables."""
    if sys.argv[1:] == ["--typed"]:
        derived = OPERATIONS.read_text(encoding="utf-8").split(TYPED)[0]
        OPERATIONS.write_text(derived + "\n" + typed_operations(), encoding="utf-8")
        return 0
    if sys.argv[1:] == ["--operations"]:
        write_operations()
        return 0
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
    write_operations()
    return 0


def write_operations() -> None:
    text = newest_operations()
    OPERATIONS.write_text(text, encoding="utf-8")
    print(f"operations.tsv: {len(text) // 1024} KB")


def newest_operations() -> str:
    """Return the table of operations of the installed release (see `operations.table_of`)."""
    from scripts import operations

    typed = typed_rows()
    compiled, dtypes = set(typed["compiled"].split()), set(typed["dtypes"].split())
    derived = operations.table_of(releases.installed(SITE), compiled, dtypes)
    return f"{derived}\n{typed_operations()}"


def typed_operations() -> str:
    """Return the end of the table of operations: what is typed in."""
    from scripts import operations

    return operations.typed_block(typed_rows())


def typed_rows() -> dict[str, Any]:
    with open(KNOWLEDGE / "operations.toml", "rb") as stream:
        return tomllib.load(stream)


def names_of(release: releases.Release, wheels: Path) -> dict[str, Fact]:
    """Return the names of a release that is read from its wheels."""
    packages = releases.library(release, wheels)
    return facts_of(packages, releases.roots(release.version, packages))


@functools.cache
def newest_names() -> dict[str, Fact]:
    """Return the names of the release that is installed."""
    packages = releases.installed(SITE)
    return facts_of(packages, releases.roots(releases.NEWEST, packages))


def written(tables: Mapping[str, Mapping[str, Fact]]) -> str:
    """Return the table of names; the head of `knowledge/names.py` says how it reads."""
    kinds: dict[str, dict[str, int]] = {}
    parameters: dict[str, dict[str, int]] = {}
    for index, table in enumerate(tables.values()):
        for name, fact in table.items():
            add(kinds.setdefault(name, {}), fact.kind, index)
            if fact.parameters:
                add(parameters.setdefault(name, {}), fact.parameters, index)
    lists = sorted({listed for parameter in parameters.values() for listed in parameter})
    number = {listed: str(index) for index, listed in enumerate(lists)}
    blocks: dict[str, list[str]] = {}
    for name in sorted(kinds):
        base, _, last = name.rpartition(".")
        row = [last, ",".join(f"{mask:x}{kind}" for kind, mask in kinds[name].items())]
        arguments = parameters.get(name, {})
        row += [
            ",".join(f"{mask:x}:{number[listed]}" for listed, mask in arguments.items())
        ] * bool(arguments)
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
