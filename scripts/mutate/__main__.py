"""Seed faults into the pinned corpus and write which of them are found into docs/recall.md.

    python -m scripts.mutate [--each N] [--a-file N] [--package NAME ...] [--list] [--dry]
    python -m scripts.mutate --public [FOLDER] [--each N] [--a-file N] [--list]

--each and --a-file bound the mutants of an operator and of a file; --list prints each mutant
with its outcome; --dry leaves docs/recall.md as it is. --public seeds into the repositories of
repositories.txt instead, which are fetched into FOLDER where they are not there yet, TPU604 and
TPU605 at every site, and prints the counts of each rule.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from scripts.mutate import public
from scripts.mutate.causes import cause_at
from scripts.mutate.draw import batches, drawn, sites_under
from scripts.mutate.measure import Checked, Result
from scripts.mutate.report import reasons_in, report, with_reasons
from scripts.mutate.sites import Site
from tests.ecosystem.corpus import bring

PAGE = Path(__file__).parents[2] / "docs" / "recall.md"


def main() -> None:
    """Draw, seed, check, report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--each", type=int, default=25, metavar="N")
    parser.add_argument("--a-file", type=int, default=12, metavar="N")
    parser.add_argument("--package", action="append", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--public", nargs="?", const=public.DEFAULT, type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.public is not None:
        print_public(options.public, options.each, options.a_file, with_list=options.list)
        return
    folder = bring()
    packages = options.package or [path.name for path in folder.iterdir() if path.is_dir()]
    results = measured(folder, packages, options.each, options.a_file)
    causes = {result: cause_of(result, folder) for result in results if result.certainty is None}
    if options.list:
        for result in results:
            print(described(result, folder), causes.get(result, ""))
    page = report(results, Counter(causes.values()))
    print(page)
    if not options.dry:
        reasons = reasons_in(PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(with_reasons(page, reasons), encoding="utf-8")


def print_public(folder: Path, per_operator: int, a_file: int, *, with_list: bool) -> None:
    """Print the outcomes on public repositories, which are not in the page."""
    try:
        results, text = public.report(folder, per_operator, a_file)
    except public.NoRepositories as error:
        sys.exit(str(error))
    if with_list:
        for result in results:
            print(described(result, folder.resolve()))
    print(text, end="")


def measured(folder: Path, packages: list[str], per_operator: int, a_file: int) -> list[Result]:
    """Return the outcome of every mutant that is drawn."""
    texts: dict[str, str] = {}
    sites: list[Site] = []
    for package in sorted(packages):
        here, found_sites = sites_under(folder / package)
        texts |= here
        sites += found_sites
    mutants = drawn(texts, sites, per_operator, a_file)
    with tempfile.TemporaryDirectory() as summaries:
        checked = Checked(folder, packages, Path(summaries))
        return [result for batch in batches(mutants) for result in checked.results(batch)]


@cache
def _cause(site: Site, folder: str) -> str:
    return cause_at(site, folder)


def cause_of(result: Result, folder: Path) -> str:
    return _cause(result.mutant.site, str(folder))


def described(result: Result, folder: Path) -> str:
    """Return one line on a mutant."""
    site = result.mutant.site
    place = Path(site.filename).relative_to(folder).as_posix()
    outcome = result.certainty.value if result.certainty else "missed"
    return f"{place}:{site.row} {result.mutant.operator.name}: {outcome}"


if __name__ == "__main__":
    main()
