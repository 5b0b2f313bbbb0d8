"""Train released programs on the emulated TPU, and compare what they learn with a run without it.

    python scripts/gallery.py [PROGRAM...] [--replicas N...] [--cache FOLDER] [--write]

The programs are the rows of scripts/gallery.toml; without names all of them run. Environments,
data and results are kept in the cache folder (default: ~/.cache/tpulint-gallery). `--write` renews
the rows of docs/gallery.md that have one. Exit status 1: a program does not pass.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from scripts import gallery_rows
from scripts.gallery_environments import python_of
from scripts.gallery_page import PAGE, page
from scripts.gallery_runs import kept, result_of

CACHE = Path.home() / ".cache" / "tpulint-gallery"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--replicas", type=int, nargs="+", default=[2, 8], metavar="N")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=900, help="the longest for one run (900)")
    parser.add_argument("--write", action="store_true", help="write docs/gallery.md")
    parser.add_argument("--no-run", action="store_true", help="use the kept results only")
    options = parser.parse_args()
    cache = options.cache.resolve()

    gallery = gallery_rows.read()
    names = [program.name for program in gallery.programs]
    unknown = set(options.programs) - set(names)
    if unknown:
        parser.error(
            f"no such program: {', '.join(sorted(unknown))} (there are {', '.join(names)})"
        )
    failed = False
    for program in gallery.programs if not options.no_run else ():
        if program.name in (options.programs or names):
            python = str(python_of(program.environment, cache))
            for size in gallery_rows.sizes(program, options.replicas):
                result = result_of(program, size, python, cache, options.seconds)
                words = "{} on {} replicas of {} hosts: {}"
                print(words.format(program.name, *size, result.verdict), flush=True)
                failed |= result.verdict != "passes"
    if options.write:
        results = {
            (program.name, size): kept(program, size, cache)
            for program in gallery.programs
            for size in gallery_rows.sizes(program, (2, 8))
        }
        before = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page(gallery, results, before), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
