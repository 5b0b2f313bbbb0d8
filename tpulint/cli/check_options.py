"""The options of `tpulint check`: ruff's names with ruff's meaning, and beside them our own."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tpulint.output import ALIASES, DEFAULT, FORMATS

CACHE_DIR = "the directory of the cache, or the URL of a shared one (TPULINT_CACHE_DIR)"


def add_check(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "paths", nargs="*", metavar="PATH", help="files, directories, or - for standard input (.)"
    )
    add_output(check.add_argument_group("output"))
    add_selection(check.add_argument_group("rule selection"))
    add_files(check.add_argument_group("file selection"))
    add_fixing(check.add_argument_group("fixing"))
    add_adoption(check.add_argument_group("adoption"))
    add_other(check.add_argument_group("miscellaneous"))
    add_levels(check.add_argument_group("log levels"))
    add_configuration(check.add_argument_group("configuration"))


def add_output(group: Any) -> None:
    group.add_argument(
        "--output-format",
        choices=[*FORMATS, *ALIASES],
        default=os.environ.get("TPULINT_OUTPUT_FORMAT") or DEFAULT,
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)} ({DEFAULT}; TPULINT_OUTPUT_FORMAT)",
    )
    add = group.add_argument
    add("-o", "--output-file", metavar="FILE", help="write the findings to FILE")
    add(
        "--statistics",
        action="store_true",
        help="count the findings of each rule, and show its time",
    )
    add("--show-files", action="store_true", help="list the files that would be checked")
    add("--show-settings", action="store_true", help="show the settings of the first file")
    add("-w", "--watch", action="store_true", help="check again whenever a file changes")


def add_selection(group: Any) -> None:
    add = group.add_argument
    codes = {"action": "append", "metavar": "CODES"}
    add("--select", help="report only these codes, prefixes or names (ALL: every rule)", **codes)
    add("--ignore", help="do not report these codes", **codes)
    add("--extend-select", help="report these codes as well", **codes)
    add(
        "--per-file-ignores",
        action="append",
        metavar="PATTERN:CODE",
        help="do not report CODE in files that match PATTERN; separate several by commas",
    )
    add(
        "--certainty",
        choices=("definite", "possible"),
        help="possible: show uncertain findings too",
    )
    add("--ignore-noqa", action="store_true", help="ignore suppression comments")


def add_files(group: Any) -> None:
    add = group.add_argument
    patterns = {"action": "append", "metavar": "PATTERNS"}
    add("--exclude", help="exclude these instead of what the configuration excludes", **patterns)
    add("--extend-exclude", help="exclude these as well", **patterns)
    add("--force-exclude", action="store_true", help="apply exclusions to named files too")
    add("--changed-since", metavar="REV", help="report only what changes since REV can affect")
    add("--shard", metavar="K/N", help="check the K-th of N parts; tpulint merge joins the reports")
    add("--stdin-filename", metavar="FILE", help="the file name of standard input")


def add_fixing(group: Any) -> None:
    add = group.add_argument
    add("--fix", action="store_true", help="apply the safe fixes")
    add("--unsafe-fixes", action="store_true", help="apply, or show, the unsafe fixes too")
    add("--fix-only", action="store_true", help="apply the fixes, and report no remaining findings")
    add("--diff", action="store_true", help="show what --fix-only would change, and write nothing")
    add("--show-fixes", action="store_true", help="list the fixes that were applied")
    add("--exit-non-zero-on-fix", action="store_true", help="exit 1 where a file was fixed")


def add_adoption(group: Any) -> None:
    add = group.add_argument
    add("--baseline", metavar="FILE", help="leave out the findings in this baseline")
    add("--write-baseline", metavar="FILE", help="write the current findings to a baseline")
    add("--add-suppressions", metavar="REASON", help="suppress the current findings by comments")


def add_other(group: Any) -> None:
    add = group.add_argument
    add("--target-tensorflow", metavar="VERSION", help="the TensorFlow that the code is for")
    add("-e", "--exit-zero", action="store_true", help="exit 0 even if there are findings")
    add(
        "-n",
        "--no-cache",
        action="store_true",
        default=bool(os.environ.get("TPULINT_NO_CACHE")),
        help="neither read nor write the cache (TPULINT_NO_CACHE)",
    )
    add("--cache-dir", metavar="DIR", help=CACHE_DIR)
    add("--jobs", type=int, metavar="N", help="the number of processes")
    add("--scheduler", metavar="ADDRESS", help="read the programs on this Dask cluster")
    add("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")


def add_levels(group: Any) -> None:
    level = group.add_mutually_exclusive_group()
    level.add_argument("-v", "--verbose", action="store_true", help="report what the run does")
    level.add_argument("-q", "--quiet", action="store_true", help="print findings only")
    level.add_argument("-s", "--silent", action="store_true", help="print nothing")


def add_configuration(command: Any) -> None:
    command.add_argument(
        "--config",
        action="append",
        metavar="FILE|KEY=VALUE",
        help="use this configuration file, or set this key (TOML) over every file",
    )
    command.add_argument("--isolated", action="store_true", help="use no configuration file")
